// Pairing with the daemon by the short code that `pilothouse extension pair` shows: ABCD-EFGH, or 9123-ABCD-EFGH when the
// daemon has another port than usual.

import * as connection from './connection.js';
import { current, keep, keepForNow, kept, PORT } from './memory.js';
import * as relay from './relay.js';
import { clearRules } from './rules.js';
import * as sharing from './sharing.js';
import { note } from './state.js';

/** @typedef {import('./types').Why} Why */

const UNPROVEN_MS = 10_000; // our own daemon may be there again at any moment
const SECOND_MS = 30_000;
const CODE = /^(?:(\d{1,5})-)?([A-Z2-9]{4})-?([A-Z2-9]{4})$/;

/** @param {string} text what the person typed */
export function readCode(text) {
  const found = CODE.exec(text.replace(/\s/g, '').toUpperCase());
  if (!found) return undefined;
  const port = Number(found[1] ?? PORT);
  return port > 0 && port < 65536 ? { code: `${found[2]}-${found[3]}`, port } : undefined;
}

/**
 * @param {string} text
 * @param {string} wish what to call this browser
 * @returns {Promise<string>} what went wrong; empty when it is paired
 */
export async function pair(text, wish) {
  const read = readCode(text);
  if (!read) return 'A code looks like ABCD-EFGH, or 38790-ABCD-EFGH with the daemon’s port before it.';
  connection.pause(0);
  await keep({ wish: wish.trim().slice(0, 40) });
  note({ pairing: true, problem: '' });
  const why = await connection.pair(read.code, read.port).finally(() => note({ pairing: false }));
  if (why) connection.connect(); // what was paired before still is
  return why ? WRONG[why](read.port) : '';
}

/** @type {Record<Exclude<Why, ''>, (port: number) => string>} */
const WRONG = {
  away: (port) => `Pilothouse does not answer on port ${port}. Is it running?`,
  unknown: (port) =>
    `The code was not accepted by whoever answers on port ${port}: it is used, or older than five minutes. Make a new one.`,
  stranger: (port) =>
    `The code was not accepted: it is wrong, or another program answers on port ${port}. Nobody has learned it.`,
  second: () => SECOND,
  refused: () => 'Pilothouse refused this browser.',
  unkept: () => UNKEPT,
  'old extension': (port) => oldExtension(port),
  'old daemon': (port) => oldDaemon(port),
};
const SECOND = 'Another copy of this browser is connected';
const UNKEPT = 'Chrome could not keep the pairing; is its disk full? Pair again with a new code';

/** @param {number | undefined} port */
function oldExtension(port) {
  return `Whoever answers on port ${port} says that the extension is older: reload it in chrome://extensions`;
}

/** @param {number | undefined} port */
export function oldDaemon(port) {
  return `Whoever answers on port ${port} is an older Pilothouse: update it and restart its daemon`;
}

/** The daemon drops its half too, if it hears us; nobody works in a tab from now on. */
export async function unpair() {
  connection.say({ type: 'forgotten' });
  connection.disconnect();
  const agents = sharing.agentsTabs();
  keepForNow({ hand: current.hand.filter((tabId) => !agents.includes(tabId)), ours: [] });
  await Promise.all([keep({ pairing: null, name: '' }), relay.detachAll()]);
  await Promise.all([clearRules(), sharing.takeOut(agents).then(sharing.rebuild)]);
  note({ problem: '' });
}

/** Tell the person why the daemon we are paired with is not reached. Where asking again at once cannot help, we wait, but
 * not for long on the word of somebody who has proved nothing. @param {Why} why */
export function explain(why) {
  const port = kept.pairing?.port;
  if (why === 'unknown') {
    tellAndWait(`Whoever answers on port ${port} does not know this browser. If it is Pilothouse, pair it again`, {
      pairAgain: true,
    });
  } else if (why === 'second') tellAndWait(SECOND, { ms: SECOND_MS });
  else if (why === 'old extension') tellAndWait(oldExtension(port));
  else if (why === 'old daemon') tellAndWait(oldDaemon(port));
  else if (why === 'unkept') note({ problem: UNKEPT, pairAgain: true });
  else if (why === 'stranger') note({ problem: `Another program answers on port ${port}, not your Pilothouse` });
  else if (why === 'away') note({ problem: '' });
}

/** @param {string} problem @param {{pairAgain?: boolean, ms?: number}} [more] */
function tellAndWait(problem, { pairAgain = false, ms = UNPROVEN_MS } = {}) {
  connection.pause(ms);
  note({ problem, pairAgain });
}
