// Chrome's debugger on tabs that are offered. There is one attachment of a tab for all of us: while an agent has it, we
// listen to what it switched on; it comes and goes on a fresh one, so that neither finds what the other left behind.

/** @typedef {import('./types').Debuggee} Debuggee */

const VERSION = '1.3';
const OURS_ALREADY = /already attached/i; // by an earlier hold, which is not done yet
const WORKERS_AND_FRAMES = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true };

/** @typedef {{alone: boolean, coming: Promise<void>, since: number}} Held since when Chrome tells us, by the wall's clock */

/** @type {Map<number, Held>} */
const held = new Map();
/** @type {(tabId: number) => boolean} */
let isAgents = () => false;
let postDataMax = 0;

/** @param {{isAgents: typeof isAgents}} given who else may have a tab */
export function wire(given) {
  ({ isAgents } = given);
}

/** @param {number} tabId whether the debugger is there for us alone */
export function isOursAlone(tabId) {
  return held.get(tabId)?.alone ?? false;
}

/** What began later was heard. @param {number} tabId */
export function heldSince(tabId) {
  return held.get(tabId)?.since ?? Infinity;
}

/** @param {number} tabId */
export function isHeld(tabId) {
  return held.has(tabId);
}

/** @param {number} tabId @param {number} bodyMax @returns {Promise<void>} */
export function hold(tabId, bodyMax) {
  postDataMax = bodyMax;
  const known = held.get(tabId);
  if (known) return known.coming;
  const one = { alone: !isAgents(tabId), coming: Promise.resolve(), since: Infinity };
  held.set(tabId, one);
  if (one.alone) one.coming = take(tabId, one);
  return one.coming;
}

/** After a new start of the worker: our attachment outlived it. @param {number} tabId @param {boolean} alone */
export function holdAgain(tabId, alone) {
  held.set(tabId, { alone, coming: Promise.resolve(), since: Infinity });
}

/** @param {number} tabId */
export async function letGo(tabId) {
  const one = held.get(tabId);
  if (!one) return;
  held.delete(tabId);
  await one.coming;
  if (one.alone && !held.has(tabId)) await chrome.debugger.detach({ tabId }).catch(() => {});
}

/** An agent is about to attach. @param {number} tabId */
export async function stepAside(tabId) {
  const one = held.get(tabId);
  if (!one?.alone) return;
  one.alone = false;
  await one.coming;
  await chrome.debugger.detach({ tabId }).catch(() => {});
}

/** The agent has let go. @param {number} tabId */
export async function stepBack(tabId) {
  const one = held.get(tabId);
  if (!one || one.alone) return;
  one.alone = true;
  one.coming = take(tabId, one);
  await one.coming;
}

/** Chrome took it away. @param {number} tabId */
export function taken(tabId) {
  held.delete(tabId);
}

/** @param {Debuggee} debuggee @param {string} method @param {object} [params] @returns {Promise<any>} */
export function ask(debuggee, method, params) {
  return chrome.debugger.sendCommand(debuggee, method, /** @type {any} */ (params));
}

/** A frame of another site or a worker of a page that is ours alone. @param {number} tabId @param {any} params */
export function adopt(tabId, { sessionId, targetInfo }) {
  if (isOursAlone(tabId) && ['iframe', 'worker'].includes(targetInfo.type)) listenTo({ tabId, sessionId });
}

/** Chrome refuses it where a page of its own is shown, as in every new tab: then whoever asks next tries again.
 * @param {number} tabId @param {Held} one */
async function take(tabId, one) {
  const attaching = chrome.debugger.attach({ tabId }, VERSION).then(
    () => true,
    (problem) => OURS_ALREADY.test(String(problem?.message ?? problem)),
  );
  await Promise.all(listenTo({ tabId })); // at once, for the page does not wait for us
  one.since = Date.now();
  if (!(await attaching) && one.alone && held.get(tabId) === one) held.delete(tabId);
}

/** @param {Debuggee} debuggee @returns {Promise<any>[]} */
function listenTo(debuggee) {
  return [
    ask(debuggee, 'Network.enable', { maxPostDataSize: postDataMax }),
    ask(debuggee, 'Runtime.enable'),
    ask(debuggee, 'Log.enable'),
    ask(debuggee, 'Target.setAutoAttach', WORKERS_AND_FRAMES),
  ].map((asked) => asked.catch(() => {}));
}
