// The side panel's parts, for one browser of the person's: where it stands, this page and its rule, the mode of all agents,
// questions, the picker, and what was done. Whoever opens it (the extension) tells which page is in front.

import { about, nameOf, outcome } from './activity.js';
import { CALM_MS, questionCards } from './approvals.js';
import { button, chip, fill, h, problem, refill } from './dom.js';
import { VERDICTS, clock } from './format.js';
import { VirtualList } from './list.js';
import { picker } from './picker.js';

/** @typedef {import('./shell.js').House} House */
/** @typedef {{mode: string, words: string, next: string, name: string}} State of the extension's own connection */
/** @typedef {{url: string, title: string, target: string}} Front the page in front, and Chrome's name of its tab */

const MODES = [
  ['auto', 'Auto'],
  ['ask', 'Ask'],
  ['readonly', 'Read only'],
];

/**
 * @param {House} house
 * @param {{onStop: () => void, onAllow: () => void}} wishes
 */
export function panel(house, wishes) {
  const { store } = house;
  /** @type {Front} */
  let front = { url: '', title: '', target: '' };
  /** @type {State} */
  let state = { mode: 'off', words: '', next: '', name: '' };

  const words = h('div', { class: 'state', role: 'status' });
  const chips = h('div', { class: 'row' });
  const act = h('div', { class: 'row' }); // its button stays while agents work: a press of it is never lost
  const standing = h('section', { class: 'card', 'aria-label': 'Connection' }, words, h('div', { class: 'row' }, chips, act));
  const page = h('section', { class: 'card', 'aria-label': 'This page' });
  const mode = h('section', { class: 'card', 'aria-label': 'Mode' });
  const wrong = h('div', { 'aria-live': 'polite' });
  const cards = questionCards(house);
  const questions = h('section', { 'aria-label': 'Questions' }, cards.node);
  const points = h('div', { class: 'stack', 'aria-live': 'polite' }); // what agents want the person to point at
  const pick = picker(house.live, () => placeOf(store.sessions, state.name, front.target));
  const log = logList(store);
  const node = h(
    'main',
    { class: 'panel' },
    standing,
    points,
    questions,
    page,
    mode,
    pick.node,
    log.node,
  );

  const showState = () => {
    const live = store.connection === 'live';
    const isStopped = state.mode === 'stopped';
    words.dataset.mode = state.mode;
    refill(words, [state.words, live, state.next], () => [
      h('b', {}, state.words),
      h('p', { class: 'small soft' }, live ? state.next : 'The panel reconnects by itself.'),
    ]);
    refill(chips, [state.name, live], () => [
      state.name && chip(state.name, 'main'),
      chip(live ? 'live' : 'not connected', live ? 'ok' : 'warn'),
    ]);
    const had = act.contains(document.activeElement);
    refill(act, isStopped, () =>
      isStopped ? allowAgain(wishes.onAllow) : button('Stop everything', wishes.onStop, { class: 'danger' }),
    );
    if (had && !act.contains(document.activeElement)) act.querySelector('button')?.focus();
    pick.node.hidden = !placeOf(store.sessions, state.name, front.target);
    showPoints();
  };
  const showPoints = () => {
    const asked = pointings(store.sessions, state.name);
    const places = asked.map(({ tab }) =>
      tab.target === front.target ? 'Click it in this page.' : `Click it in the tab “${tab.title || tab.url}”.`,
    );
    // A page may change its title all the time: the card stays, and a press of its button is not lost.
    const shown = asked.map(({ session, tab }) => [session, tab.name, tab.picking]);
    refill(points, shown, () =>
      asked.map(({ session, tab }) =>
        h(
          'section',
          { class: 'card', 'aria-label': 'Point at something' },
          h('b', {}, 'An agent asks you to point at something: '),
          tab.picking,
          h('p', { class: 'small soft where' }),
          button('I would rather not', () => void house.live.ask({ do: 'end_pick', session, tab: tab.name }).catch(() => {})),
        ),
      ),
    );
    points.querySelectorAll('.where').forEach((node, index) => refill(node, places[index], () => places[index]));
    questions.hidden = asked.length > 0 && store.pending.size === 0; // "nothing waits" would not be true
  };
  const showMode = async () => {
    fill(wrong);
    try {
      const { policy } = await house.api.get('/api/policy');
      const choose = async (/** @type {string} */ value) => {
        try {
          await house.api.ask('PATCH', '/api/policy', { mode: value });
        } catch (error) {
          await showMode(); // as it is, not as it was wished
          fill(wrong, problem(error));
        }
        await showPage();
      };
      const had = mode.contains(document.activeElement);
      fill(
        mode,
        h('h2', {}, 'All agents, everywhere'),
        h(
          'div',
          { class: 'segmented', role: 'radiogroup', 'aria-label': 'Mode' },
          MODES.map(([value, text]) =>
            h(
              'label',
              {},
              h('input', {
                type: 'radio',
                name: 'mode',
                value,
                checked: policy.mode === value,
                on: { change: () => void choose(value) },
              }),
              text,
            ),
          ),
        ),
        wrong,
      );
      if (had) /** @type {HTMLElement | null} */ (mode.querySelector('input:checked'))?.focus();
    } catch (error) {
      fill(mode, problem(error));
    }
  };
  const showPage = async () => {
    const { url } = front;
    const host = webHost(url);
    if (!host)
      return refill(page, '', () => [
        h('h2', {}, 'This page'),
        h('p', { class: 'soft small' }, 'Agents never work on pages of this kind.'),
      ]);
    try {
      const told = await house.api.ask('POST', '/api/policy/test', {
        url: url.slice(0, 2000),
        browser: 'extension',
      });
      if (url !== front.url) return; // another page is in front by now
      // What says the same stays as it is: a press of one of its buttons is not lost.
      refill(page, [host, told.says], () => [
        h('h2', { class: 'one-line' }, host),
        says(told),
        ruleForm(house, host, showPage),
      ]);
    } catch (error) {
      if (url === front.url) refill(page, String(error), () => problem(error));
    }
  };
  const showRules = () => void Promise.all([showMode(), showPage()]);
  const ends = [
    store.on('connection', () => {
      showState();
      if (store.connection !== 'live') return;
      refill(page, 'anew', () => []); // with what went wrong before
      showRules();
    }),
    store.on('policy', showRules),
    store.on('sessions', showState),
    store.on('questions', showPoints),
  ];
  showState();
  return {
    node,
    /** @param {State} told */
    stands: (told) => {
      state = told;
      showState();
    },
    /** @param {Front} told */
    fronts: (told) => {
      const isOther = told.url !== front.url;
      front = told;
      showState();
      if (isOther) void showPage();
    },
    close: () => {
      ends.forEach((end) => end());
      cards.close();
      log.close();
    },
  };
}

/** Who presses Stop twice, or keeps Enter down, does not take it back with that. @param {() => void} onAllow */
function allowAgain(onAllow) {
  const made = button('Allow again', () => void (made.dataset.calm && onAllow()), { class: 'main' });
  made.addEventListener('keydown', (event) => event.repeat && event.preventDefault());
  setTimeout(() => (made.dataset.calm = 'yes'), CALM_MS);
  return made;
}

/** @param {any} told */
function says(told) {
  return h(
    'div',
    { class: 'row' },
    Object.entries(told.says).map(([name, said]) => {
      const [word, kind] = VERDICTS[/** @type {any[]} */ (said).at(-1).verdict];
      return chip(`${name}: ${word}`, kind);
    }),
    h('span', { class: 'small soft' }, /** @type {any[]} */ (Object.values(told.says)[0])[0].rule),
  );
}

/** @param {House} house @param {string} host @param {() => Promise<void>} done */
function ruleForm(house, host, done) {
  const wrong = h('div', {});
  const set = async (/** @type {any} */ rule) => {
    fill(wrong);
    try {
      if (rule) await house.api.ask('POST', '/api/policy/rules', { host, ...rule });
      else await house.api.ask('DELETE', `/api/policy/rules?host=${encodeURIComponent(host)}`);
      await done();
    } catch (error) {
      fill(wrong, problem(error));
    }
  };
  return h(
    'div',
    { class: 'stack tight' },
    h(
      'div',
      { class: 'row', role: 'group', 'aria-label': `Rule of ${host}` },
      button('Read and write', () => void set({ read: true, write: true, approval: false })),
      button('Ask at each write', () => void set({ read: true, write: true, approval: true })),
      button('Read only', () => void set({ read: true, write: false, approval: null })),
      button('Nothing', () => void set({ read: false, write: false, approval: null }), { class: 'danger' }),
      button('No rule', () => void set(null), { class: 'quiet' }),
    ),
    wrong,
  );
}

/** @param {import('./store.js').Store} store */
function logList(store) {
  let isDrawn = true;
  const list = new VirtualList({
    height: 52,
    label: 'Activity',
    key: (one) => one.n,
    stamp: (/** @type {any} */ one) => String(one.after?.n ?? ''),
    line: (/** @type {any} */ entry) =>
      h(
        'div',
        { class: 'event', 'data-tone': outcome(entry).tone },
        h('span', { class: 'soft small when' }, clock(entry.time)),
        h('b', { class: 'mono one-line' }, nameOf(entry)),
        h('span', { class: 'one-line about' }, about(entry)),
        outcome(entry).result,
      ),
  });
  const draw = () => {
    isDrawn = true;
    list.show(store.log.toReversed());
  };
  draw();
  const leave = store.on('log', () => {
    if (isDrawn) requestAnimationFrame(draw);
    isDrawn = false;
  });
  return {
    node: h('section', { class: 'card', 'aria-label': 'Activity' }, h('h2', {}, 'Activity'), list.node),
    close: () => {
      leave();
      list.close();
    },
  };
}

/**
 * The session of this browser that has the page in front.
 * @param {import('./store.js').Session[]} sessions
 * @param {string} name
 * @param {string} target
 */
function placeOf(sessions, name, target) {
  for (const session of sessions) {
    if (session.browser !== 'extension' || session.profile !== name) continue;
    const tab = session.tabs.find((one) => target && one.target === target);
    if (tab) return { session: session.id, tab: tab.name };
  }
  return null;
}

/** Where agents ask the person to point at something, in the browser of that name.
 * @param {import('./store.js').Session[]} sessions @param {string} name */
function pointings(sessions, name) {
  return sessions
    .filter((one) => one.browser === 'extension' && one.profile === name)
    .flatMap((one) => one.tabs.map((tab) => ({ session: one.id, tab })))
    .filter(({ tab }) => tab.picking && !tab.picks_own);
}

/** @param {string} url */
function webHost(url) {
  try {
    const { protocol, host } = new URL(url);
    return /^https?:$/.test(protocol) ? host : '';
  } catch {
    return '';
  }
}
