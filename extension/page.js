// What our own popup may ask of the worker.

import { retry, say } from './connection.js';
import { status } from './debug.js';
import { isForbidden } from './forbidden.js';
import { keep, kept } from './memory.js';
import { pair, unpair } from './pairing.js';
import { askForPass } from './pass.js';
import * as sharing from './sharing.js';
import { show, state } from './state.js';
import { allowAgain, stopEverything } from './stop.js';

/** @typedef {Record<string, (message: any) => unknown>} Answers */

/** @type {Answers} */
const QUESTIONS = { state, debug: status, tab: ({ tabId }) => describe(tabId), pass: askForPass };

/** @type {Answers} What changes something is shown at once. */
const WISHES = {
  pair: async ({ code, name }) => ({ problem: await pair(code, name) }),
  unpair,
  retry,
  stop: () => stopEverything('popup'),
  allow: allowAgain,
  share: ({ mode }) => chooseSharing(mode),
  shareTab: ({ tabId }) => sharing.shareByHand(tabId),
  unshareTab: ({ tabId }) => sharing.unshareByHand(tabId),
};

/** @param {any} message */
export async function answer(message) {
  if (Object.hasOwn(QUESTIONS, message?.type)) return QUESTIONS[message.type](message);
  const told = Object.hasOwn(WISHES, message?.type) ? await WISHES[message.type](message) : undefined;
  show();
  return told ?? {};
}

/** @param {import('./types').Share} mode */
async function chooseSharing(mode) {
  if (!['tab', 'group', 'all'].includes(mode) || mode === kept.share) return;
  await keep({ share: mode });
  say({ type: 'share', payload: { share: mode } });
  await sharing.rebuild();
}

/** @param {number} tabId @returns {Promise<import('./types').CurrentTab>} */
async function describe(tabId) {
  const tab = await chrome.tabs.get(tabId);
  return { tabId, title: tab.title ?? '', shared: sharing.isShared(tabId), allowed: !isForbidden(tab.url) };
}
