// A page of the debug proxy on its way: it is to be offered when it came with a token, from the proxy itself and from no
// cache, and when its document is there.

import { kept } from './memory.js';
import { address, Diary, fields } from './debug-diary.js';
import { noteRedirect, tellDocument, tellEarly } from './debug-early.js';
import { heldSince } from './debug-hold.js';
import { listenTo, release } from './debug-listen.js';
import { close, isHeard, look, offer, tell } from './debug-offers.js';
import { coming, isAllowed, isProxys, left, offers, plain } from './debug-pages.js';

/** @typedef {import('./debug-pages.js').Coming} Coming */

const HEADER = 'x-adi-debug-token';
const MOST_LEFT = 5;
const MOST_LOOKS = 20;

/** As early as can be: the debugger is to be there before the answer. Chrome tells this of every page, and the rest only
 * of those that the person lets us see. Of a tab that is opened at its address it tells this last, after the answer, with
 * the time at which it began (M).
 * @param {{tabId: number, frameId: number, url: string, timeStamp: number, documentLifecycle: string}} details */
export function starting({ tabId, frameId, url, timeStamp, documentLifecycle }) {
  const before = coming.get(tabId);
  if (before?.requestId && plain(before.first) === plain(url) && timeStamp <= before.at) return;
  if (frameId === 0 && documentLifecycle !== 'prerender' && isAllowed() && isWanted(url)) expect(tabId, url, timeStamp);
}

/** @param {{tabId: number, requestId: string, method: string, url: string, timeStamp: number, documentLifecycle?: string}} one */
export function requested({ tabId, requestId, method, url, timeStamp, documentLifecycle }) {
  if (tabId < 0 || documentLifecycle === 'prerender') return;
  if (!isWanted(url)) {
    coming.delete(tabId);
    return;
  }
  const before = coming.get(tabId);
  const isKnown = before && (before.requestId ? before.requestId === requestId : plain(before.url) === plain(url));
  const one = isKnown ? before : expect(tabId, url, timeStamp);
  Object.assign(one, { requestId, method, url }); // a redirect is the same request at another address
}

/** @param {number} tabId @param {string} url @param {number} at */
function expect(tabId, url, at) {
  const diary = diaryOf(tabId);
  const one = { requestId: '', method: 'GET', url, first: url, at, diary, turned: false, loaderId: '', token: '' };
  coming.set(tabId, one);
  void listenTo(tabId);
  return one;
}

/** @param {{tabId: number, requestId: string, fromCache: boolean, statusCode: number, timeStamp: number,
 *   responseHeaders?: {name: string, value?: string}[]}} details */
export function answered({ tabId, requestId, fromCache, statusCode, responseHeaders = [], timeStamp }) {
  const one = coming.get(tabId);
  if (!one || one.requestId !== requestId) return;
  const headers = fields(Object.fromEntries(responseHeaders.map(({ name, value }) => [name.toLowerCase(), value ?? ''])));
  one.token = fromCache ? '' : (headers[HEADER] ?? '');
  one.seen = { status: statusCode, timestamp: timeStamp, headers };
  if (one.token) settle(tabId, one);
  else giveUp(tabId);
}

/** What a page asks for is sent on, and nobody hears it yet.
 * @param {Parameters<typeof noteRedirect>[1] & {tabId: number}} details */
export function sentOn(details) {
  const one = offers.get(details.tabId) ?? coming.get(details.tabId);
  if (one && details.timeStamp <= heldSince(details.tabId)) noteRedirect(one.diary, details);
}

/** @param {{tabId: number, requestId: string}} details */
export function failed({ tabId, requestId }) {
  if (coming.get(tabId)?.requestId === requestId) giveUp(tabId);
}

/** @param {{tabId: number, frameId: number, url: string, documentId: string, documentLifecycle: string}} details */
export function committed({ tabId, frameId, url, documentId, documentLifecycle }) {
  if (frameId !== 0 || documentLifecycle !== 'active') return;
  if (offers.has(tabId) && offers.get(tabId)?.documentId !== documentId) leave(tabId);
  const one = coming.get(tabId);
  if (left.has(documentId)) comeBack(tabId, documentId);
  else if (one && !one.requestId) giveUp(tabId); // it did not come from the network
  else if (one && plain(one.url) === plain(url)) {
    one.page = { url: address(url), committed: address(url), documentId };
    settle(tabId, one);
  } else if (!one && !offers.has(tabId)) void release(tabId);
}

/** It did not come to a new page, or to one of Chrome's own that says what failed.
 * @param {{tabId: number, frameId: number}} details */
export async function stayed({ tabId, frameId }) {
  if (frameId !== 0) return;
  if (!coming.get(tabId)?.requestId) giveUp(tabId);
  const one = offers.get(tabId);
  const page = one && (await chrome.webNavigation.getFrame({ tabId, frameId }).catch(() => null));
  if (!one || !page || page.documentId === one.documentId || offers.get(tabId) !== one) return;
  leave(tabId);
  if (!coming.has(tabId)) void release(tabId);
}

/** Its load is over. @param {{tabId: number, frameId: number, documentId: string}} details */
export function completed({ tabId, frameId, documentId }) {
  const one = frameId === 0 ? offers.get(tabId) : undefined;
  if (one?.documentId !== documentId) return;
  void look(tabId);
  if (!one.isLate || one.isLoaded) return;
  one.isLoaded = true;
  const isThere = () => offers.get(tabId) === one;
  void listenTo(tabId).then(() => tellEarly(tabId, one.diary, one.loaderId, one.bodyMax, isThere));
}

/** A token and a document: this is a page to offer. @param {number} tabId @param {Coming} one */
function settle(tabId, one) {
  if (!one.token || !one.page) return;
  coming.delete(tabId);
  const { diary, token, loaderId } = one;
  const isLate = !loaderId || !diary.requests.has(loaderId);
  if (isLate && one.seen) tellDocument(diary, { ...one, seen: one.seen });
  if (!one.turned) diary.forgetBefore(one.at);
  offer(tabId, { token, ticket: '', ...one.page, title: '', diary, loaderId, isLate, isLoaded: false, looks: MOST_LOOKS });
  void listenTo(tabId); // unless Chrome has let us already
}

/** @param {number} tabId */
function giveUp(tabId) {
  coming.delete(tabId);
  if (!offers.has(tabId)) void release(tabId);
}

/** Another document takes its place; Chrome may keep it as it is, for Back. @param {number} tabId */
function leave(tabId) {
  const one = /** @type {import('./debug-pages.js').Live} */ (offers.get(tabId));
  left.set(one.documentId, one);
  if (left.size > MOST_LEFT) left.delete(left.keys().next().value ?? '');
  close(tabId);
}

/** Nobody asked the proxy for it, but its ticket is still good. @param {number} tabId @param {string} documentId */
function comeBack(tabId, documentId) {
  const one = /** @type {import('./debug-pages.js').Live} */ (left.get(documentId));
  left.delete(documentId);
  coming.delete(tabId);
  offer(tabId, one);
  void listenTo(tabId);
}

/** @param {string} url */
function isWanted(url) {
  return !kept.stopped && isHeard() && isProxys(url);
}

/** @param {number} tabId @returns {Diary} */
export function diaryOf(tabId) {
  /** @type {Diary} */
  const diary = new Diary(
    (event, data) => tell(diary, tabId, { type: 'browser_debug_network_event', event, data }),
    (entry) => tell(diary, tabId, { type: 'browser_debug_console_event', entry }),
  );
  return diary;
}
