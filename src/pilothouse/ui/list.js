// A list of any length of which only the lines in view are in the page, in the order in which they are read. Lines have one
// height; the newest is on top. Who reads further down keeps their line, whatever comes or goes around it.

import { h } from './dom.js';

const MORE = 12;

/** @typedef {string | number} Key */

/**
 * @template T
 */
export class VirtualList {
  /**
   * @param {object} how
   * @param {number} how.height of a line
   * @param {string} how.label
   * @param {(item: T) => HTMLElement} how.line
   * @param {(item: T) => Key} how.key
   * @param {(item: T) => string} [how.stamp] a line is drawn anew when its stamp is another
   */
  constructor(how) {
    this.how = how;
    /** @type {T[]} */
    this.items = [];
    /** @type {Map<Key, {node: HTMLElement, stamp: string}>} */
    this.drawn = new Map();
    this.space = h('div', { class: 'virtual-space', role: 'list', 'aria-label': how.label });
    this.node = h(
      'div',
      { class: 'virtual', tabindex: 0, role: 'region', 'aria-label': how.label, on: { scroll: () => this.#draw() } },
      this.space,
    );
    this.watcher = new ResizeObserver(() => this.#draw());
    this.watcher.observe(this.node);
  }

  /** @param {T[]} items */
  show(items) {
    const { height } = this.how;
    const top = this.node.scrollTop;
    const first = Math.floor(top / height);
    const place = top > height ? this.#found(items, first) : -1;
    this.items = items;
    this.space.style.height = `${items.length * height}px`;
    if (top > height) this.node.scrollTop = place < 0 ? 0 : place * height + (top % height);
    this.refresh();
  }

  /** What the lines in view tell may have changed. */
  refresh() {
    this.#draw();
  }

  /**
   * Where the line is now that was at a place, or else the next one below it that is still there.
   * @param {T[]} items
   * @param {number} first
   */
  #found(items, first) {
    const { key } = this.how;
    if (first >= this.items.length) return -1;
    const name = key(this.items[first]);
    const same = items.findIndex((one) => key(one) === name);
    if (same >= 0) return same;
    const places = new Map(items.map((one, at) => [key(one), at]));
    for (let at = first; at < this.items.length; at++) {
      const place = places.get(key(this.items[at]));
      if (place !== undefined) return place;
    }
    return -1;
  }

  #draw() {
    const { height, key } = this.how;
    const { scrollTop, clientHeight } = this.node;
    const from = Math.max(0, Math.floor(scrollTop / height) - MORE);
    const to = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / height) + MORE);
    /** @type {Map<Key, number>} in order */
    const wanted = new Map();
    for (let at = from; at < to; at++) wanted.set(key(this.items[at]), at);
    const kept = this.#keptFocus(wanted);
    const all = kept && kept[1] < from ? [kept, ...wanted] : kept ? [...wanted, kept] : [...wanted];
    this.#drop(new Map(all));
    let next = this.space.firstElementChild;
    for (const [name, at] of all) {
      const node = this.#placed(name, at, height, next);
      next = node.nextElementSibling;
    }
  }

  /**
   * A line that has the focus stays in the page, however far away it is scrolled.
   * @param {Map<Key, number>} wanted
   * @returns {[Key, number] | null}
   */
  #keptFocus(wanted) {
    const { key } = this.how;
    if (!this.space.contains(document.activeElement)) return null;
    for (const [name, { node }] of this.drawn) {
      if (!node.contains(document.activeElement)) continue;
      if (wanted.has(name)) return null;
      const at = this.items.findIndex((one) => key(one) === name);
      return at < 0 ? null : [name, at];
    }
    return null;
  }

  /** @param {Map<Key, number>} wanted */
  #drop(wanted) {
    for (const [name, { node }] of this.drawn) {
      if (wanted.has(name)) continue;
      const had = node.contains(document.activeElement);
      node.remove();
      this.drawn.delete(name);
      if (had) this.node.focus({ preventScroll: true });
    }
  }

  /**
   * @param {Key} name
   * @param {number} at
   * @param {number} height
   * @param {Element | null} next what stands at its place among the nodes; those that are there keep their order
   */
  #placed(name, at, height, next) {
    const item = this.items[at];
    const stamp = this.how.stamp?.(item) ?? '';
    let there = this.drawn.get(name);
    if (!there || there.stamp !== stamp) there = this.#made(name, item, stamp, next);
    else if (there.node !== next) this.space.insertBefore(there.node, next);
    const { node } = there;
    node.setAttribute('aria-setsize', String(this.items.length));
    node.setAttribute('aria-posinset', String(at + 1));
    node.style.transform = `translateY(${at * height}px)`;
    return node;
  }

  /**
   * Whoever had the focus in the old line has it in the new one.
   * @param {Key} name
   * @param {T} item
   * @param {string} stamp
   * @param {Element | null} next
   */
  #made(name, item, stamp, next) {
    const before = this.drawn.get(name)?.node;
    const node = h('div', { class: 'virtual-line', role: 'listitem' }, this.how.line(item));
    const made = { node, stamp };
    this.drawn.set(name, made);
    if (!before) this.space.insertBefore(node, next);
    else {
      const hadFocus = before.contains(document.activeElement);
      before.replaceWith(node);
      if (hadFocus) /** @type {HTMLElement | null} */ (node.firstElementChild)?.focus({ preventScroll: true });
    }
    return made;
  }

  close() {
    this.watcher.disconnect();
  }
}
