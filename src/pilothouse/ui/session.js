// One session: its tabs, the live picture, the wheel, and what the tab says and loads.

import { button, chip, empty, facts, fill, h, problem, refill } from './dom.js';
import { dated, hostOf } from './format.js';
import { CALM_MS, questionCards } from './approvals.js';
import { picker } from './picker.js';
import { Screen } from './screen.js';
import { kindOf, stateOf } from './sessions.js';
import { tabLines } from './lines.js';
import { tabRow } from './tabs.js';

/** @param {import('./shell.js').House} house @param {string} id */
export function sessionView(house, id) {
  const { store, live } = house;
  /** @type {Screen | null} */
  let screen = null;
  /** @type {ReturnType<typeof tabLines> | null} */
  let lines = null;
  let tab = '';
  let isTaking = false; // the wheel was taken by this page, and the person wants to act
  let follows = true; // the agent's current tab, until the person chooses one

  const title = h('h1', { class: 'one-line' }, 'Session');
  const chips = h('div', { class: 'row' });
  const tabs = tabRow('Tabs', 'tab-picture', (name) => {
    follows = name === found()?.current;
    look(name);
    show();
  });
  const address = h('p', { class: 'address mono one-line' });
  const picture = h('div', { class: 'stage', id: 'tab-picture', role: 'tabpanel', 'aria-label': 'The tab' });
  const hint = h('p', { class: 'small soft', id: 'picture-hint' });
  const words = h('input', { 'aria-label': 'Text for the page', placeholder: 'Text for the page', class: 'grow' });
  const write = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (store.connection !== 'live') return;
    screen?.write(words.value);
    words.value = '';
  };
  // For signs that are composed, and for keyboards that press no keys; a single key is pressed in the picture itself.
  const writing = h('form', { class: 'row', on: { submit: write } }, words, h('button', {}, 'Write'));
  const wrong = h('div', {});
  const dialog = h('div', {});
  const pick = h('div', {});
  const take = h('button', { type: 'button', class: 'main', on: { click: () => void turn() } });
  const end = button('End session', () => void close(), { class: 'danger' });
  const about = h('div', {});
  const said = h('div', {});
  const cards = questionCards(house, (one) => one.session === id);
  const questions = h('section', { 'aria-label': 'Questions of this session' }, cards.node);
  const body = h(
    'div',
    { class: 'session' },
    h('section', { class: 'card', 'aria-label': 'Live picture' }, tabs.node, address, dialog, pick, picture, hint, writing),
    h(
      'div',
      { class: 'stack' },
      questions,
      said,
      picker(live, () => (tab ? { session: id, tab } : null)).node,
      h('section', { class: 'card', 'aria-label': 'About' }, h('h2', {}, 'About'), about),
    ),
  );
  const gone = empty(
    'This session is over',
    'Its agent closed it, or nobody used it for a while. What it did is in Activity.',
  );
  const node = h(
    'div',
    { class: 'view' },
    h(
      'header',
      {},
      h('div', { class: 'grow' }, h('a', { class: 'small', href: '#/' }, '‹ Sessions'), title, chips),
      h('div', { class: 'row' }, take, end),
    ),
    wrong,
    body,
    gone,
  );

  const attempt = async (/** @type {() => Promise<any>} */ work) => {
    fill(wrong);
    try {
      await work();
    } catch (error) {
      fill(wrong, problem(error));
    }
  };
  const found = () => store.sessions.find((one) => one.id === id);
  const turn = () => {
    const does = found()?.paused ? 'give_back' : 'take';
    if (does === 'give_back') screen?.release();
    return attempt(async () => {
      await live.ask({ do: does, session: id });
      isTaking = does === 'take';
      show();
    });
  };
  const close = () =>
    attempt(async () => {
      if (
        !(await house.confirm(
          'End this session?',
          'Its tabs close, and the agent loses what it was doing there.',
          'End session',
        ))
      )
        return;
      await live.ask({ do: 'end', session: id });
    });

  /** @param {string} name */
  const look = (name) => {
    if (screen?.tab === name) return;
    screen?.close();
    lines?.close();
    tab = name;
    screen = name
      ? new Screen(live, id, name, {
          label: 'Live picture of the tab',
          describedBy: 'picture-hint',
          onLeave: () => take.focus(),
        })
      : null;
    lines = name ? tabLines(house, id, name) : null;
    fill(picture, screen?.node);
    fill(said, lines?.node);
  };
  const show = () => {
    const session = found();
    body.hidden = take.hidden = end.hidden = !session;
    gone.hidden = Boolean(session) || store.connection !== 'live';
    if (!session) {
      look('');
      return;
    }
    if (follows || !session.tabs.some((one) => one.name === tab)) {
      follows = follows || !session.tabs.some((one) => one.name === tab);
      look(session.current);
    }
    const shown = session.tabs.find((one) => one.name === tab);
    refill(title, shown?.title || shown?.url, () => shown?.title || hostOf(shown?.url ?? '') || 'Session');
    refill(chips, { ...session, tabs: [] }, () => [
      chip(session.caller, 'main'),
      chip(kindOf(session)),
      session.mode !== 'auto' && chip(session.mode),
      stateOf(session),
    ]);
    tabs.show(
      session.tabs.map(({ name, title, url, loading }) => ({
        key: name,
        text: title || hostOf(url) || name,
        more: loading ? '…' : '',
        title: url,
      })),
      tab,
    );
    refill(address, shown?.url, () => shown?.url);
    refill(take, session.paused, () => (session.paused ? 'Give the wheel back' : 'Take the wheel'));
    writing.hidden = !session.paused;
    refill(hint, session.paused, () =>
      session.paused
        ? 'You have the wheel: click, type and scroll in the picture. The agent waits. Shift+Escape leaves the picture.'
        : 'You are watching. Take the wheel to act yourself; the agent waits meanwhile.',
    );
    refill(about, session.id, () =>
      facts([
        ['Agent', session.caller],
        ['Connected by', session.connection || 'REST'],
        ['Browser', kindOf(session)],
        ['Mode', session.mode],
        ['Opened', dated(session.opened_ms)],
        ['Handle', h('code', {}, session.id)],
      ]),
    );
    showDialog(session.paused, shown?.dialog ?? null);
    showPick(shown?.picking ?? '', shown?.picks_own ?? false);
    screen?.steer(shown?.picking ? 'point' : session.paused ? 'wheel' : '');
    screen?.connected(store.connection === 'live');
    if (isTaking && session.paused) {
      isTaking = false;
      screen?.focus();
    }
  };
  /** @param {boolean} isMine @param {{number: number, kind: string, message: string} | null} open */
  const showDialog = (isMine, open) => {
    const words = h('input', { 'aria-label': 'Your answer', class: 'grow' });
    /** @type {(accept: boolean) => Promise<void>} */
    const answer = (accept) => {
      const text = words.value.slice(0, 10_000);
      return attempt(() => live.ask({ do: 'dialog', session: id, tab, number: open?.number, accept, text }));
    };
    // As with questions: nobody answers what has just come, by a second press that was meant for the one before.
    const buttons = [button('OK', () => void answer(true)), button('Cancel', () => void answer(false))];
    refill(
      dialog,
      [isMine, open],
      () =>
        open &&
        h(
          'div',
          { class: 'notice' },
          h('b', {}, `The page shows a dialog (${open.kind}): `),
          open.message,
          isMine && h('div', { class: 'row' }, open.kind === 'prompt' && words, calmed(buttons)),
        ),
    );
  };
  /** @param {string} prompt what the person is to point at @param {boolean} isOwn they wanted to themselves */
  const showPick = (prompt, isOwn) =>
    refill(
      pick,
      [prompt, isOwn],
      () =>
        prompt &&
        h(
          'div',
          { class: 'notice', role: 'status' },
          !isOwn && [h('b', {}, 'The agent asks you to point at something: '), prompt],
          h(
            'div',
            { class: 'row' },
            h('span', { class: 'small' }, 'Click it in the picture.'),
            button(
              isOwn ? 'Cancel' : 'I would rather not',
              () => void attempt(() => live.ask({ do: 'end_pick', session: id, tab })),
            ),
          ),
        ),
    );
  const ask = () => {
    questions.hidden = ![...store.pending.values()].some((one) => one.session === id);
  };
  show();
  ask();
  const ends = [store.on('sessions', show), store.on('connection', show), store.on('questions', ask)];
  return {
    node,
    close: () => {
      ends.forEach((one) => one());
      screen?.close();
      lines?.close();
      cards.close();
    },
  };
}

/** Buttons that can be pressed in a moment, when what they answer was seen. @param {HTMLButtonElement[]} buttons */
function calmed(buttons) {
  const able = (/** @type {boolean} */ is) => buttons.forEach((one) => (one.disabled = !is));
  able(false);
  setTimeout(() => able(true), CALM_MS);
  return buttons;
}
