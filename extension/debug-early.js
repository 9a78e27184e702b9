// The first page of a tab may begin before the debugger is there. What was answered until then is known from Chrome's own
// account of a page's resources, which has what is done: addresses, times and status, without headers and bodies.

import { address } from './debug-diary.js';
import { ask, heldSince } from './debug-hold.js';

/** @typedef {import('./debug-diary.js').Diary} Diary */
/** @typedef {{status: number, timestamp: number, headers: Record<string, string>}} Seen */
/** @typedef {{url: string, at: number, duration: number, status: number, method: string, isSentOn: boolean}} Entry */
/** @typedef {{to: string, at: number, status: number, method: string}} Redirect */

export const DOCUMENT = 'document';
const MOST = 500;
const MAX_ADDRESS = 4_000; // of a redirect: all of them are kept for as long as the page is
const END_OF_TIME = 1e15;
const ACCOUNT = `JSON.stringify([performance.timeOrigin, performance.getEntriesByType('resource').slice(0, ${MOST}).map(
  (one) => [one.name, one.startTime, one.duration, one.responseStatus, one.initiatorType, one.redirectEnd > 0])])`;
// What asks for these is never anything but GET; of the others the account does not tell by which method they were sent.
const ASKED_FOR = new Set(['audio', 'body', 'css', 'embed', 'icon', 'image', 'img', 'input', 'link', 'object', 'script', 'track', 'video']);
let told = 0;

/** The document itself, as it was told of before.
 * @param {Diary} diary @param {{url: string, method: string, at: number, seen: Seen}} page */
export function tellDocument(diary, { url, method, at, seen }) {
  const told = { timestamp: at, method, url: address(url) };
  diary.begin(DOCUMENT, told, { request_id: DOCUMENT, ...told });
  const { status, headers, timestamp } = seen;
  const mime_type = (headers['content-type'] ?? '').split(';', 1)[0].slice(0, 200);
  diary.respond(DOCUMENT, { timestamp, status, status_text: '', headers, mime_type });
}

/** Of the time before we listen: the account has a request that was sent on at its first address, and does not tell where
 * it came to. @param {Diary} diary
 * @param {{url: string, redirectUrl: string, timeStamp: number, statusCode: number, method: string}} details */
export function noteRedirect({ redirects }, { url, redirectUrl, timeStamp, statusCode, method }) {
  if (redirects.size >= MOST || redirects.has(url) || Math.max(url.length, redirectUrl.length) > MAX_ADDRESS) return;
  redirects.set(url, { to: redirectUrl, at: timeStamp, status: statusCode, method: method.slice(0, 200) });
}

/** @param {Diary} diary @param {string} url */
export function wasSentTo({ redirects }, url) {
  return [...redirects.values()].some(({ to }) => to === address(url));
}

/** Once the page is there. @param {number} tabId @param {Diary} diary @param {string} loaderId @param {number} bodyMax
 * @param {() => boolean} isThere whether it still is */
export async function tellEarly(tabId, diary, loaderId, bodyMax, isThere) {
  const document = diary.requests.get(DOCUMENT);
  if (document) {
    const duration_ms = Math.max(Date.now() - document.timestamp, 0);
    diary.finish(DOCUMENT, { timestamp: Date.now(), duration_ms, ...(await bodyOf(tabId, loaderId, bodyMax)) });
  }
  await tellRest(tabId, diary, isThere);
}

/** What the account has of the time before we listened, and nobody has told: each once, and of no page so much that others
 * would suffer. @param {number} tabId @param {Diary} diary @param {() => boolean} isThere */
export async function tellRest(tabId, diary, isThere) {
  const listed = await account(tabId);
  if (!isThere()) return; // the account is another page's
  const since = heldSince(tabId);
  const known = new Set([...diary.requests.values()].map((one) => one.url));
  for (const one of listed) {
    if (one.at > since) continue;
    for (const step of steps(diary, one)) {
      if (diary.early.size >= MOST) return;
      if (known.has(step.url) || diary.early.has(step.url)) continue;
      diary.early.add(step.url);
      add(diary, step);
    }
  }
}

/** An entry as the debugger would have told it: each address that it was sent on from, in its own time, and where it came
 * to.
 * @param {Diary} diary @param {Entry} one @returns {Entry[]} */
function steps({ redirects }, one) {
  const end = one.at + one.duration;
  const taken = new Map();
  let { url, at } = one;
  for (let next = redirects.get(url); next && next.at >= at && next.at <= end; next = redirects.get(url)) {
    if (taken.has(url)) break;
    const { status, method } = next;
    taken.set(url, { ...one, url, at, duration: Math.max(next.at - at, 0), status, method });
    ({ to: url, at } = next);
  }
  if (!taken.size) return [one.isSentOn ? { ...one, status: 0 } : one]; // the status is of an address that is not known
  return [...taken.values(), { ...one, url, at, duration: Math.max(end - at, 0) }];
}

/** @param {number} tabId @param {string} requestId @param {number} bodyMax */
async function bodyOf(tabId, requestId, bodyMax) {
  const told = requestId && (await ask({ tabId }, 'Network.getResponseBody', { requestId }).catch(() => undefined));
  if (!told || told.base64Encoded) return {};
  return told.body.length <= bodyMax ? { body: told.body } : { body: told.body.slice(0, bodyMax), body_truncated: true };
}

/** A page may say here what it likes, as in its console. @param {number} tabId
 * @returns {Promise<Entry[]>} */
async function account(tabId) {
  const told = await ask({ tabId }, 'Runtime.evaluate', { expression: ACCOUNT, returnByValue: true }).catch(() => undefined);
  try {
    const [origin, list] = JSON.parse(told.result.value);
    const read = list.slice(0, MOST).map((/** @type {unknown[]} */ [url, start, duration, status, by, isSentOn]) => {
      const method = ASKED_FOR.has(String(by)) ? 'GET' : '';
      const at = Number(origin) + Number(start);
      const given = { duration: Number(duration), status: Number(status), isSentOn: Boolean(isSentOn) };
      return { url: address(String(url)), at, method, ...given };
    });
    return read.filter(isCredible);
  } catch {
    return [];
  }
}

/** @param {{url: string, at: number, duration: number}} one */
function isCredible({ url, at, duration }) {
  return at > 0 && duration >= 0 && at + duration < END_OF_TIME && !url.startsWith('data:');
}

/** @param {Diary} diary @param {Entry} one */
function add(diary, { url, at, duration, status, method }) {
  const request_id = `early-${(told += 1)}`;
  const begun = { timestamp: at, method, url };
  diary.begin(request_id, begun, { request_id, ...begun });
  const timestamp = at + duration;
  if (status > 0) {
    diary.respond(request_id, { timestamp, status, status_text: '', headers: {}, mime_type: '' });
  }
  diary.finish(request_id, { timestamp, duration_ms: duration });
}
