// Downloads that began in shared tabs. Chrome's list does not say which tab one came from, so it is matched with what
// the debugger said; the person's other downloads are nobody's business.

import { say } from './connection.js';

const MATCH_MS = 10_000;
const MOST = 200;

/** @typedef {{url: string, tabId: number, at: number}} Beginning */

/** @type {Beginning[]} begun in a shared tab, not yet seen in Chrome's list */
let begun = [];
/** @type {Map<number, number>} download → tab */
const ours = new Map();

/** @param {number} tabId @param {string} url */
export function began(tabId, url) {
  begun = [...begun, { url, tabId, at: Date.now() }].filter(isRecent);
}

/** @param {chrome.downloads.DownloadItem} item */
export function created(item) {
  const found = begun.find((one) => isRecent(one) && (one.url === item.url || one.url === item.finalUrl));
  if (!found) return;
  begun = begun.filter((one) => one !== found);
  ours.set(item.id, found.tabId);
  if (ours.size > MOST) ours.delete(ours.keys().next().value ?? -1);
  tell(item);
}

/** @param {chrome.downloads.DownloadDelta} delta */
export async function changed(delta) {
  if (!ours.has(delta.id)) return;
  const [item] = await chrome.downloads.search({ id: delta.id });
  if (item) tell(item);
}

/** @param {{since?: number}} payload epoch ms */
export async function list({ since = 0 }) {
  const items = await chrome.downloads.search({ startedAfter: new Date(since).toISOString(), limit: 1000 });
  return { downloads: items.filter((item) => ours.has(item.id)).map(infoOf) };
}

/** @param {{downloadId: number}} payload */
export async function cancel({ downloadId }) {
  if (ours.has(downloadId)) await chrome.downloads.cancel(downloadId);
  return { canceled: ours.has(downloadId) };
}

/** @param {chrome.downloads.DownloadItem} item */
function tell(item) {
  say({ type: 'download', tabId: ours.get(item.id), payload: infoOf(item) });
}

/** @param {chrome.downloads.DownloadItem} item */
function infoOf(item) {
  return {
    downloadId: item.id,
    tabId: ours.get(item.id),
    url: item.finalUrl || item.url,
    path: item.filename,
    state: item.state,
    error: item.error ?? '',
    mime: item.mime,
    bytes: item.bytesReceived,
    totalBytes: item.totalBytes,
    startedAt: Date.parse(item.startTime),
  };
}

/** @param {Beginning} one */
function isRecent(one) {
  return Date.now() - one.at < MATCH_MS;
}
