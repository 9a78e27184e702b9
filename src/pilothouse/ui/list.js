// A list of any length of which only the lines in view are in the page. Lines have one height; the newest is on top.

import { h } from './dom.js';

const MORE = 12;

/**
 * @template T
 */
export class VirtualList {
  /**
   * @param {object} how
   * @param {number} how.height of a line
   * @param {string} how.label
   * @param {(item: T) => HTMLElement} how.line
   * @param {(item: T) => string | number} how.key
   * @param {(item: T) => string} [how.stamp] a line is drawn anew when its stamp is another
   */
  constructor(how) {
    this.how = how;
    /** @type {T[]} */
    this.items = [];
    /** @type {Map<string | number, {node: HTMLElement, stamp: string}>} */
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
    const added = items.length - this.items.length;
    const top = this.node.scrollTop;
    this.items = items;
    this.space.style.height = `${items.length * this.how.height}px`;
    // Who reads further down keeps their place while new lines come above.
    if (top > this.how.height && added > 0) this.node.scrollTop = top + added * this.how.height;
    this.refresh();
  }

  /** What the lines in view tell may have changed. */
  refresh() {
    this.#draw();
  }

  #draw() {
    const { height, key } = this.how;
    const from = Math.max(0, Math.floor(this.node.scrollTop / height) - MORE);
    const to = Math.min(this.items.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / height) + MORE);
    const wanted = new Map();
    for (let at = from; at < to; at++) wanted.set(key(this.items[at]), at);
    for (const [name, { node }] of this.drawn) {
      if (wanted.has(name)) continue;
      node.remove();
      this.drawn.delete(name);
    }
    for (const [name, at] of wanted) this.#place(name, at, height);
  }

  /** @param {string | number} name @param {number} at @param {number} height */
  #place(name, at, height) {
    const item = this.items[at];
    const stamp = this.how.stamp?.(item) ?? '';
    let there = this.drawn.get(name);
    if (!there || there.stamp !== stamp) there = this.#made(name, item, stamp);
    there.node.setAttribute('aria-setsize', String(this.items.length));
    there.node.setAttribute('aria-posinset', String(at + 1));
    there.node.style.transform = `translateY(${at * height}px)`;
  }

  /**
   * Whoever had the focus in the old line has it in the new one.
   * @param {string | number} name
   * @param {T} item
   * @param {string} stamp
   */
  #made(name, item, stamp) {
    const before = this.drawn.get(name)?.node;
    const node = h('div', { class: 'virtual-line', role: 'listitem' }, this.how.line(item));
    const made = { node, stamp };
    this.drawn.set(name, made);
    if (!before) this.space.append(node);
    else {
      const hadFocus = before.contains(document.activeElement);
      before.replaceWith(node);
      if (hadFocus) /** @type {HTMLElement | null} */ (node.firstElementChild)?.focus();
    }
    return made;
  }

  close() {
    this.watcher.disconnect();
  }
}
