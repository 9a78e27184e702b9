// A list of any length of which only the lines in view are in the page. Lines have one height; the newest is on top.

import { h } from './dom.js';

const MORE = 12;

/**
 * @template T
 */
export class VirtualList {
  /**
   * @param {{height: number, label: string, line: (item: T) => HTMLElement, key: (item: T) => string | number, onEnd?: () => void}} how
   */
  constructor(how) {
    this.how = how;
    /** @type {T[]} */
    this.items = [];
    /** @type {Map<string | number, {node: HTMLElement, item: T, stamp: string}>} */
    this.drawn = new Map();
    this.space = h('div', { class: 'virtual-space', role: 'list', 'aria-label': how.label });
    this.node = h('div', { class: 'virtual', tabindex: 0, role: 'region', 'aria-label': how.label, on: { scroll: () => this.#draw() } }, this.space);
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
    this.drawn.clear();
    this.space.replaceChildren();
    this.#draw();
  }

  /** Draw the lines in view again: what they tell may have changed. */
  refresh() {
    this.drawn.clear();
    this.space.replaceChildren();
    this.#draw();
  }

  #draw() {
    const { height, line, key } = this.how;
    const from = Math.max(0, Math.floor(this.node.scrollTop / height) - MORE);
    const to = Math.min(this.items.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / height) + MORE);
    const wanted = new Map();
    for (let at = from; at < to; at++) wanted.set(key(this.items[at]), at);
    for (const [name, { node }] of this.drawn) {
      if (wanted.has(name)) continue;
      node.remove();
      this.drawn.delete(name);
    }
    for (const [name, at] of wanted) this.#place(name, at, line, height);
    if (to === this.items.length) this.how.onEnd?.();
  }

  /** @param {string | number} name @param {number} at @param {(item: T) => HTMLElement} line @param {number} height */
  #place(name, at, line, height) {
    let there = this.drawn.get(name);
    if (!there) {
      const node = line(this.items[at]);
      node.setAttribute('role', 'listitem');
      node.setAttribute('aria-setsize', String(this.items.length));
      node.classList.add('virtual-line');
      there = { node, item: this.items[at], stamp: '' };
      this.drawn.set(name, there);
      this.space.append(node);
    }
    there.node.setAttribute('aria-posinset', String(at + 1));
    there.node.style.transform = `translateY(${at * height}px)`;
  }

  close() {
    this.watcher.disconnect();
  }
}
