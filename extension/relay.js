// Chrome's debugger for the tabs that are shared: attach, commands, events. Attachments outlive the worker, so after a
// new start what is held is found out from Chrome.

import { say } from './connection.js';
import { isForbidden } from './forbidden.js';
import { Problem, refuseLate, words } from './problem.js';
import { isShared } from './sharing.js';

const VERSION = '1.3';
const PROBE_MS = 5_000;
const STOP_MS = 500; // a tab that takes longer is let go as it is
// Nobody in the daemon listens to these, and a page may cause thousands.
const NOISE = new Set(['Debugger.scriptParsed', 'Debugger.scriptFailedToParse']);
// A frame of one pixel has 380 characters (M), one that somebody looks at thousands.
const SPECK = 600;

/** @type {Map<number, string>} tab → target */
const attached = new Map();
/** @type {Map<number, Promise<string>>} attachments under way */
const coming = new Map();
/** @type {() => void} */
let onChange = () => {};
/** @type {{has: (tabId: number) => boolean, stepAside: (tabId: number) => Promise<void>, stepBack: (tabId: number) => Promise<void>}} */
let beside = { has: () => false, stepAside: async () => {}, stepBack: async () => {} };

/** @param {() => void} listener told when tabs are attached or let go */
export function onAttachments(listener) {
  onChange = listener;
}

/** @param {typeof beside} other who holds tabs too, with the same debugger */
export function shareWith(other) {
  beside = other;
}

export function attachedTabs() {
  return [...attached].map(([tabId, targetId]) => ({ tabId, targetId }));
}

/** @param {number} tabId */
export function targetOf(tabId) {
  return attached.get(tabId);
}

/** Chrome's names of all tabs, attached or not. @returns {Promise<{tabId: number, targetId: string}[]>} */
export async function targets() {
  const all = await chrome.debugger.getTargets();
  return all.flatMap(({ tabId, id, type }) => (tabId !== undefined && type === 'page' ? [{ tabId, targetId: id }] : []));
}

/** After a new start: which tabs does our debugger hold? A tab that another one holds does not answer us. */
export async function rebuild() {
  const targets = await chrome.debugger.getTargets();
  await Promise.all(
    targets.map(async ({ tabId, attached: held }) => {
      if (tabId === undefined || !held || attached.has(tabId) || beside.has(tabId)) return;
      const targetId = await probe(tabId).catch(() => '');
      if (targetId) attached.set(tabId, targetId);
    }),
  );
  await Promise.all([...attached.keys()].map((tabId) => isShared(tabId) || detach(tabId)));
  onChange();
}

/**
 * @param {number} tabId
 * @param {number} [deadline]
 * @returns {Promise<string>} the target's id
 */
export async function attach(tabId, deadline = Infinity) {
  const known = attached.get(tabId);
  if (known) return probe(tabId).catch(() => attachAnew(tabId, deadline));
  return attachAnew(tabId, deadline);
}

/** @param {number} tabId @param {number} deadline */
function attachAnew(tabId, deadline) {
  let work = coming.get(tabId);
  if (!work) {
    work = take(tabId, deadline).finally(() => coming.delete(tabId));
    coming.set(tabId, work);
  }
  return work;
}

/** @param {number} tabId @param {number} deadline */
async function take(tabId, deadline) {
  await beside.stepAside(tabId);
  try {
    await chrome.debugger.attach({ tabId }, VERSION);
  } catch (reason) {
    // An earlier life of ours may hold it: then our commands pass.
    if (!/already attached/i.test(words(reason))) throw refusal(reason);
  }
  const targetId = await probe(tabId).catch((reason) => {
    throw refusal(reason);
  });
  attached.set(tabId, targetId);
  if (!isShared(tabId) || Date.now() > deadline) {
    await detach(tabId);
    refuseLate(deadline);
    throw new Problem('not_shared', 'this tab is not shared any more');
  }
  onChange();
  return targetId;
}

/** @param {number} tabId @returns {Promise<string>} */
async function probe(tabId) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('the tab did not answer')), PROBE_MS));
  const asked = chrome.debugger.sendCommand({ tabId }, 'Target.getTargetInfo');
  const told = /** @type {any} */ (await Promise.race([asked, late]));
  return told.targetInfo.targetId;
}

/** @param {number} tabId */
export async function detach(tabId) {
  if (!attached.delete(tabId)) return;
  onChange();
  await chrome.debugger.detach({ tabId }).catch(() => {});
  await beside.stepBack(tabId);
}

/** Nobody decides any more about what a page waits for, and a document that the debugger holds would go on when it lets go:
 * so the tab stops loading. @param {number} tabId */
export async function drop(tabId) {
  if (attached.has(tabId)) {
    const stopped = chrome.debugger.sendCommand({ tabId }, 'Page.stopLoading').catch(() => {});
    await Promise.race([stopped, new Promise((done) => setTimeout(done, STOP_MS))]);
  }
  await detach(tabId);
}

/** At once; those that are just being attached as soon as they are. */
export async function detachAll() {
  await Promise.all([...attached.keys()].map(drop));
  await Promise.allSettled(coming.values());
  await Promise.all([...attached.keys()].map(drop));
}

/**
 * @param {{tabId: number, sessionId?: string, method: string, params?: object}} payload
 * @returns {Promise<object>}
 */
export async function command({ tabId, sessionId, method, params }) {
  if (!isShared(tabId)) throw new Problem('not_shared', 'this tab is not shared');
  if (!attached.has(tabId)) throw new Problem('not_attached', 'this tab is not attached');
  // Before Chrome goes there: a click sent right after it must not find a page of ours.
  if (method === 'Page.navigate' && isForbidden(/** @type {any} */ (params)?.url)) {
    throw new Problem('refused', 'agents may not go to this page');
  }
  const debuggee = sessionId ? { tabId, sessionId } : { tabId };
  try {
    return (await chrome.debugger.sendCommand(debuggee, method, params)) ?? {};
  } catch (reason) {
    throw refusal(reason);
  }
}

/** @param {chrome.debugger.DebuggerSession} source @param {string} method @param {object} [params] */
export function heard(source, method, params) {
  const { tabId, sessionId } = source;
  if (tabId === undefined || !attached.has(tabId) || !isShared(tabId)) return;
  if (NOISE.has(method) || isSpeck(method, params)) return;
  const payload = sessionId ? { sessionId, method, params: params ?? {} } : { method, params: params ?? {} };
  say({ type: 'cdp', tabId, payload });
}

/** While nobody looks, the daemon has a picture of one pixel sent, so that the tab goes on drawing. Told by the frame itself:
 * one that was on its way when somebody began to look is none of theirs. @param {string} method @param {any} params */
function isSpeck(method, params) {
  return method === 'Page.screencastFrame' && params.data.length < SPECK;
}

/** @param {chrome.debugger.Debuggee} source @param {string} reason */
export function lostTab(source, reason) {
  if (source.tabId === undefined || !attached.delete(source.tabId)) return;
  say({ type: 'detached', tabId: source.tabId, payload: { reason } });
  onChange();
}

/** What Chrome says, as one of our codes. It gives errors of commands as JSON in a message. @param {unknown} reason */
function refusal(reason) {
  if (reason instanceof Problem) return reason;
  const said = words(reason);
  try {
    const cdp = JSON.parse(said);
    if (cdp && typeof cdp.message === 'string') return new Problem('protocol', cdp.message, cdp);
  } catch {
    // not JSON: one of the API's own sentences
  }
  if (said === 'No SW') return new Problem('ended', 'Chrome ended the extension’s worker meanwhile'); // it is us who end (M)
  if (/no tab with (given )?id/i.test(said)) return new Problem('tab_closed', 'the tab is closed');
  if (/not attached/i.test(said)) return new Problem('not_attached', said);
  if (/detached while/i.test(said)) return new Problem('tab_closed', said);
  if (/cannot (access|attach)|another debugger|extensions gallery/i.test(said)) return new Problem('refused', said);
  return new Problem('protocol', said, { message: said });
}
