// Which tabs agents may see: one by one, the tab group called Pilothouse, or all. Kept true from Chrome's events, so that
// every command is checked against it without waiting.

import { say } from './connection.js';
import { isForbidden } from './forbidden.js';
import { current, keepForNow, kept } from './memory.js';

/** @typedef {import('./types').TabInfo} TabInfo */
/** @typedef {chrome.tabs.Tab & {id: number}} Tab */

export const GROUP = 'Pilothouse';
const QUIET_MS = 250;
const BIRTH_MS = 100;
const UNGROUP_MS = 100;
const MAX_ADDRESS = 2000;
const MAX_TITLE = 500;

/** @type {Map<number, TabInfo>} */
const shared = new Map();
/** @type {Set<number>} groups called Pilothouse */
const groups = new Set();
/** @type {Map<number, ReturnType<typeof setTimeout>>} tabs whose news were told a moment ago */
const quiet = new Map();
/** @type {Map<number, ReturnType<typeof setTimeout> | undefined>} tabs so new that nobody has said yet who opened them */
const births = new Map();
/** @type {Set<number>} groups that we are just giving their name */
const naming = new Set();
/** @type {(tabId: number) => string | undefined} */
let targetOf = () => undefined;
/** @type {(tabId: number, why: string) => void} */
let onUnshared = () => {};
/** @type {() => void} */
let onChange = () => {};

/** @param {{targetOf: typeof targetOf, onUnshared: typeof onUnshared, onChange: typeof onChange}} given */
export function wire(given) {
  ({ targetOf, onUnshared, onChange } = given);
}

/** @param {number} tabId */
export function isShared(tabId) {
  return shared.has(tabId);
}

export function sharedTabs() {
  return [...shared.values()].map(withTarget);
}

/** @param {number} tabId */
export function sharedTab(tabId) {
  const info = shared.get(tabId);
  return info && withTarget(info);
}

/** After a new start, or when the rule has changed: look at every tab there is. */
export async function rebuild() {
  const ours = await chrome.tabGroups.query({ title: GROUP });
  groups.clear();
  for (const group of ours) groups.add(group.id);
  const tabs = await chrome.tabs.query({});
  const there = new Set(tabs.map((tab) => tab.id));
  for (const tabId of [...shared.keys()]) if (!there.has(tabId)) remove(tabId, 'closed');
  keepForNow({
    hand: current.hand.filter((tabId) => there.has(tabId)),
    ours: current.ours.filter((tabId) => there.has(tabId)),
  });
  const openers = Object.entries(current.openers).filter(([tabId]) => there.has(Number(tabId)));
  keepForNow({ openers: Object.fromEntries(openers) });
  for (const tab of tabs) consider(tab);
}

/** @param {chrome.tabs.Tab} tab @returns {'' | 'forbidden page' | 'person'} why it is not shared */
function why(tab) {
  if (tab.id === undefined || kept.stopped) return 'person';
  if (isForbidden(tab.url) || isForbidden(tab.pendingUrl)) return 'forbidden page';
  const asked =
    current.hand.includes(tab.id) ||
    (kept.share === 'group' && groups.has(tab.groupId)) ||
    (kept.share === 'all' && !tab.incognito);
  return asked ? '' : 'person';
}

/** Share it, let it go, or tell what has changed. @param {chrome.tabs.Tab} tab */
export function consider(tab) {
  if (tab.id === undefined || births.has(tab.id)) return;
  const reason = why(tab);
  const before = shared.get(tab.id);
  if (reason) {
    if (before) remove(tab.id, reason === 'person' && before.groupId !== tab.groupId ? 'ungrouped' : reason);
    return;
  }
  const info = infoOf(/** @type {Tab} */ (tab));
  shared.set(tab.id, info);
  if (!before) {
    say({ type: 'shared', tabId: tab.id, payload: withTarget(info) });
    onChange();
  } else if (JSON.stringify(before) !== JSON.stringify(info)) tellSoon(tab.id);
}

/** A page that changes its title a thousand times a second is told of four times. @param {number} tabId */
function tellSoon(tabId) {
  if (quiet.has(tabId)) return;
  const told = JSON.stringify(shared.get(tabId));
  tell(tabId);
  quiet.set(
    tabId,
    setTimeout(() => {
      quiet.delete(tabId);
      if (shared.has(tabId) && JSON.stringify(shared.get(tabId)) !== told) tellSoon(tabId);
    }, QUIET_MS),
  );
}

/** @param {number} tabId */
function tell(tabId) {
  say({ type: 'tab', tabId, payload: sharedTab(tabId) });
}

/** @param {number} tabId @param {string} reason */
export function remove(tabId, reason) {
  if (reason === 'closed') forgetClosed(tabId);
  if (reason !== 'forbidden page') forgetHand(tabId);
  if (!shared.delete(tabId)) return;
  onUnshared(tabId, reason);
  onChange();
  void tellWhy(tabId, reason);
}

/** @param {number} tabId */
function forgetClosed(tabId) {
  births.delete(tabId);
  forgetOpener(tabId);
}

/** @param {number} tabId */
function forgetOpener(tabId) {
  if (!(tabId in current.openers)) return;
  const { [tabId]: _, ...openers } = current.openers;
  keepForNow({ openers });
}

/** Everything, at once. */
export function removeAll() {
  for (const tabId of [...shared.keys()]) remove(tabId, 'person');
}

/** Those an agent opened, and those that these opened, unless the person took them back. */
export function agentsTabs() {
  const found = new Set(current.ours);
  for (const tabId of found) for (const child of current.hand) if (current.openers[child] === tabId) found.add(child);
  return [...found];
}

/** Nobody works in them any more: as at the end of a session. Nobody waits for it: a page may ask the person first.
 * @param {number[]} tabIds */
export function close(tabIds) {
  for (const tabId of tabIds) chrome.tabs.remove(tabId).catch(() => {}); // it may be closed already
}

/** Out of the group, so that they are not shared again with it. @param {number[]} tabIds */
export async function takeOut(tabIds) {
  await Promise.all(tabIds.map(leaveOut));
}

/** A tab that is being closed leaves its group first. @param {number} tabId @param {string} reason */
async function tellWhy(tabId, reason) {
  const isClosed = reason === 'ungrouped' && !(await chrome.tabs.get(tabId).catch(() => undefined));
  if (!shared.has(tabId)) say({ type: 'unshared', tabId, payload: { why: isClosed ? 'closed' : reason } });
}

/** @param {number} tabId @param {{ours?: boolean}} [more] */
export async function shareByHand(tabId, { ours = false } = {}) {
  if (!current.hand.includes(tabId)) keepForNow({ hand: [...current.hand, tabId] });
  if (ours && !current.ours.includes(tabId)) keepForNow({ ours: [...current.ours, tabId] });
  if (ours || kept.share === 'group') await group(tabId).catch(() => {}); // popup windows have no groups
  await grown(tabId);
}

/** A new tab: wait a moment for word of who opened it, so that the daemon hears of it once. @param {number} tabId */
export function born(tabId) {
  births.set(tabId, setTimeout(() => grown(tabId), BIRTH_MS));
}

/** @param {number} tabId */
async function grown(tabId) {
  clearTimeout(births.get(tabId));
  births.delete(tabId);
  await look(tabId);
}

/** A tab that a shared one opened is shared too, and attached before the daemon hears of it when its opener is. Nobody
 * can hold it from its first request on. (M: `openerTabId` is the tab in front, for a popup of a tab in the background
 * and for the person's own Ctrl+T alike; only webNavigation knows.)
 * @param {number} tabId @param {number} opener @param {(tabId: number) => Promise<string>} attach */
export async function adopt(tabId, opener, attach) {
  clearTimeout(births.get(tabId));
  births.set(tabId, undefined);
  if (shared.has(opener)) await takeIn(tabId, opener, attach);
  else await leaveOut(tabId);
  await grown(tabId);
}

/** @param {number} tabId @param {number} opener @param {(tabId: number) => Promise<string>} attach */
async function takeIn(tabId, opener, attach) {
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (!tab) return;
  if (tab.incognito !== shared.get(opener)?.incognito) {
    await leaveOut(tabId); // the person shared one world, not both
    return;
  }
  keepForNow({ hand: [...current.hand, tabId], openers: { ...current.openers, [tabId]: opener } });
  if (why(tab)) return;
  const wasTold = shared.has(tabId);
  shared.set(tabId, infoOf(/** @type {Tab} */ (tab)));
  if (targetOf(opener)) await attach(tabId).catch(() => {});
  say({ type: wasTold ? 'tab' : 'shared', tabId, payload: sharedTab(tabId) });
  onChange();
  if (kept.share === 'group') await group(tabId).catch(() => {}); // popup windows have no groups
}

/** Chrome puts a new tab into the group beside which it appears, whoever opened it; the person did not. (M)
 * @param {number} tabId */
async function leaveOut(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (tab && groups.has(tab.groupId)) await ungroup(tabId).catch(() => {}); // then it is in the group, for all to see
}

/** @param {number} tabId */
export async function unshareByHand(tabId) {
  forgetHand(tabId);
  const tab = await chrome.tabs.get(tabId);
  if (groups.has(tab.groupId)) await ungroup(tabId);
  await look(tabId);
}

/** Chrome refuses it while the person drags a tab. @param {number} tabId */
async function ungroup(tabId, triesLeft = 20) {
  try {
    await chrome.tabs.ungroup(tabId);
  } catch (reason) {
    if (!triesLeft || !(await chrome.tabs.get(tabId).catch(() => undefined))) throw reason;
    await new Promise((done) => setTimeout(done, UNGROUP_MS));
    await ungroup(tabId, triesLeft - 1);
  }
}

/** @param {number} tabId */
function forgetHand(tabId) {
  if (!current.hand.includes(tabId)) return;
  const without = (/** @type {number[]} */ list) => list.filter((one) => one !== tabId);
  keepForNow({ hand: without(current.hand), ours: without(current.ours) });
  forgetOpener(tabId); // what the person takes back is theirs, whoever opened it
}

/** @param {number} tabId */
export async function look(tabId) {
  const tab = await chrome.tabs.get(tabId).catch(() => undefined);
  if (tab) consider(tab);
}

/** Put a tab into the group called Pilothouse of its window. @param {number} tabId */
async function group(tabId) {
  const tab = await chrome.tabs.get(tabId);
  if (groups.has(tab.groupId)) return tab.groupId;
  const [found] = await chrome.tabGroups.query({ title: GROUP, windowId: tab.windowId });
  const groupId = await chrome.tabs.group({
    tabIds: [tabId],
    ...(found ? { groupId: found.id } : { createProperties: { windowId: tab.windowId } }),
  });
  groups.add(groupId);
  if (!found) await name(groupId);
  return groupId;
}

/** @param {number} groupId */
async function name(groupId) {
  naming.add(groupId);
  await chrome.tabGroups.update(groupId, { title: GROUP, color: 'blue' }).finally(() => naming.delete(groupId));
}

/** The person renamed or made a group. @param {number} groupId */
export async function groupChanged(groupId) {
  const group = await chrome.tabGroups.get(groupId).catch(() => undefined);
  const isOurs = group?.title === GROUP; // now: what an event says may be past
  if (naming.has(groupId) || groups.has(groupId) === isOurs) return;
  if (isOurs) groups.add(groupId);
  else groups.delete(groupId);
  for (const tab of await chrome.tabs.query({ groupId })) {
    if (!isOurs && tab.id !== undefined) forgetHand(tab.id);
    consider(tab);
  }
}

/** A tab left a group of ours: the person took it back. @param {chrome.tabs.Tab} tab */
export function regrouped(tab) {
  const before = tab.id === undefined ? undefined : shared.get(tab.id);
  if (before && groups.has(before.groupId) && !groups.has(tab.groupId)) forgetHand(before.tabId);
}

/** @param {Tab} tab @returns {TabInfo} */
function infoOf(tab) {
  return {
    tabId: tab.id,
    ...(tab.id in current.openers ? { openerTabId: current.openers[tab.id] } : {}),
    windowId: tab.windowId,
    groupId: tab.groupId,
    url: (tab.url || tab.pendingUrl || '').slice(0, MAX_ADDRESS),
    title: (tab.title ?? '').slice(0, MAX_TITLE),
    active: tab.active,
    status: tab.status ?? '',
    incognito: tab.incognito,
    pinned: tab.pinned,
    ours: current.ours.includes(tab.id),
  };
}

/** @param {TabInfo} info @returns {TabInfo} */
function withTarget(info) {
  const targetId = targetOf(info.tabId);
  return targetId ? { ...info, targetId } : info;
}
