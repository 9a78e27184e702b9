// The selector picker: the person points at an element of a tab, and gets everything by which it can be found again, each
// checked to lead to that element alone, to copy.

import { button, chip, facts, fill, h, problem } from './dom.js';

const PATIENCE_MS = 70_000;

/**
 * @param {import('./live.js').Live} live
 * @param {() => {session: string, tab: string} | null} place where to pick now
 */
export function picker(live, place) {
  const told = h('div', { 'aria-live': 'polite' });
  let isPicking = false;
  const start = async () => {
    const at = place();
    if (!at || isPicking) return;
    isPicking = go.disabled = true;
    const stop = button('Cancel', () => void live.ask({ do: 'end_pick', ...at }).catch(() => {}), { class: 'quiet' });
    fill(
      told,
      h('p', { class: 'small soft' }, 'Point at it in the page (there, Escape means none) or in its picture.'),
      stop,
    );
    try {
      const { picked } = await live.ask({ do: 'pick', ...at }, PATIENCE_MS);
      fill(told, picked ? shown(picked) : h('p', { class: 'small soft' }, 'Nothing was picked.'));
    } catch (error) {
      fill(told, problem(error));
    }
    isPicking = go.disabled = false;
  };
  const go = button('Pick an element', () => void start());
  return {
    node: h(
      'section',
      { class: 'card picker', 'aria-label': 'Selector picker' },
      h('div', { class: 'row between' }, h('h2', {}, 'Selector picker'), go),
      told,
    ),
    start,
  };
}

/** @param {any} picked */
function shown(picked) {
  return h(
    'div',
    { class: 'stack tight' },
    facts([
      [
        'Element',
        h('span', {}, h('b', {}, picked.name || picked.text || '(no name)'), ` ${picked.role || picked.tag}`),
      ],
      ['Ref', h('code', {}, picked.ref)],
    ]),
    h(
      'ul',
      { class: 'lines' },
      picked.selectors.map((/** @type {any} */ one) => {
        const copy = button(
          'Copy',
          () =>
            void navigator.clipboard.writeText(one.selector).then(
              () => fill(copy, 'Copied'),
              () => fill(copy, 'Not copied'),
            ),
          { class: 'quiet', 'aria-label': `Copy ${one.kind}` },
        );
        return h('li', { class: 'row between' }, chip(one.kind), h('code', { class: 'grow' }, one.selector), copy);
      }),
    ),
  );
}
