// Pages of the debug proxy are offered to the hub, and what happens in them is told: how that begins, and how it ends.

import { current, kept } from './memory.js';
import { diaryOf } from './debug-arrival.js';
import * as held from './debug-hold.js';
import * as line from './debug-line.js';
import { listenAgain, release } from './debug-listen.js';
import { close, lastRefusal, letAllGo } from './debug-offers.js';
import { coming, isAllowed, lookAtPermission, offers, permissionsFor, remember } from './debug-pages.js';
import { bodyMax, onSettings, recallSettings } from './debug-settings.js';
import { whyNot } from './debug-why.js';

onSettings(() => {
  void letAllGo();
  line.renew();
});

/** What an earlier life of the worker had offered. */
export async function recall() {
  await recallSettings();
  await lookAtPermission();
  for (const [id, offer] of Object.entries(current.debugged)) {
    const tabId = Number(id);
    const page = await chrome.webNavigation.getFrame({ tabId, frameId: 0 }).catch(() => null);
    if (page?.documentId !== offer.documentId) continue;
    const fresh = { diary: diaryOf(tabId), loaderId: '', isLate: false, isLoaded: false, looks: 0, told: null, accepted: false };
    offers.set(tabId, { ...offer, ...fresh, bodyMax: bodyMax() });
    listenAgain(tabId, offer.alone);
  }
  remember();
}

/** For the page of settings. */
export async function status() {
  const proxy = current.debugProxy;
  const origins = proxy ? permissionsFor(proxy) : [];
  const allowed = !origins.length || isAllowed();
  const offered = [...offers.values()].map(({ url, title }) => ({ url, title }));
  const why = line.isReady() ? null : await whyNot();
  const connected = line.isReady(); // by now
  const told = { connected, why: connected ? null : why, stopped: !!kept.stopped, proxy, origins, allowed, offered };
  return { ...told, refused: lastRefusal() };
}

/** @param {number} tabId */
export function closed(tabId) {
  coming.delete(tabId);
  close(tabId);
  void release(tabId);
}

/** Chrome took the debugger away. @param {chrome.debugger.Debuggee} source @param {string} reason */
export function lostTab({ tabId }, reason) {
  if (tabId === undefined || !held.isOursAlone(tabId)) return;
  held.taken(tabId);
  if (reason !== 'target_closed') closed(tabId);
}
