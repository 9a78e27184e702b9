// Pairing with the daemon by the short code that `pilothouse extension pair` shows: ABCD-EFGH, or 9123-ABCD-EFGH when the
// daemon has another port than usual.

import * as connection from './connection.js';
import { keep, kept, PORT } from './memory.js';
import { note } from './state.js';
import { clearRules } from './rules.js';

/** @typedef {import('./types').Why} Why */

const PAUSE_MS = 60_000;
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
  if (!read) return 'A code looks like ABCD-EFGH.';
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
  unknown: () => 'The code was not accepted: it is used, or older than five minutes. Make a new one.',
  stranger: (port) =>
    `The code was not accepted: it is wrong, or another program answers on port ${port}. Nobody has learned it.`,
  second: () => SECOND,
  refused: () => 'Pilothouse refused this browser.',
  'old extension': () => OLD_EXTENSION,
  'old daemon': () => OLD_DAEMON,
};
const SECOND = 'Another copy of this browser is connected';
const OLD_EXTENSION = 'The extension is older than Pilothouse: reload it in chrome://extensions';
const OLD_DAEMON = 'Pilothouse is older than the extension: update it and restart its daemon';

export async function unpair() {
  connection.disconnect();
  await keep({ pairing: null, name: '' });
  await clearRules();
  note({ problem: '' });
}

/** Tell the person why the daemon we are paired with is not reached. Where asking again at once cannot help, we wait; a
 * stranger may go away at any moment. @param {Why} why */
export function explain(why) {
  if (why === 'unknown') tellAndWait('Pilothouse does not know this browser (any more): pair it again', { pairAgain: true });
  else if (why === 'second') tellAndWait(SECOND, { ms: SECOND_MS });
  else if (why === 'old extension') tellAndWait(OLD_EXTENSION);
  else if (why === 'old daemon') tellAndWait(OLD_DAEMON);
  else if (why === 'stranger') note({ problem: `Another program answers on port ${kept.pairing?.port}, not your Pilothouse` });
  else if (why === 'away') note({ problem: '' });
}

/** @param {string} problem @param {{pairAgain?: boolean, ms?: number}} [more] */
function tellAndWait(problem, { pairAgain = false, ms = PAUSE_MS } = {}) {
  connection.pause(ms);
  note({ problem, pairAgain });
}
