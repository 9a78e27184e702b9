// The sessions of all agents, each with a small live picture of its current tab; only those in view are drawn.

import { chip, empty, fill, h } from './dom.js';
import { counted, hostOf, since } from './format.js';
import { Screen } from './screen.js';

/** @param {import('./shell.js').House} house */
export function sessionsView(house) {
  const { store } = house;
  const none = empty(
    'No agent is at work',
    'Start one: an MCP client runs “pilothouse mcp”, a terminal “pilothouse navigate …”.',
    'Its session appears here by itself.',
  );
  const grid = h('ul', { class: 'tiles' });
  const count = h('p', { class: 'soft' });
  const node = h('div', { class: 'view' }, h('header', {}, h('h1', {}, 'Sessions'), count), none, grid);
  /** @type {Map<string, ReturnType<typeof tile>>} */
  const tiles = new Map();

  const show = () => {
    for (const [id, one] of tiles) {
      if (store.sessions.some((session) => session.id === id)) continue;
      one.close();
      one.node.remove();
      tiles.delete(id);
    }
    for (const session of store.sessions) {
      const there = tiles.get(session.id) ?? tile(house, session.id);
      if (!tiles.has(session.id)) grid.append(there.node);
      tiles.set(session.id, there);
      there.show(session);
    }
    none.hidden = store.sessions.length > 0 || store.connection !== 'live';
    fill(count, store.sessions.length ? counted(store.sessions.length, 'session') : '');
  };
  show();
  const ends = [store.on('sessions', show), store.on('connection', show), store.on('questions', show)];
  return {
    node,
    close: () => {
      ends.forEach((end) => end());
      tiles.forEach((one) => one.close());
    },
  };
}

/** @param {import('./shell.js').House} house @param {string} id */
function tile(house, id) {
  /** @type {Screen | null} */
  let screen = null;
  let tab = '';
  let isSeen = false;
  const picture = h('div', { class: 'tile-picture' });
  const title = h('span', { class: 'one-line tile-title' });
  const place = h('span', { class: 'one-line small soft' });
  const chips = h('span', { class: 'row' });
  const link = h('a', { class: 'card tile', href: `#/session/${id}` }, picture, title, place, chips);
  const node = h('li', {}, link);

  const draw = () => {
    if (screen && (!isSeen || screen.tab !== tab)) {
      screen.close();
      screen = null;
    }
    if (isSeen && tab && !screen) {
      screen = new Screen(house.live, id, tab, { label: 'What its tab shows now', slow: true });
      fill(picture, screen.node);
    }
  };
  const eye = new IntersectionObserver((seen) => {
    isSeen = seen.at(-1)?.isIntersecting ?? false; // the last is how it is now
    draw();
  });
  eye.observe(node);

  /** @param {import('./store.js').Session} session */
  const show = (session) => {
    const current = session.tabs.find((one) => one.name === session.current);
    tab = session.current;
    fill(title, current?.title || hostOf(current?.url ?? '') || 'no tab');
    fill(place, current?.url ?? '');
    fill(
      chips,
      chip(session.caller, 'main'),
      chip(kindOf(session)),
      session.tabs.length > 1 && chip(counted(session.tabs.length, 'tab')),
      session.tabs.some((one) => one.picking && !one.picks_own) && chip('asks you to point at something', 'warn'),
      waitsIn(house, id) && chip('waits for your answer', 'warn'),
      stateOf(session),
      h('span', { class: 'small soft' }, `open ${since(session.opened_ms)}`),
    );
    draw();
    screen?.connected(house.store.connection === 'live');
  };
  return {
    node,
    show,
    close: () => {
      eye.disconnect();
      screen?.close();
    },
  };
}

/** @param {import('./shell.js').House} house @param {string} id */
const waitsIn = (house, id) => [...house.store.pending.values()].some((one) => one.session === id);

/** @param {import('./store.js').Session} session */
export function kindOf(session) {
  if (session.browser === 'extension') return `your Chrome ${session.profile}`;
  return session.browser === 'profile' ? `profile ${session.profile}` : session.browser;
}

/** @param {import('./store.js').Session} session */
export function stateOf(session) {
  if (session.paused)
    return chip(
      session.waiting ? `you have the wheel, ${counted(session.waiting, 'call')} waiting` : 'you have the wheel',
      'warn',
    );
  return session.busy ? chip('working', 'ok') : chip('idle');
}
