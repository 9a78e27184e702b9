// The true state, in one word and in a sentence: the badge shows it to the person all the time.

import { isConnected } from './connection.js';
import { kept, PORT } from './memory.js';
import { attachedTabs } from './relay.js';
import { sharedTabs } from './sharing.js';

/** @typedef {import('./types').State} State */

/** @type {Record<State['mode'], {text: string, color: string}>} */
const BADGES = {
  off: { text: 'off', color: '#6b7280' },
  pairing: { text: '…', color: '#6b7280' },
  on: { text: 'on', color: '#15803d' },
  active: { text: '●', color: '#1d4ed8' },
  stopped: { text: '■', color: '#b91c1c' },
  problem: { text: '!', color: '#b45309' },
};

let pairing = false;
let problem = '';
let pairAgain = false;
let daemonVersion = '';
/** @type {Set<chrome.runtime.Port>} */
const watchers = new Set();
let shown = '';
let waiting = 0;

/** @param {{pairing?: boolean, problem?: string, pairAgain?: boolean, daemonVersion?: string}} change */
export function note(change) {
  pairing = change.pairing ?? pairing;
  problem = change.problem ?? problem;
  pairAgain = problem !== '' && (change.pairAgain ?? pairAgain);
  daemonVersion = change.daemonVersion ?? daemonVersion;
  show();
}

/** How many questions wait for the person. @param {number} count */
export function noteWaiting(count) {
  waiting = count > 0 ? count : 0;
  show();
}

/** @param {chrome.runtime.Port} port an open popup */
export function watch(port) {
  watchers.add(port);
  port.onDisconnect.addListener(() => watchers.delete(port));
  port.postMessage(state());
}

/** Put it on the badge, and into every open popup, when it has changed. */
export function show() {
  if (!isConnected()) waiting = 0; // a daemon that comes back tells it anew
  const now = state();
  const told = JSON.stringify(now);
  if (told === shown) return;
  shown = told;
  const asks = now.waiting > 0 && ['on', 'active'].includes(now.mode);
  const { text, color } = asks ? { text: `${now.waiting}?`, color: '#b45309' } : BADGES[now.mode];
  void chrome.action.setBadgeText({ text });
  void chrome.action.setBadgeBackgroundColor({ color });
  void chrome.action.setTitle({ title: `Pilothouse: ${now.words}` });
  for (const port of watchers) port.postMessage(now);
}

/** @returns {State} */
export function state() {
  const mode = modeNow();
  return {
    mode,
    ...WORDS[mode](),
    name: kept.name,
    wish: kept.wish,
    paired: kept.pairing !== null,
    pairAgain,
    port: kept.pairing?.port ?? PORT,
    share: kept.share,
    sharedTabs: sharedTabs().length,
    attachedTabs: attachedTabs().length,
    waiting,
    version: chrome.runtime.getManifest().version,
    daemonVersion,
  };
}

/** @returns {State['mode']} */
function modeNow() {
  if (pairing) return 'pairing';
  if (kept.stopped) return 'stopped';
  if (problem) return 'problem';
  if (!kept.pairing || !isConnected()) return 'off';
  return attachedTabs().length ? 'active' : 'on';
}

/** What stands between us and a daemon of ours, if that is known. */
export function trouble() {
  return { problem, pairAgain };
}

/** @param {number} count */
function tabs(count) {
  return count === 1 ? '1 tab' : `${count} tabs`;
}

const ELSEWHERE =
  'If the daemon has another port now (“pilothouse extension list” says so), forget this pairing and pair again.';

/** @type {Record<State['mode'], () => {words: string, next: string}>} */
const WORDS = {
  off: () =>
    kept.pairing
      ? {
          words: `No Pilothouse answers on port ${kept.pairing.port}`,
          next: `It connects by itself as soon as the daemon runs there. ${ELSEWHERE}`,
        }
      : { words: 'Not paired', next: 'Run “pilothouse extension pair” in a terminal and type its code here.' },
  pairing: () => ({ words: 'Pairing…', next: '' }),
  on: () => ({ words: 'Connected; no agent is at work', next: `${tabs(sharedTabs().length)} shared.` }),
  active: () => ({
    words: 'An agent is at work',
    next: `It holds ${tabs(attachedTabs().length)} of ${sharedTabs().length} shared.`,
  }),
  stopped: () => ({
    words: kept.stopped === 'bar' ? 'Stopped from Chrome’s debugging bar' : 'Stopped',
    next: 'Agents can do nothing in this browser until you allow it again.',
  }),
  problem: () => ({ words: problem, next: '' }),
};
