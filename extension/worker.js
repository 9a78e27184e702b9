// The service worker: it registers every listener at once, so that Chrome wakes it for each, and puts the modules together.

import * as connection from './connection.js';
import * as debug from './debug.js';
import * as arrival from './debug-arrival.js';
import * as hold from './debug-hold.js';
import * as hub from './debug-line.js';
import * as listening from './debug-listen.js';
import { moved, retitled } from './debug-offers.js';
import { lookAtPermission } from './debug-pages.js';
import * as downloads from './downloads.js';
import { keep, kept, recall } from './memory.js';
import { answer } from './page.js';
import * as pairing from './pairing.js';
import * as relay from './relay.js';
import * as sharing from './sharing.js';
import * as state from './state.js';
import { keepRulesOf, releaseRules } from './rules.js';
import { stopEverything } from './stop.js';
import * as verbs from './verbs.js';
import { keepWatch } from './watch.js';

const AWAY_MS = 12_000; // longer than the daemon keeps a session for our return
const REFUSED_MS = 60_000;
const BOOT = crypto.randomUUID();
const ALARM = 'alive';

/** @type {ReturnType<typeof setTimeout> | undefined} */
let leaving;
/** @type {Promise<void>} */
let going = Promise.resolve();

sharing.wire({
  targetOf: relay.targetOf,
  onUnshared,
  onChange: state.show,
});
relay.onAttachments(state.show);
relay.shareWith({ has: hold.isOursAlone, stepAside: listening.stepAside, stepBack: listening.stepBack });
hold.wire({ isAgents: (tabId) => relay.targetOf(tabId) !== undefined });
connection.listen({ settled: () => going, hello, onWelcome, onCommand: verbs.run, onLost, onRefused });

const ready = recall()
  .then(debug.recall)
  .then(sharing.rebuild)
  .then(relay.rebuild)
  .then(() => {
    awaitReturn();
    connection.connect();
    hub.connect();
    state.show();
  });
void keepWatch();

/** From here on what we hold is the daemon's again. */
function hello() {
  clearTimeout(leaving);
  leaving = undefined;
  return {
    version: chrome.runtime.getManifest().version,
    install: kept.install,
    name: kept.wish,
    agent: navigator.userAgent.slice(0, 200),
    boot: BOOT,
    share: kept.share,
    stopped: kept.stopped !== '',
    tabs: sharing.sharedTabs(),
    attached: relay.attachedTabs(),
  };
}

/** @param {import('./types').Welcome} told @param {number} port */
async function onWelcome({ name, version, secret }, port) {
  const before = { name: kept.name, pairing: kept.pairing };
  const keeping = keep({ name, ...(secret ? { pairing: { secret, port } } : {}) });
  state.note({ problem: '', daemonVersion: version });
  await keeping.catch((reason) => {
    Object.assign(kept, before);
    throw reason;
  });
  hub.hurry();
}

/** @param {number} tabId @param {string} why */
function onUnshared(tabId, why) {
  void relay.drop(tabId);
  if (why !== 'forbidden page') void releaseRules(tabId); // from there it may come back
}

/** Chrome's bar must not say for long that somebody debugs when nobody does. */
function awaitReturn() {
  leaving ??= setTimeout(() => {
    going = letGo().catch(() => {});
  }, AWAY_MS);
}

/** The tabs are the person's again. Those that agents opened are closed, as at the end of a session; one that does not
 * close stays under its rules, for its page runs on. */
async function letGo() {
  const agents = sharing.agentsTabs();
  await relay.detachAll();
  await keepRulesOf(agents);
  sharing.close(agents);
}

/** @param {import('./types').Why} why */
function onLost(why) {
  awaitReturn();
  state.show();
  pairing.explain(why);
}

/** @param {string} message */
function onRefused(message) {
  connection.pause(REFUSED_MS);
  state.note({ problem: message });
}

chrome.debugger.onEvent.addListener((source, method, params) => {
  if (method === 'Page.downloadWillBegin' && source.tabId !== undefined) {
    downloads.began(source.tabId, /** @type {any} */ (params).url);
  }
  relay.heard(source, method, params);
  listening.heard(source, method, params);
});

chrome.debugger.onDetach.addListener(async (source, reason) => {
  await ready;
  relay.lostTab(source, reason);
  debug.lostTab(source, reason);
  // Cancel on Chrome's bar: the person wants an end, of everything.
  if (reason === 'canceled_by_user') await stopEverything('bar');
});

chrome.tabs.onCreated.addListener(async (tab) => {
  await ready;
  if (tab.id !== undefined) sharing.born(tab.id);
});
chrome.webNavigation.onCreatedNavigationTarget.addListener(async ({ tabId, sourceTabId }) => {
  await ready;
  await sharing.adopt(tabId, sourceTabId, relay.attach);
});
chrome.tabs.onUpdated.addListener(async (tabId, change, tab) => {
  await ready;
  if (change.title !== undefined) retitled(tabId, change.title);
  if (change.groupId !== undefined) sharing.regrouped(tab);
  sharing.consider(tab);
});
chrome.tabs.onRemoved.addListener(async (tabId) => {
  await ready;
  sharing.remove(tabId, 'closed');
  debug.closed(tabId);
});
chrome.tabs.onActivated.addListener(async ({ windowId }) => {
  await ready;
  for (const tab of sharing.sharedTabs()) if (tab.windowId === windowId) void sharing.look(tab.tabId);
});
chrome.tabs.onAttached.addListener(async (tabId) => {
  await ready;
  await sharing.look(tabId);
});
chrome.tabGroups.onUpdated.addListener(async ({ id }) => {
  await ready;
  await sharing.groupChanged(id);
});
chrome.downloads.onCreated.addListener(async (item) => {
  await ready;
  downloads.created(item);
});
chrome.downloads.onChanged.addListener(async (delta) => {
  await ready;
  await downloads.changed(delta);
});
const PAGES = { urls: ['<all_urls>'], types: /** @type {['main_frame']} */ (['main_frame']) }; // of those that we may see
/** @type {chrome.webRequest.RequestFilter} */
const PARTS = {
  urls: PAGES.urls,
  types: ['font', 'image', 'media', 'object', 'other', 'ping', 'script', 'stylesheet', 'sub_frame', 'xmlhttprequest'],
};
chrome.webRequest.onBeforeRequest.addListener((details) => void ready.then(() => arrival.requested(details)), PAGES);
chrome.webRequest.onResponseStarted.addListener(
  (details) => void ready.then(() => arrival.answered(details)), PAGES, ['responseHeaders'],
);
chrome.webRequest.onErrorOccurred.addListener((details) => void ready.then(() => arrival.failed(details)), PAGES);
chrome.webRequest.onBeforeRedirect.addListener((details) => void ready.then(() => arrival.sentOn(details)), PARTS);
chrome.webNavigation.onBeforeNavigate.addListener((details) => void ready.then(() => arrival.starting(details)));
chrome.webNavigation.onErrorOccurred.addListener((details) => void ready.then(() => arrival.stayed(details)));
chrome.webNavigation.onCommitted.addListener((details) => void ready.then(() => arrival.committed(details)));
chrome.webNavigation.onCompleted.addListener((details) => void ready.then(() => arrival.completed(details)));
chrome.webNavigation.onHistoryStateUpdated.addListener((details) => void ready.then(() => moved(details)));
chrome.webNavigation.onReferenceFragmentUpdated.addListener((details) => void ready.then(() => moved(details)));

chrome.permissions.onAdded.addListener(() => void ready.then(lookAtPermission));
chrome.permissions.onRemoved.addListener(() => void ready.then(lookAtPermission));

chrome.runtime.onStartup.addListener(() => {});
chrome.runtime.onInstalled.addListener(() => {});
chrome.runtime.onConnect.addListener(async (port) => {
  if (port.name !== 'popup') return;
  await ready;
  state.watch(port);
});
chrome.runtime.onMessage.addListener((message, sender, reply) => {
  if (sender.id !== chrome.runtime.id || sender.origin !== location.origin) return false;
  void ready.then(() => answer(message)).then(reply, (reason) => reply({ error: String(reason) }));
  return true;
});

void chrome.alarms.create(ALARM, { periodInMinutes: 0.5 });
chrome.alarms.onAlarm.addListener(async () => {
  await ready;
  connection.hurry();
  hub.hurry();
  state.show();
});
