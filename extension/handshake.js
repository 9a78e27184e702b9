// Before a socket: the daemon shows that it knows our key, then we do; the key itself never travels. Any program may
// answer on the port, so nothing that it says is believed before its proof is right; a refusal is shown as what it is, the
// word of whoever answers.
// guard/handshake.py is the other side, in the same words.

import { kept } from './memory.js';

/** @typedef {import('./types').Claim} Claim */
/** @typedef {import('./types').Met} Met */
/** @typedef {import('./types').Door} Door */
/** @typedef {import('./types').Why} Why */

export const PROTOCOL = 1;
const ROUNDS = 210_000; // of a code: it is short
const ANSWER_MS = 3_000;
const MAX_ANSWER = 4_096;
const NUMBER = /^[\w-]{43}$/;

/**
 * @param {Claim} claim @param {Door} [door] for whose socket our proof is to be good
 * @returns {Promise<{why: Why, met?: Met}>} `met` when it is the daemon that we are paired with
 */
export async function meet({ by, key, port }, door = 'bridge') {
  const nonce = text(crypto.getRandomValues(new Uint8Array(32)));
  const { status, body } = await ask(port, { protocol: PROTOCOL, install: kept.install, nonce, by });
  const { nonce: theirs, proof, salt, connected } = body?.data ?? {};
  if (!NUMBER.test(theirs) || !NUMBER.test(proof)) return { why: whyNot(status, body) };
  const prove = await prover(await keyOf(by, key, String(salt)), [by, kept.install, nonce, theirs, String(port)]);
  if (!isSame(proof, await prove('bridge', 'daemon'))) return { why: 'stranger' };
  const protocols = [`pilothouse.${PROTOCOL}`, `pilothouse.proof.${theirs}.${await prove(door, 'extension')}`];
  return { why: '', met: { protocols, first: await prove(door, 'socket'), connected: connected === true } };
}

/** Whether the first frame on a socket is the daemon's second proof. @param {unknown} frame @param {string} right */
export function proves(frame, right) {
  try {
    return isSame(JSON.parse(String(frame)).payload.proof, right);
  } catch {
    return false;
  }
}

/** In constant time, as far as a script can. @param {unknown} given @param {string} right */
function isSame(given, right) {
  if (typeof given !== 'string' || given.length !== right.length) return false;
  let different = 0;
  for (let at = 0; at < right.length; at++) different |= given.charCodeAt(at) ^ right.charCodeAt(at);
  return different === 0;
}

/** Whoever it is: it has proved nothing. @param {number} status @param {any} body @returns {Why} */
function whyNot(status, body) {
  const protocol = body?.error?.details?.protocol;
  if (status === 400 && Number.isInteger(protocol)) return protocol > PROTOCOL ? 'old extension' : 'old daemon';
  if (status === 401) return 'unknown';
  return status === 0 ? 'away' : 'stranger';
}

/**
 * A POST, because Chrome leaves the Origin out of our GETs.
 * @param {number} port @param {object} knock
 * @returns {Promise<{status: number, body?: any}>} status 0: nobody answers
 */
async function ask(port, knock) {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/bridge`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(knock),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { status: answer.status || 404, body: await read(answer) };
  } catch {
    return { status: 0 };
  }
}

/** No more than a daemon would say. @param {Response} answer @returns {Promise<any>} */
async function read(answer) {
  const decoder = new TextDecoder();
  let said = '';
  for await (const piece of /** @type {any} */ (answer.body ?? [])) {
    said += decoder.decode(piece, { stream: true });
    if (said.length > MAX_ANSWER) return undefined; // and leaves the rest
  }
  try {
    return JSON.parse(said);
  } catch {
    return undefined;
  }
}

/** @param {Claim['by']} by @param {string} key @param {string} salt @returns {Promise<BufferSource>} */
async function keyOf(by, key, salt) {
  if (by === 'secret') return bytes(key);
  const code = await crypto.subtle.importKey('raw', bytes(key), 'PBKDF2', false, ['deriveBits']);
  return crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: bytes(salt), iterations: ROUNDS }, code, 256);
}

/** Each part with its length before it, so that no two meetings read the same.
 * @param {BufferSource} key @param {string[]} meeting @returns {Promise<(door: Door, role: string) => Promise<string>>} */
async function prover(key, meeting) {
  const signer = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return async (door, role) => {
    const parts = [`pilothouse-${door}-1`, role, ...meeting].map(bytes);
    const message = await new Blob(parts.flatMap((part) => [length(part), part])).arrayBuffer();
    return text(new Uint8Array(await crypto.subtle.sign('HMAC', signer, message)));
  };
}

/** @param {Uint8Array} part */
function length(part) {
  const four = new DataView(new ArrayBuffer(4));
  four.setUint32(0, part.length);
  return four.buffer;
}

/** @param {string} words */
function bytes(words) {
  return new TextEncoder().encode(words);
}

/** As base64url without padding. @param {Uint8Array} raw */
function text(raw) {
  return btoa(String.fromCharCode(...raw)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
}
