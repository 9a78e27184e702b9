// The side panel: the dashboard's own modules (ui/, a copy that a test holds to the original), and the page in front. It
// comes to the daemon with a pass that the worker got over the bridge, and asks the worker for the state as the popup does.

import { Api } from './ui/api.js';
import { fill, h } from './ui/dom.js';
import { Live } from './ui/live.js';
import { notify } from './ui/notify.js';
import { panel } from './ui/panel.js';
import { Store } from './ui/store.js';

/** @typedef {import('./types').State} State */

const AGAIN_MS = 1_000;
const RENEW_MS = 60 * 60 * 1000;

/** @type {{part: ReturnType<typeof panel>, live: Live, port: number, name: string} | null} */
let open = null;
let pass = '';
/** @type {Promise<boolean> | null} */
let asking = null;

/** @param {object} message @returns {Promise<any>} */
function ask(message) {
  return chrome.runtime.sendMessage(message);
}

/** @param {State} state */
async function show(state) {
  if (open && (!state.paired || open.port !== state.port || open.name !== state.name)) leave();
  if (!state.paired) return unpaired(state);
  if (!open && !(await renewed())) {
    unpaired(state);
    setTimeout(() => void ask({ type: 'state' }).then(show), AGAIN_MS);
    return;
  }
  open ??= enter(state);
  open.part.stands(state);
}

/** Whether the daemon has given a pass; those who ask at once ask one question. */
function renewed() {
  asking ??= ask({ type: 'pass' })
    .catch(() => null)
    .then((given) => {
      pass = given?.pass || pass;
      asking = null;
      return pass !== '';
    });
  return asking;
}

/** @param {State} state */
function enter({ port, name }) {
  const api = new Api(`http://127.0.0.1:${port}`, () => pass);
  const store = new Store(api);
  const live = new Live(`ws://127.0.0.1:${port}/api/live`, () => pass, {
    onWord: (word) => store.take(word),
    onState: (state) => {
      store.connected(state);
      if (state !== 'live') void renewed(); // a daemon that was started anew knows no old pass
    },
  });
  const house = { api, live, store, confirm: async (/** @type {string} */ title) => globalThis.confirm(title) };
  const part = panel(house, { onStop: () => void ask({ type: 'stop' }), onAllow: () => void ask({ type: 'allow' }) });
  fill(document.body, part.node);
  notify(store, () => {});
  setTimeout(() => void front());
  return { part, live, port, name };
}

function leave() {
  open?.part.close();
  open?.live.end();
  open = null;
  pass = '';
}

/** @param {State} state */
function unpaired(state) {
  const next = state.next || 'Pair this browser in the popup of the extension.';
  const told = [h('h1', {}, 'Pilothouse'), h('b', {}, state.words), h('p', {}, next)];
  fill(document.body, h('main', { class: 'panel' }, h('section', { class: 'card' }, told)));
}

/** The page in front of this window. */
async function front() {
  const [active] = await chrome.tabs.query({ active: true, currentWindow: true });
  if (!open || !active || active.url?.startsWith(location.origin)) return;
  const target = (await chrome.debugger.getTargets()).find(({ tabId, type }) => tabId === active.id && type === 'page');
  open?.part.fronts({ url: active.url ?? '', title: active.title ?? '', target: target?.id ?? '' });
}

chrome.tabs.onActivated.addListener(() => void front());
chrome.tabs.onUpdated.addListener((_, change) => {
  if (change.url || change.status === 'complete') void front();
});
setInterval(() => void renewed(), RENEW_MS);

/** The worker may end while we are open; a new line wakes it. */
function watch() {
  const port = chrome.runtime.connect(undefined, { name: 'popup' });
  port.onMessage.addListener((state) => void show(state));
  port.onDisconnect.addListener(() => setTimeout(watch, 100));
}

watch();
