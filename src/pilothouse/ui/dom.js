// Elements from plain data. Whatever comes from pages, agents or the daemon is only ever set as text: nothing here reads
// a string as HTML, and the page's own policy (Trusted Types) would stop whoever tried.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props] attributes; `on` has listeners, `class` is the class
 * @param {...(Child | Child[])} children strings become text
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === 'on') for (const [kind, listener] of Object.entries(value)) node.addEventListener(kind, listener);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, String(value));
  }
  put(node, children);
  return node;
}

/** @param {Element} node @param {(Child | Child[])[]} children */
function put(node, children) {
  for (const child of /** @type {Child[]} */ (children.flat(2))) {
    if (child === null || child === undefined || child === false || child === '') continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Other content in the same element. @param {Element} node @param {...(Child | Child[])} children */
export function fill(node, ...children) {
  node.replaceChildren();
  put(node, children);
  return node;
}

/** @type {WeakMap<Element, string>} */
const drawnAs = new WeakMap();

/**
 * Other content, only if what it shows has changed: nobody loses the focus, or a press, to a drawing of the same.
 * @param {Element} node
 * @param {unknown} shown
 * @param {() => Child | Child[]} make
 */
export function refill(node, shown, make) {
  const now = JSON.stringify(shown);
  if (drawnAs.get(node) === now) return;
  drawnAs.set(node, now);
  fill(node, make());
}

/** A line drawing. @param {string} path */
export function icon(path) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** @param {string} tag @param {Record<string, string | number>} attributes */
export function drawn(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

/** @param {string} text @param {string} [kind] ok, warn, danger or main */
export function chip(text, kind = '') {
  return h('span', { class: `chip ${kind}`.trim() }, text);
}

/** @param {[string, Child][]} pairs */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== false);
  return h(
    'dl',
    { class: 'facts' },
    told.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

/** @param {string} title @param {...Child} told */
export function empty(title, ...told) {
  return h('div', { class: 'card empty' }, h('h2', {}, title), ...told.map((one) => h('p', {}, one)));
}

/** What went wrong, and what to do. @param {any} error */
export function problem(error) {
  const hints = error?.suggestions ?? [];
  return h(
    'div',
    { class: 'problem', role: 'alert' },
    error?.message ?? String(error),
    hints.length > 0 &&
      h(
        'ul',
        {},
        hints.map((/** @type {string} */ one) => h('li', { class: 'small' }, one)),
      ),
  );
}

/** A button whose work may fail. @param {string} text @param {() => unknown} work @param {Record<string, any>} [props] */
export function button(text, work, props = {}) {
  return h('button', { type: 'button', ...props, on: { click: work } }, text);
}

/** @template T @param {T | null | undefined} value @returns {T} */
export function sure(value) {
  if (value === null || value === undefined) throw new Error('it is not there');
  return value;
}
