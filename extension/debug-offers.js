// Offered pages, and what the hub and we say about them. An offer ends with its document.

import { keepForNow, kept } from './memory.js';
import { address, fitting } from './debug-diary.js';
import * as line from './debug-line.js';
import { listenTo, release, releaseAll } from './debug-listen.js';
import { coming, left, lookAtPermission, offers, proxyOf, remember } from './debug-pages.js';
import { bodyMax } from './debug-settings.js';

/** @typedef {import('./debug-pages.js').Live} Live */
/** @typedef {import('./debug-diary.js').Diary} Diary */
/** @typedef {import('./debug-pages.js').Place} Place */
/** @typedef {Place & Pick<Live, 'token' | 'ticket' | 'title' | 'diary' | 'loaderId' | 'isLate' | 'isLoaded' | 'looks'>} Page */

const QUIET_MS = 250;
const AWAY_MS = 60_000;
const MAX_TITLE = 1_500;
const MAX_FAVICON = 60_000;

/** @type {Set<number>} tabs of which there is news in a moment */
const quiet = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let leaving;
let isAway = false;
/** @type {{url: string, why: string, next: string} | null} */
let refusal = null;

line.listen({ isBusy: () => offers.size > 0, onReady, onMessage, onLost });

/** Whether there is a hub to hear of pages, or was one a moment ago. */
export function isHeard() {
  return !isAway;
}

/** The last page that the hub did not want, and why. */
export function lastRefusal() {
  return refusal;
}

/** @param {number} tabId @param {Page} page */
export function offer(tabId, page) {
  offers.set(tabId, { ...page, alone: true, told: null, accepted: false, bodyMax: bodyMax() });
  remember();
  line.keepAlive();
  void announce(tabId);
}

/** @param {number} tabId */
async function announce(tabId) {
  const one = offers.get(tabId);
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (!one || offers.get(tabId) !== one || one.told || !line.isReady()) return; // a hub that comes hears of all, once
  one.title ||= (tab?.title ?? '').slice(0, MAX_TITLE); // it may have been told a new one meanwhile
  const favicon = tab?.favIconUrl && tab.favIconUrl.length <= MAX_FAVICON ? { favicon: tab.favIconUrl } : {};
  const { token, title, ticket } = one;
  const url = ticket ? one.url : one.committed; // a token is for the page where it was given out
  one.told = { url, title };
  line.say({ type: 'browser_debug_tab_available', token, browser_id: kept.install, url, title, ...favicon, ticket });
}

/** It moved on by script, as early as before its offer. @param {{tabId: number, frameId: number, url: string}} details */
export function moved({ tabId, frameId, url }) {
  const one = frameId === 0 ? (offers.get(tabId) ?? coming.get(tabId)?.page) : undefined;
  if (!one) return;
  one.url = address(url);
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

/** @param {number} tabId */
export async function look(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (tab?.title) retitled(tabId, tab.title);
}

/** A page that changes its title a thousand times a second is told of four times. @param {number} tabId */
function tellSoon(tabId) {
  if (quiet.has(tabId)) return;
  quiet.add(tabId);
  setTimeout(() => {
    quiet.delete(tabId);
    const one = offers.get(tabId);
    if (one?.accepted) update(one);
  }, QUIET_MS);
}

/** If the hub does not know it yet. @param {Live} one */
function update(one) {
  const { token, url, title, told } = one;
  if (told?.url === url && told.title === title) return;
  one.told = { url, title };
  line.say({ type: 'browser_debug_tab_updated', token, url, title });
}

/** @param {Diary} diary @param {number} tabId @param {object} message */
export function tell(diary, tabId, message) {
  const one = offers.get(tabId);
  if (one?.accepted && one.diary === diary) line.mention({ ...message, token: one.token });
}

/** @param {number} tabId */
export function close(tabId) {
  const one = offers.get(tabId);
  if (!one) return;
  offers.delete(tabId);
  remember();
  line.say({ type: 'browser_debug_tab_closed', token: one.token });
}

/** "Stop everything" is meant for those who look, too. */
export async function letAllGo() {
  for (const tabId of [...offers.keys()]) close(tabId);
  coming.clear();
  left.clear();
  await releaseAll();
}

/** @param {{proxy: string}} hub */
function onReady({ proxy }) {
  clearTimeout(leaving);
  leaving = undefined;
  isAway = false;
  keepForNow({ debugProxy: proxyOf(proxy) });
  void lookAtPermission();
  for (const tabId of offers.keys()) {
    void listenTo(tabId);
    void announce(tabId);
  }
}

/** @param {any} message */
function onMessage({ type, token, request_id, filters, ...told }) {
  const found = [...offers].find(([, one]) => one.token === token);
  if (!found) return;
  const [tabId, one] = found;
  const newest = -(filters?.limit ?? 0);
  if (type === 'browser_debug_tab_accepted') accepted(one, told);
  else if (type === 'browser_debug_tab_refused') refused(tabId, one, told.error);
  else if (type === 'browser_debug_get_network') {
    const requests = fitting([...one.diary.requests.values()].slice(newest));
    line.say({ type: 'browser_debug_network_data', request_id, requests });
  } else if (type === 'browser_debug_get_console') {
    const entries = fitting(one.diary.entries.slice(newest));
    line.say({ type: 'browser_debug_console_data', request_id, entries });
  }
}

/** @param {Live} one @param {any} told */
function accepted(one, { ticket, response_body_max_size }) {
  const isFirst = !one.ticket;
  if (refusal?.url === one.url) refusal = null;
  Object.assign(one, { ticket, accepted: true, bodyMax: Math.min(response_body_max_size, bodyMax()) });
  remember();
  update(one); // it may have moved meanwhile
  if (isFirst) one.diary.tellAll();
}

/** @param {number} tabId @param {Live} one @param {{message?: string, suggestions?: string[]}} [error] */
function refused(tabId, { url }, error) {
  refusal = { url, why: error?.message ?? '', next: (error?.suggestions ?? []).join('; ') };
  offers.delete(tabId);
  remember();
  if (!coming.has(tabId)) void release(tabId);
}

/** Nobody looks any more, after a while; the bar must not say so for long. The pages are offered again when the hub is. */
function onLost() {
  for (const one of offers.values()) Object.assign(one, { told: null, accepted: false });
  leaving ??= setTimeout(() => {
    isAway = true;
    void releaseAll();
  }, AWAY_MS);
}
