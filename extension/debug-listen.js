// What Chrome's debugger says of a tab, sorted: is it of the page that is there, or of the next one?

import { tellRest } from './debug-early.js';
import * as held from './debug-hold.js';
import { Requests } from './debug-network.js';
import { coming, offers, plain, remember } from './debug-pages.js';
import { bodyMax } from './debug-settings.js';

/** @typedef {import('./types').Debuggee} Debuggee */

/** @type {Map<number, Requests>} */
const listeners = new Map();
/** @type {Set<number>} tabs whose account is about to be read again */
const looking = new Set();
const LOOK_MS = 100;

/** @param {number} tabId */
export function listenTo(tabId) {
  if (!listeners.has(tabId)) listeners.set(tabId, new Requests(deskOf(tabId)));
  if (!held.isHeld(tabId)) offers.get(tabId)?.diary.expectRepeats();
  return held.hold(tabId, bodyMax()).then(remember);
}

/** After a new start of the worker. @param {number} tabId @param {boolean} alone */
export function listenAgain(tabId, alone) {
  listeners.set(tabId, new Requests(deskOf(tabId)));
  held.holdAgain(tabId, alone);
}

/** @param {number} tabId */
export async function release(tabId) {
  listeners.delete(tabId);
  await held.letGo(tabId);
}

export function releaseAll() {
  return Promise.all([...listeners.keys()].map(release));
}

/** @param {chrome.debugger.DebuggerSession} source @param {string} method @param {any} params */
export function heard(source, method, params) {
  const { tabId } = source;
  const requests = tabId === undefined ? undefined : listeners.get(tabId);
  if (tabId === undefined || !requests) return;
  if (method === 'Target.attachedToTarget') held.adopt(tabId, params);
  else if (method === 'Runtime.executionContextsCleared' && !source.sessionId) turn(tabId);
  else if (method.startsWith('Network.')) requests.heard(/** @type {Debuggee} */ (source), method, params);
  else printer(tabId)?.print(method, params);
}

/** An agent comes to the tab; Chrome will tell it of the console's past, and us again. @param {number} tabId */
export async function stepAside(tabId) {
  offers.get(tabId)?.diary.expectRepeats();
  await held.stepAside(tabId);
  remember();
}

/** It has left. @param {number} tabId */
export async function stepBack(tabId) {
  offers.get(tabId)?.diary.expectRepeats();
  await held.stepBack(tabId);
  remember();
}

/** @param {number} tabId @returns {import('./debug-network.js').Desk} */
function deskOf(tabId) {
  return {
    diaryFor: (loaderId, documentUrl) => (comingOf(tabId, loaderId, documentUrl) ?? offers.get(tabId))?.diary,
    bodyMax: () => offers.get(tabId)?.bodyMax ?? bodyMax(),
    ask: held.ask,
    missed: () => lookAgain(tabId),
  };
}

/** Requests have ended that nobody told of, or not all: the account of a page that we came to too late has them, a moment
 * later.
 * @param {number} tabId */
function lookAgain(tabId) {
  const one = offers.get(tabId);
  if (!one?.isLate || !one.isLoaded || !one.looks || looking.has(tabId)) return;
  one.looks -= 1;
  looking.add(tabId);
  setTimeout(() => {
    looking.delete(tabId);
    void tellRest(tabId, one.diary, () => offers.get(tabId) === one);
  }, LOOK_MS);
}

/** The page on its way, if that is the one whose document Chrome calls so.
 * @param {number} tabId @param {string} loaderId @param {string} url */
function comingOf(tabId, loaderId, url) {
  const next = coming.get(tabId);
  if (!next || !loaderId) return undefined;
  const isNew = !next.loaderId && plain(next.url) === plain(url) && offers.get(tabId)?.loaderId !== loaderId;
  if (isNew) next.loaderId = loaderId;
  return next.loaderId === loaderId ? next : undefined;
}

/** The next document begins: what is printed from now on is its own. @param {number} tabId */
function turn(tabId) {
  const next = coming.get(tabId);
  if (!next) return;
  next.turned = true;
  next.diary.forgetBefore(Infinity);
}

/** @param {number} tabId */
function printer(tabId) {
  const next = coming.get(tabId);
  return (next?.turned || !offers.has(tabId) ? next : offers.get(tabId))?.diary;
}
