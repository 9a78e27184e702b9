// Downloads that began in shared tabs. Chrome's list does not say which tab one came from, so it is matched with what
// the debugger said; the person's other downloads are nobody's business.

import { say } from './connection.js';
import { current, keepForNow } from './memory.js';

const MATCH_MS = 10_000;
const MOST = 200;
const MAX_ADDRESS = 2_000; // a page may give a file of megabytes as one

/** @typedef {{url: string, tabId: number, at: number}} Beginning */

/** @type {Beginning[]} begun in a shared tab, not yet seen in Chrome's list */
let begun = [];

/** @param {number} tabId @param {string} url */
export function began(tabId, url) {
  begun = [...begun, { url: cut(url), tabId, at: Date.now() }].filter(isRecent).slice(-MOST);
}

/** @param {chrome.downloads.DownloadItem} item */
export function created(item) {
  const found = begun.find((one) => isRecent(one) && [item.url, item.finalUrl].map(cut).includes(one.url));
  if (!found) return;
  begun = begun.filter((one) => one !== found);
  keepForNow({ downloads: [...current.downloads, { id: item.id, tabId: found.tabId }].slice(-MOST) });
  tell(item);
}

/** @param {chrome.downloads.DownloadDelta} delta */
export async function changed(delta) {
  if (tabOf(delta.id) === undefined) return;
  const [item] = await chrome.downloads.search({ id: delta.id });
  if (item) tell(item);
}

/** @param {{downloadId: number}} payload */
export async function cancel({ downloadId }) {
  const isOurs = tabOf(downloadId) !== undefined;
  if (isOurs) await chrome.downloads.cancel(downloadId);
  return { canceled: isOurs };
}

/** @param {number} id of a download @returns {number | undefined} */
function tabOf(id) {
  return current.downloads.find((one) => one.id === id)?.tabId;
}

/** @param {string | undefined} address */
function cut(address) {
  return (address ?? '').slice(0, MAX_ADDRESS);
}

/** @param {chrome.downloads.DownloadItem} item */
function tell(item) {
  say({ type: 'download', tabId: tabOf(item.id), payload: infoOf(item) });
}

/** @param {chrome.downloads.DownloadItem} item */
function infoOf(item) {
  return {
    downloadId: item.id,
    tabId: tabOf(item.id),
    url: cut(item.finalUrl || item.url),
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
