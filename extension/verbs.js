// What the daemon may ask for. Each is checked against what is shared here, whatever the daemon believes, and none runs
// after its deadline.

import { say } from './connection.js';
import * as downloads from './downloads.js';
import { isForbidden } from './forbidden.js';
import { kept } from './memory.js';
import { takePass } from './pass.js';
import { Problem, refuseLate, words } from './problem.js';
import * as relay from './relay.js';
import { replaceRules } from './rules.js';
import * as sharing from './sharing.js';
import { noteWaiting } from './state.js';
import { stopEverything } from './stop.js';

/** @typedef {import('./types').Command} Command */
/** @typedef {(payload: any, deadline: number) => Promise<object> | object} Verb */

const SOON_MS = 50;
const HARMLESS = ['ping', 'stop', 'reload', 'panel', 'waiting'];

/** @type {Record<string, Verb>} */
const VERBS = {
  cdp: (payload) => relay.command(payload),
  attach,
  detach: async ({ tabId }) => {
    await relay.detach(tabId);
    return {};
  },
  tabs: () => ({ tabs: sharing.sharedTabs() }),
  targets: async () => ({ targets: (await relay.targets()).filter(({ tabId }) => sharing.isShared(tabId)) }),
  open,
  close: async ({ tabId }) => {
    await chrome.tabs.remove(mine(tabId));
    return {};
  },
  activate,
  window: showWindow,
  download_cancel: downloads.cancel,
  rules: replaceRules,
  stop: async () => {
    await stopEverything('daemon');
    return {};
  },
  reload: () => {
    setTimeout(() => chrome.runtime.reload(), SOON_MS); // after the answer
    return {};
  },
  ping: () => ({}),
  panel: takePass,
  waiting: ({ count }) => {
    noteWaiting(Number(count));
    return {};
  },
};

/** Run a command and answer it. @param {Command} command */
export async function run(command) {
  const { id, type, deadline, payload } = command;
  try {
    refuseLate(deadline);
    const verb = Object.hasOwn(VERBS, type) ? VERBS[type] : undefined;
    if (!verb) throw new Problem('unsupported', `this extension does not know ${type}`);
    if (!HARMLESS.includes(type)) refuseStopped();
    const data = await verb(payload, deadline);
    say({ type: 'response', id, data });
  } catch (reason) {
    say({ type: 'response', id, error: told(reason) });
  }
}

/** Whatever the daemon knows of it. */
function refuseStopped() {
  if (kept.stopped) throw new Problem('stopped', 'the person stopped all agents in this browser');
}

/** @param {unknown} reason */
function told(reason) {
  if (reason instanceof Problem) {
    return { code: reason.code, message: reason.message, ...(reason.cdp ? { cdp: reason.cdp } : {}) };
  }
  const said = words(reason);
  return { code: /no tab with id/i.test(said) ? 'tab_closed' : 'protocol', message: said };
}

/** @param {number} tabId */
function mine(tabId) {
  if (!sharing.isShared(tabId)) throw new Problem('not_shared', 'this tab is not shared');
  return tabId;
}

/** @type {Verb} */
async function attach({ tabId }, deadline) {
  const targetId = await relay.attach(mine(tabId), deadline);
  const tab = sharing.sharedTab(tabId);
  return { targetId, url: tab?.url ?? '', title: tab?.title ?? '' };
}

/** @type {Verb} */
async function open({ url = 'about:blank', background = true }, deadline) {
  if (isForbidden(url)) throw new Problem('refused', 'agents may not open this page');
  const where = await usualWindow();
  refuseLate(deadline);
  refuseStopped();
  const tab = where === undefined ? await inNewWindow(url) : await inWindow(url, where, !background);
  if (tab?.id === undefined) throw new Problem('protocol', 'Chrome made no tab');
  if (kept.stopped) await chrome.tabs.remove(tab.id);
  refuseStopped();
  await sharing.shareByHand(tab.id, { ours: true });
  return sharing.sharedTab(tab.id) ?? {};
}

/** @param {string} url @param {number} windowId @param {boolean} active */
function inWindow(url, windowId, active) {
  return chrome.tabs.create({ url, windowId, active });
}

/** @param {string} url */
async function inNewWindow(url) {
  const made = await chrome.windows.create({ url, focused: false });
  return made?.tabs?.[0];
}

/** The person's window of ordinary tabs that was in front last; none when only incognito or none is open. */
async function usualWindow() {
  const windows = await chrome.windows.getAll({ windowTypes: ['normal'] });
  const fit = windows.filter((one) => !one.incognito);
  return (fit.find((one) => one.focused) ?? fit.at(-1))?.id;
}

/** @type {Verb} */
async function activate({ tabId }) {
  const tab = await chrome.tabs.update(mine(tabId), { active: true });
  if (tab) await chrome.windows.update(tab.windowId, { focused: true });
  return {};
}

/** @type {Verb} */
async function showWindow({ tabId, windowId, bounds, state }) {
  const known = sharing.sharedTabs().find((tab) => tab.tabId === tabId || tab.windowId === windowId);
  if (!known) throw new Problem('not_shared', 'no shared tab is in this window');
  const change = { ...(bounds ?? {}), ...(state ? { state } : {}) };
  if (Object.keys(change).length) await chrome.windows.update(known.windowId, change);
  const { id, left, top, width, height, state: now, focused } = await chrome.windows.get(known.windowId);
  return { windowId: id, left, top, width, height, state: now, focused };
}
