// Pairing with the daemon by the short code that `pilothouse extension pair` shows: ABCD-EFGH, or 9123-ABCD-EFGH when the
// daemon has another port than usual.

import * as connection from './connection.js';
import { keep, kept, PORT } from './memory.js';
import { note } from './state.js';
import { clearRules } from './rules.js';

const UNKNOWN_MS = 300_000;
const SECOND_MS = 60_000;
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
  try {
    if (await connection.pair(read.code, read.port)) {
      await keep({ port: read.port });
      return '';
    }
  } finally {
    note({ pairing: false });
  }
  connection.connect(); // what was paired before still is
  return (await isThere(read.port))
    ? 'The code was not accepted: it is wrong, used, or older than five minutes. Make a new one.'
    : `Pilothouse does not answer on port ${read.port}. Is it running?`;
}

export async function unpair() {
  connection.disconnect();
  await keep({ secret: '', name: '' });
  await clearRules();
  note({ problem: '' });
}

/** Why is the socket refused? A WebSocket does not tell, a request does. */
export async function findProblem() {
  if (!kept.secret) return;
  const headers = { Authorization: `Bearer ${kept.secret}` };
  const answer = await ask(kept.port, headers);
  const isSecond = answer?.ok && (await answer.json()).data.connected;
  if (connection.isConnected()) return;
  if (answer?.status === 401) {
    connection.pause(UNKNOWN_MS);
    note({ problem: 'Pilothouse does not know this browser (any more): pair it again', pairAgain: true });
  } else if (isSecond) {
    connection.pause(SECOND_MS);
    note({ problem: 'Another copy of this browser is connected' });
  } else if (!answer) note({ problem: '' });
}

/** @param {number} port */
async function isThere(port) {
  return (await ask(port))?.status === 401;
}

/** A POST, because Chrome leaves the Origin out of our GETs. @param {number} port @param {HeadersInit} [headers] */
function ask(port, headers) {
  const init = { method: 'POST', headers, signal: AbortSignal.timeout(3000) };
  return fetch(`http://127.0.0.1:${port}/bridge`, init).catch(() => undefined);
}
