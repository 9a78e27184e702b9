// Pages of the debug proxy, by tab: those on their way, those that are offered, those that were left and may come back.

import { current, keepForNow } from './memory.js';
import { isOursAlone } from './debug-hold.js';

/** @typedef {import('./types').Offer} Offer */
/** @typedef {import('./debug-diary.js').Diary} Diary */
/** @typedef {import('./debug-early.js').Seen} Seen */
/**
 * @typedef {object} Coming
 * @property {string} requestId empty until it is asked for
 * @property {string} method
 * @property {string} url
 * @property {string} first where its navigation began; a redirect may have led it on
 * @property {number} at
 * @property {Diary} diary
 * @property {boolean} turned its document has begun
 * @property {string} loaderId what Chrome's debugger calls its document, once it is known
 * @property {string} token
 * @property {Seen} [seen]
 * @property {Place} [page]
 */
/**
 * @typedef {object} More
 * @property {Diary} diary
 * @property {string} loaderId
 * @property {boolean} isLate the debugger came after the document
 * @property {boolean} isLoaded and what the document had asked for until then was told
 * @property {number} looks how often its account may still be read for what ended after that
 * @property {{url: string, title: string} | null} told what the hub has heard of it, on this line
 * @property {boolean} accepted
 * @property {number} bodyMax
 */
/** @typedef {Offer & More} Live */
/** @typedef {{url: string, committed: string, documentId: string}} Place where it is, and where it began */

/** @type {Map<number, Coming>} */
export const coming = new Map();
/** @type {Map<number, Live>} */
export const offers = new Map();
/** @type {Map<string, Live>} by document */
export const left = new Map();

/** Of all this, the offers outlive the worker. */
export function remember() {
  const all = [...offers].map(([tabId, { token, ticket, url, committed, title, documentId }]) => {
    return [tabId, { token, ticket, url, committed, title, documentId, alone: isOursAlone(tabId) }];
  });
  keepForNow({ debugged: Object.fromEntries(all) });
}

/** @param {string} url whether it is a page of the hub's proxy */
export function isProxys(url) {
  if (!current.debugProxy) return false;
  const [page, proxy] = [new URL(url), new URL(current.debugProxy)];
  const isHost = page.hostname === proxy.hostname || page.hostname.endsWith(`.${proxy.hostname}`);
  return isHost && page.protocol === proxy.protocol && page.port === proxy.port;
}

/** An origin of http or https, or nothing. @param {unknown} told by a hub, which may be another's */
export function proxyOf(told) {
  if (typeof told !== 'string' || !URL.canParse(told)) return '';
  const { protocol, origin } = new URL(told);
  return protocol === 'http:' || protocol === 'https:' ? origin : '';
}

let allowed = false;

/** Whether Chrome lets us see pages of the hub's proxy: where it does not, no hub can have us look. */
export function isAllowed() {
  return allowed;
}

/** After a new proxy, and when the person has changed what we may see. */
export async function lookAtPermission() {
  const origins = current.debugProxy ? permissionsFor(current.debugProxy) : [];
  allowed = origins.length > 0 && (await chrome.permissions.contains({ origins }).catch(() => false));
}

/** Without a port: what Chrome lets extensions ask for has none. @param {string} proxy */
export function permissionsFor(proxy) {
  const { protocol, hostname } = new URL(proxy);
  return [`${protocol}//${hostname}/*`, `${protocol}//*.${hostname}/*`];
}

/** @param {string} url */
export function plain(url) {
  return url.split('#', 1)[0];
}
