// A row of tabs of which one is chosen. Each button is made once and stays: nobody loses the focus, or a press, because a
// title or a count changed. Arrow keys move along the row, Enter chooses.

import { fill, h } from './dom.js';

/** @typedef {{key: string, text: string, more?: string, title?: string}} Choice `more` is a small word after it */

/**
 * @param {string} label
 * @param {string} controls the id of what it chooses for
 * @param {(key: string) => void} choose
 */
export function tabRow(label, controls, choose) {
  /** @type {Map<string, HTMLButtonElement>} in order */
  const buttons = new Map();
  const step = (/** @type {KeyboardEvent} */ event) => {
    const all = [...buttons.values()];
    const at = all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    all.at(to % all.length)?.focus();
  };
  const node = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label, on: { keydown: step } });

  /** @param {Choice} choice */
  const made = ({ key }) => {
    const one = h('button', {
      type: 'button',
      role: 'tab',
      class: 'tab',
      'aria-controls': controls,
      on: { click: () => choose(key) },
    });
    buttons.set(key, one);
    node.append(one);
    return one;
  };
  return {
    node,
    /** @param {Choice[]} choices @param {string} chosen */
    show: (choices, chosen) => {
      for (const [key, one] of buttons) {
        if (choices.some((choice) => choice.key === key)) continue;
        const had = one === document.activeElement;
        one.remove();
        buttons.delete(key);
        if (had) buttons.get(chosen)?.focus();
      }
      for (const choice of choices) {
        const one = buttons.get(choice.key) ?? made(choice);
        const told = `${choice.text}\n${choice.more ?? ''}`;
        if (one.dataset.told !== told) {
          one.dataset.told = told;
          fill(one, choice.text, choice.more && h('span', { class: 'soft small' }, ` ${choice.more}`));
        }
        if (choice.title) one.title = choice.title;
        one.ariaSelected = String(choice.key === chosen);
        one.tabIndex = choice.key === chosen ? 0 : -1;
      }
      const first = buttons.values().next().value;
      if (first && !buttons.has(chosen)) first.tabIndex = 0;
    },
  };
}
