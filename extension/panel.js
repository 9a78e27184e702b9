// The side panel: the dashboard's own modules (ui/, a copy that a test holds to the original) on the secret of this
// browser's pairing, and the page in front. It asks the worker for the state, as the popup does.

import { Api } from './ui/api.js';
import { fill, h } from './ui/dom.js';
import { Live } from './ui/live.js';
import { notify } from './ui/notify.js';
import { panel } from './ui/panel.js';
import { Store } from './ui/store.js';

/** @typedef {import('./types').State} State */

/** @type {{part: ReturnType<typeof panel>, live: Live, secret: string} | null} */
let open = null;

/** @param {object} message @returns {Promise<any>} */
function ask(message) {
  return chrome.runtime.sendMessage(message);
}

/** @param {State} state */
async function show(state) {
  const { secret = '', port } = await chrome.storage.local.get(['secret', 'port']);
  if (open && (open.secret !== secret || !state.paired)) leave();
  if (!state.paired || !secret) return unpaired(state);
  open ??= enter(String(secret), Number(port));
  open.part.stands(state);
}

/** @param {string} secret @param {number} port */
function enter(secret, port) {
  const api = new Api(`http://127.0.0.1:${port}`, () => secret);
  const store = new Store(api);
  const live = new Live(`ws://127.0.0.1:${port}/api/live`, () => secret, {
    onWord: (word) => store.take(word),
    onState: (state) => store.connected(state),
  });
  const house = { api, live, store, confirm: async (/** @type {string} */ title) => globalThis.confirm(title) };
  const part = panel(house, { onStop: () => void ask({ type: 'stop' }), onAllow: () => void ask({ type: 'allow' }) });
  fill(document.body, part.node);
  notify(store, () => {});
  void front();
  return { part, live, secret };
}

function leave() {
  open?.part.close();
  open?.live.end();
  open = null;
}

/** @param {State} state */
function unpaired(state) {
  fill(
    document.body,
    h(
      'main',
      { class: 'panel' },
      h(
        'section',
        { class: 'card' },
        h('h1', {}, 'Pilothouse'),
        h('b', {}, state.words),
        h('p', {}, state.next || 'Pair this browser in the popup of the extension.'),
      ),
    ),
  );
}

/** The page in front; in a panel of its own window that is the window's active tab. */
async function front() {
  const [active] = await chrome.tabs.query({ active: true, currentWindow: true });
  if (open && active && !active.url?.startsWith(location.origin))
    open.part.fronts({ url: active.url ?? '', title: active.title ?? '' });
}

chrome.tabs.onActivated.addListener(() => void front());
chrome.tabs.onUpdated.addListener((_, change) => {
  if (change.url || change.status === 'complete') void front();
});

/** The worker may end while we are open; a new line wakes it. */
function watch() {
  const port = chrome.runtime.connect(undefined, { name: 'popup' });
  port.onMessage.addListener((state) => void show(state));
  port.onDisconnect.addListener(() => setTimeout(watch, 100));
}

watch();
