// Pages of the debug proxy: a page that came with a token is offered to the hub, and what happens in it is told. Only the
// tab's own document counts, from the hub's proxy and from no cache; the offer ends with the document.

import { current, keepForNow, kept } from './memory.js';
import * as held from './debug-hold.js';
import * as line from './debug-line.js';
import { Requests } from './debug-network.js';
import { Diary, fields, fitting } from './debug-diary.js';
import { tellDocument, tellEarly } from './debug-early.js';
import { onSettings, recallSettings, settings } from './debug-settings.js';

/** @typedef {import('./types').Offer} Offer */
/** @typedef {import('./types').Debuggee} Debuggee */
/** @typedef {import('./debug-early.js').Seen} Seen */
/**
 * @typedef {object} Coming
 * @property {string} requestId
 * @property {string} method
 * @property {string} url
 * @property {number} at
 * @property {Diary} record
 * @property {boolean} turned its document has begun
 * @property {string} loaderId what Chrome's debugger calls its document, once it is known
 * @property {string} token
 * @property {Seen} [seen]
 * @property {{url: string, documentId: string}} [page]
 */
/** @typedef {Offer & {record: Diary, loaderId: string, isLate: boolean, told: boolean, accepted: boolean, bodyMax: number}} Live */

const HEADER = 'x-adi-debug-token';
const QUIET_MS = 250;
const AWAY_MS = 60_000;
const MOST_LEFT = 20;
const MOST_BODY = 2_500_000; // however it is written, it fits into a frame
const MAX_TITLE = 1_500;
const MAX_FAVICON = 60_000;

/** @type {Map<number, Coming>} pages on their way */
const coming = new Map();
/** @type {Map<number, Live>} pages that are offered */
const offers = new Map();
/** @type {Map<string, Live>} documents that were left, which Chrome may show again as they are */
const left = new Map();
/** @type {Map<number, Requests>} */
const listeners = new Map();
/** @type {Map<number, ReturnType<typeof setTimeout>>} tabs whose news were told a moment ago */
const quiet = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let leaving;

line.listen({ isBusy: () => offers.size > 0, onReady, onMessage, onLost });
onSettings(() => {
  void letAllGo();
  line.renew();
});

/** What an earlier life of the worker had offered. */
export async function recall() {
  await recallSettings();
  for (const [id, offer] of Object.entries(current.debugged)) {
    const tabId = Number(id);
    const page = await chrome.webNavigation.getFrame({ tabId, frameId: 0 }).catch(() => null);
    if (page?.documentId !== offer.documentId) continue;
    const fresh = { record: recordOf(tabId), loaderId: '', isLate: false, told: false, accepted: false };
    offers.set(tabId, { ...offer, ...fresh, bodyMax: settings.response_body_max_size });
    listeners.set(tabId, new Requests(deskOf(tabId)));
    held.holdAgain(tabId, offer.alone);
  }
  remember();
}

export function start() {
  line.connect();
}

export function hurry() {
  line.hurry();
}

/** For the page of settings. */
export async function status() {
  const proxy = current.debugProxy;
  const origins = proxy ? permissionsFor(proxy) : [];
  const allowed = !origins.length || (await chrome.permissions.contains({ origins }));
  const offered = [...offers.values()].map(({ url, title }) => ({ url, title }));
  return { connected: line.isReady(), proxy, origins, allowed, offered };
}

/** "Stop everything" is meant for those who look, too. */
export async function letAllGo() {
  for (const tabId of [...offers.keys()]) close(tabId);
  coming.clear();
  left.clear();
  await Promise.all([...listeners.keys()].map(release));
}

// A page on its way

/** As early as can be. @param {{tabId: number, frameId: number, url: string}} details */
export function starting({ tabId, frameId, url }) {
  if (frameId === 0 && !kept.stopped && isProxys(url)) void listenTo(tabId);
}

/** The debugger is there before the answer is: nothing of the page's own beginning is missed.
 * @param {{tabId: number, requestId: string, method: string, url: string, timeStamp: number, documentLifecycle?: string}} details */
export function requested({ tabId, requestId, method, url, timeStamp, documentLifecycle }) {
  if (tabId < 0 || kept.stopped || documentLifecycle === 'prerender' || !isProxys(url)) {
    coming.delete(tabId);
    return;
  }
  const before = coming.get(tabId);
  const fresh = { requestId, method, at: timeStamp, record: recordOf(tabId), turned: false, loaderId: '', token: '' };
  coming.set(tabId, { ...(before?.requestId === requestId ? before : fresh), url }); // a redirect is the same request
  void listenTo(tabId);
}

/** @param {{tabId: number, requestId: string, fromCache: boolean, statusCode: number, timeStamp: number, responseHeaders?: {name: string, value?: string}[]}} details */
export function answered({ tabId, requestId, fromCache, statusCode, responseHeaders, timeStamp }) {
  const one = coming.get(tabId);
  if (!one || one.requestId !== requestId) return;
  const token = fromCache ? '' : (responseHeaders?.find(({ name }) => name.toLowerCase() === HEADER)?.value ?? '');
  if (token) {
    one.token = token;
    const headers = fields(pairsOf(responseHeaders));
    const mime = (headers['content-type'] ?? '').split(';', 1)[0];
    one.seen = { status: statusCode, timestamp: timeStamp, headers, mime };
    offer(tabId, one);
  } else giveUp(tabId);
}

/** @param {{tabId: number, requestId: string}} details */
export function failed({ tabId, requestId }) {
  if (coming.get(tabId)?.requestId === requestId) giveUp(tabId);
}

/** @param {{tabId: number, frameId: number, url: string, documentId: string, documentLifecycle: string}} details */
export function committed({ tabId, frameId, url, documentId, documentLifecycle }) {
  if (frameId !== 0 || documentLifecycle !== 'active') return;
  const before = offers.get(tabId);
  if (before && before.documentId !== documentId) {
    left.set(before.documentId, before);
    if (left.size > MOST_LEFT) left.delete(left.keys().next().value ?? '');
    close(tabId);
  }
  const one = coming.get(tabId);
  if (left.has(documentId)) comeBack(tabId, documentId);
  else if (one && plain(one.url) === plain(url)) {
    one.page = { url, documentId };
    offer(tabId, one);
  } else if (!one && !offers.has(tabId)) void release(tabId);
}

/** Back, to a page that Chrome had put away as it was: nobody asked the proxy for it, but its ticket is still good.
 * @param {number} tabId @param {string} documentId */
function comeBack(tabId, documentId) {
  const one = /** @type {Live} */ (left.get(documentId));
  left.delete(documentId);
  coming.delete(tabId);
  one.told = one.accepted = false;
  offers.set(tabId, one);
  remember();
  void listenTo(tabId);
  void announce(tabId);
}

/** It did not come to a new page. @param {{tabId: number, frameId: number}} details */
export function stayed({ tabId, frameId }) {
  if (frameId === 0 && !coming.has(tabId) && !offers.has(tabId)) void release(tabId);
}

/** @param {number} tabId */
function giveUp(tabId) {
  coming.delete(tabId);
  if (!offers.has(tabId)) void release(tabId);
}

/** A token and a document that is there: this is a page to offer. @param {number} tabId @param {Coming} one */
function offer(tabId, one) {
  if (!one.token || !one.page) return;
  coming.delete(tabId);
  const { record, token, loaderId } = one;
  const isLate = !loaderId || !record.requests.has(loaderId);
  if (isLate && one.seen) tellDocument(record, { ...one, seen: one.seen });
  if (!one.turned) record.entries = record.entries.filter(({ timestamp }) => timestamp >= one.at);
  const fresh = { ticket: '', title: '', alone: true, told: false, accepted: false };
  offers.set(tabId, { ...fresh, token, ...one.page, record, loaderId, isLate, bodyMax: settings.response_body_max_size });
  remember();
  line.keepAlive();
  void announce(tabId);
}

/** Its load is over. @param {{tabId: number, frameId: number, documentId: string}} details */
export function completed({ tabId, frameId, documentId }) {
  const one = frameId === 0 ? offers.get(tabId) : undefined;
  if (!one?.isLate || one.documentId !== documentId) return;
  one.isLate = false;
  void tellEarly(tabId, one.record, one.loaderId, one.bodyMax);
}

// An offered page

/** @param {number} tabId */
async function announce(tabId) {
  const one = offers.get(tabId);
  if (!one) return;
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (tab && !tab.url?.startsWith('chrome-extension:')) one.title = (tab.title ?? '').slice(0, MAX_TITLE);
  if (offers.get(tabId) !== one || one.told || !line.isReady()) return; // a hub that comes hears of all, once
  one.told = true;
  const favicon = tab?.favIconUrl && tab.favIconUrl.length <= MAX_FAVICON ? { favicon: tab.favIconUrl } : {};
  const { token, url, title, ticket } = one;
  line.say({ type: 'browser_debug_tab_available', token, browser_id: kept.install, url, title, ...favicon, ticket });
}

/** It moved on by script. @param {{tabId: number, frameId: number, url: string}} details */
export function moved({ tabId, frameId, url }) {
  const one = frameId === 0 ? offers.get(tabId) : undefined;
  if (!one) return;
  one.url = url;
  remember();
  tellSoon(tabId);
}

/** @param {number} tabId @param {string} title */
export function retitled(tabId, title) {
  const one = offers.get(tabId);
  if (!one || one.title === title) return;
  one.title = title.slice(0, MAX_TITLE);
  tellSoon(tabId);
}

/** A page that changes its title a thousand times a second is told of four times. @param {number} tabId */
function tellSoon(tabId) {
  if (quiet.has(tabId)) return;
  quiet.set(
    tabId,
    setTimeout(() => {
      quiet.delete(tabId);
      const { accepted, token, url, title } = offers.get(tabId) ?? {};
      if (accepted) line.say({ type: 'browser_debug_tab_updated', token, url, title });
    }, QUIET_MS),
  );
}

/** @param {number} tabId */
export function closed(tabId) {
  coming.delete(tabId);
  close(tabId);
  void release(tabId);
}

/** @param {number} tabId */
function close(tabId) {
  const one = offers.get(tabId);
  if (!one) return;
  offers.delete(tabId);
  remember();
  line.say({ type: 'browser_debug_tab_closed', token: one.token });
}

// The debugger

/** @param {number} tabId */
function listenTo(tabId) {
  if (!listeners.has(tabId)) listeners.set(tabId, new Requests(deskOf(tabId)));
  return held.hold(tabId, settings.response_body_max_size).then(remember);
}

/** @param {number} tabId */
async function release(tabId) {
  listeners.delete(tabId);
  await held.letGo(tabId);
}

/** @param {number} tabId @returns {import('./debug-network.js').Desk} */
function deskOf(tabId) {
  return {
    recordFor: (loaderId, documentUrl) => {
      const next = comingOf(tabId, loaderId, documentUrl);
      return next ? next.record : offers.get(tabId)?.record;
    },
    bodyMax: () => offers.get(tabId)?.bodyMax ?? settings.response_body_max_size,
    ask: held.ask,
  };
}

/** The page on its way, if that is the one whose document Chrome calls so. @param {number} tabId @param {string} loaderId @param {string} url */
function comingOf(tabId, loaderId, url) {
  const next = coming.get(tabId);
  if (!next || !loaderId) return undefined;
  const isNew = !next.loaderId && plain(next.url) === plain(url) && offers.get(tabId)?.loaderId !== loaderId;
  if (isNew) next.loaderId = loaderId;
  return next.loaderId === loaderId ? next : undefined;
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

/** An agent comes to the tab, or has left it; Chrome tells the console's past again. @param {number} tabId */
export async function stepAside(tabId) {
  offers.get(tabId)?.record.expectRepeats();
  await held.stepAside(tabId);
  remember();
}

/** @param {number} tabId */
export async function stepBack(tabId) {
  offers.get(tabId)?.record.expectRepeats();
  await held.stepBack(tabId);
  remember();
}

/** The next document begins: what is printed from now on is its own. @param {number} tabId */
function turn(tabId) {
  const next = coming.get(tabId);
  if (!next) return;
  next.turned = true;
  next.record.entries = [];
}

/** @param {number} tabId */
function printer(tabId) {
  const next = coming.get(tabId);
  return next?.turned || !offers.has(tabId) ? next?.record : offers.get(tabId)?.record;
}

/** @param {chrome.debugger.Debuggee} source @param {string} reason */
export function lostTab({ tabId }, reason) {
  if (tabId === undefined || !held.isOursAlone(tabId)) return;
  held.taken(tabId);
  if (reason !== 'target_closed') closed(tabId);
}

/** @param {number} tabId @returns {Diary} */
function recordOf(tabId) {
  /** @type {Diary} */
  const record = new Diary(
    (event, data) => tell(record, tabId, { type: 'browser_debug_network_event', event, data }),
    (entry) => tell(record, tabId, { type: 'browser_debug_console_event', entry }),
  );
  return record;
}

/** @param {Diary} record @param {number} tabId @param {object} message */
function tell(record, tabId, message) {
  const one = offers.get(tabId);
  if (one?.accepted && one.record === record) line.mention({ ...message, token: one.token });
}

// The hub

/** @param {{proxy: string}} hub */
function onReady({ proxy }) {
  clearTimeout(leaving);
  leaving = undefined;
  keepForNow({ debugProxy: proxy });
  for (const tabId of offers.keys()) {
    void listenTo(tabId);
    void announce(tabId);
  }
}

/** @param {any} message */
function onMessage(message) {
  const found = [...offers].find(([, one]) => one.token === message.token);
  if (!found) return;
  const [tabId, one] = found;
  if (message.type === 'browser_debug_tab_accepted') accepted(one, message);
  else if (message.type === 'browser_debug_tab_refused') {
    offers.delete(tabId);
    remember();
    giveUp(tabId);
  } else if (message.type === 'browser_debug_get_network') {
    const requests = fitting([...one.record.requests.values()].slice(-message.filters?.limit));
    line.say({ type: 'browser_debug_network_data', request_id: message.request_id, requests });
  } else if (message.type === 'browser_debug_get_console') {
    const entries = fitting(one.record.entries.slice(-message.filters?.limit));
    line.say({ type: 'browser_debug_console_data', request_id: message.request_id, entries });
  }
}

/** @param {Live} one @param {{ticket: string, response_body_max_size: number}} told */
function accepted(one, { ticket, response_body_max_size }) {
  const isFirst = !one.ticket;
  const bodyMax = Math.min(response_body_max_size, settings.response_body_max_size, MOST_BODY);
  Object.assign(one, { ticket, accepted: true, bodyMax });
  remember();
  if (isFirst) one.record.tellAll();
}

/** Nobody looks any more, after a while; the bar must not say so for long. The pages are offered again when the hub is. */
function onLost() {
  for (const one of offers.values()) one.told = one.accepted = false;
  leaving ??= setTimeout(() => {
    for (const tabId of [...listeners.keys()]) void release(tabId);
  }, AWAY_MS);
}

function remember() {
  const all = [...offers].map(([tabId, { token, ticket, url, title, documentId }]) => {
    return [tabId, { token, ticket, url, title, documentId, alone: held.isOursAlone(tabId) }];
  });
  keepForNow({ debugged: Object.fromEntries(all) });
}

// Addresses

/** @param {string} url whether it is a page of the hub's proxy */
function isProxys(url) {
  if (!current.debugProxy) return false;
  const [page, proxy] = [new URL(url), new URL(current.debugProxy)];
  const isHost = page.hostname === proxy.hostname || page.hostname.endsWith(`.${proxy.hostname}`);
  return isHost && page.protocol === proxy.protocol && page.port === proxy.port;
}

/** Without a port: what Chrome lets extensions ask for has none. @param {string} proxy */
function permissionsFor(proxy) {
  const { protocol, hostname } = new URL(proxy);
  return [`${protocol}//${hostname}/*`, `${protocol}//*.${hostname}/*`];
}

/** @param {{name: string, value?: string}[]} [headers] @returns {Record<string, string>} */
function pairsOf(headers = []) {
  return Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value ?? '']));
}

/** @param {string} url */
function plain(url) {
  return url.split('#', 1)[0];
}
