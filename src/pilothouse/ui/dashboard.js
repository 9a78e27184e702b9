// The dashboard's beginning: the ticket behind the # becomes a pass, once; the pass stays in this tab and is renewed while
// the page is open. Without one there is nothing to see but how to get one.

import { Api } from './api.js';
import { fill, h } from './dom.js';
import { Live } from './live.js';
import { shell } from './shell.js';
import { Store } from './store.js';

const KEPT = 'pilothouse.pass';
const RENEW_MS = 60 * 60 * 1000;
const TICKET = /^#ticket=([\w-]{20,100})$/;

/** @type {ReturnType<typeof setInterval> | undefined} */
let renewing;

async function begin() {
  const ticket = TICKET.exec(location.hash)?.[1];
  if (ticket) {
    history.replaceState(null, '', location.pathname);
    if (!(await enter(ticket))) return;
  }
  if (sessionStorage.getItem(KEPT)) await open();
  else
    locked(
      'This page needs a link of its own',
      'Run this in a terminal; it opens the dashboard, or prints a link that works once:',
    );
}

/** @param {string} ticket @returns {Promise<boolean>} */
async function enter(ticket) {
  const answer = await fetch('/dashboard/enter', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ticket }),
  }).catch(() => null);
  const told = await answer?.json().catch(() => null);
  if (told?.success) {
    sessionStorage.setItem(KEPT, told.data.pass);
    return true;
  }
  if (sessionStorage.getItem(KEPT)) return true; // a link that was used before: the pass of then may still be good
  locked('This link was used, or is too old', 'A link opens one page, within a minute. Make a new one:');
  return false;
}

async function open() {
  const secret = () => sessionStorage.getItem(KEPT) ?? '';
  const api = new Api('', secret);
  if (!(await isGood(api))) {
    sessionStorage.removeItem(KEPT);
    locked(
      'This page’s pass has ended',
      'It is good for half a day, and until Pilothouse is started anew. Make a new link:',
    );
    return;
  }
  const store = new Store(api);
  const live = new Live(`${location.origin.replace('http', 'ws')}/api/live?shots`, secret, {
    onWord: (word) => store.take(word),
    onState: (state) => {
      store.connected(state);
      if (state === 'away') void isGood(api).then((good) => good || ended(live, store));
    },
  });
  renewing = setInterval(() => void renew(api), RENEW_MS);
  shell({ api, live, store });
}

/** Whether the pass opens something; a daemon that is away may come back. @param {Api} api */
async function isGood(api) {
  try {
    await api.get('/api/grants');
    return true;
  } catch (error) {
    return /** @type {import('./api.js').ApiError} */ (error).status !== 401;
  }
}

/** @param {Api} api */
async function renew(api) {
  const told = await api.ask('POST', '/api/dashboard/pass', {}).catch(() => null);
  if (told) sessionStorage.setItem(KEPT, told.pass);
}

/** @param {Live} live @param {Store} store which stops asking */
function ended(live, store) {
  live.end();
  clearInterval(renewing);
  store.connected('ended');
  sessionStorage.removeItem(KEPT);
  locked('This page’s pass has ended', 'Make a new link:');
}

/** @param {string} title @param {string} told */
function locked(title, told) {
  fill(
    document.body,
    h(
      'main',
      { class: 'gate' },
      h('img', { src: '/ui/icon.svg', alt: '' }),
      h('h1', {}, title),
      h('p', {}, told),
      h('pre', {}, 'pilothouse dashboard'),
    ),
  );
}

// A new link that is pasted into an open page changes only what is behind the #, which loads nothing.
addEventListener('hashchange', () => TICKET.test(location.hash) && location.reload());
void begin();
