// The one WebSocket to the daemon: made anew whenever it breaks, kept alive by words of ours. Frames go out only while
// it stands and the daemon has shown that it is ours; nothing waits here for a better time.

import { meet, proves } from './handshake.js';
import { current, keepForNow, kept } from './memory.js';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 10_000;
const WELCOME_MS = 5_000;
const ALIVE_MS = 20_000;
const ANSWER_MS = 10_000;

/** @typedef {import('./types').Claim} Claim */
/** @typedef {import('./types').Met} Met */
/** @typedef {import('./types').Why} Why */
/** @typedef {import('./types').Welcome} Welcome */

/**
 * @typedef {object} Ears
 * @property {() => Promise<void>} settled what we were letting go of is gone
 * @property {() => object} hello what our first frame says
 * @property {(welcome: Welcome, port: number) => Promise<void>} onWelcome
 * @property {(command: import('./types').Command) => void} onCommand
 * @property {(why: Why) => void} onLost why the daemon that we are paired with could not be reached; empty when it was
 * @property {(message: string) => void} onRefused
 */

/**
 * From the first question to the end of its socket.
 * @typedef {object} Attempt
 * @property {Claim} claim
 * @property {(why: Why) => void} tell hears how it went; empty when we are welcome
 * @property {WebSocket} [socket]
 * @property {boolean} proven it is our daemon at the other end
 * @property {boolean} greeted our hello is said; nothing goes before it
 * @property {boolean} welcomed
 * @property {boolean} refused
 */

/** @type {Ears} */
let ears;
/** @type {Attempt | null} */
let attempt = null;
let delay = FIRST_DELAY_MS;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let patience;

/** @param {Ears} given */
export function listen(given) {
  ears = given;
}

export function isConnected() {
  return attempt?.welcomed ?? false;
}

/** Now, and again and again until it stands, if this browser is paired. */
export function connect() {
  clearTimeout(next);
  if (attempt || !kept.pairing) return;
  const wait = current.notBefore - Date.now();
  if (wait > 0) next = setTimeout(connect, wait);
  else void begin({ by: 'secret', key: kept.pairing.secret, port: kept.pairing.port }, () => {});
}

/** Something woke us: do not wait out a long pause. */
export function hurry() {
  delay = FIRST_DELAY_MS;
  connect();
}

/** We were refused, and asking again at once would not help. @param {number} ms */
export function pause(ms) {
  keepForNow({ notBefore: Date.now() + ms });
}

/** The person asks us to try it now. */
export function retry() {
  pause(0);
  hurry();
}

/**
 * Pair by a code, once.
 * @param {string} code
 * @param {number} port
 * @returns {Promise<Why>} why not; empty when it is done
 */
export function pair(code, port) {
  disconnect();
  return new Promise((tell) => void begin({ by: 'code', key: code, port }, tell));
}

/** Leave, and do not come back by ourselves. */
export function disconnect() {
  clearTimeout(next);
  const old = attempt;
  if (!old) return;
  leave(old, 'away');
  old.socket?.close(1000);
}

/** @param {object} frame */
export function say(frame) {
  if (attempt?.greeted && attempt.socket?.readyState === WebSocket.OPEN) attempt.socket.send(JSON.stringify(frame));
}

/** @param {Claim} claim @param {(why: Why) => void} tell */
async function begin(claim, tell) {
  /** @type {Attempt} */
  const own = { claim, tell, proven: false, greeted: false, welcomed: false, refused: false };
  attempt = own;
  const { why, met } = await meet(claim);
  if (own !== attempt) return;
  if (met) open(own, met);
  else over(own, why);
}

/** @param {Attempt} own @param {Met} met */
function open(own, met) {
  const socket = new WebSocket(`ws://127.0.0.1:${own.claim.port}/bridge`, met.protocols);
  own.socket = socket;
  expect(socket, WELCOME_MS);
  socket.onmessage = ({ data }) => {
    if (own !== attempt) return;
    if (own.proven) void take(own, JSON.parse(data));
    else void greet(own, data, met.first);
  };
  socket.onclose = () => {
    if (own === attempt) void closed(own, socket, met);
  };
}

/** It may be that another copy of this browser is there; one that has left since is nobody's trouble.
 * @param {Attempt} own @param {WebSocket} socket @param {Met} met */
async function closed(own, socket, met) {
  clearTimeout(patience);
  socket.onclose = socket.onmessage = null;
  const isAsked = met.connected && !own.welcomed && !own.refused;
  const isTaken = isAsked && (await meet(own.claim)).met?.connected;
  if (own === attempt) over(own, own.refused ? 'refused' : isTaken ? 'second' : 'away');
}

/** The daemon may have gone after its first proof, and another program come: nothing is told before the second one.
 * @param {Attempt} own @param {unknown} data @param {string} right */
async function greet(own, data, right) {
  own.proven = proves(data, right);
  if (!own.proven) {
    over(own, 'stranger');
    own.socket?.close();
    return;
  }
  await ears.settled();
  if (own !== attempt) return;
  own.greeted = true;
  say({ type: 'hello', payload: ears.hello() });
}

/** @param {Attempt} own @param {any} frame */
async function take(own, frame) {
  if (frame.type === 'welcome') await welcome(own, frame.payload);
  else if (frame.type === 'alive') clearTimeout(patience);
  else if (frame.type === 'refused') {
    own.refused = true;
    ears.onRefused(frame.payload.message);
  } else if (own.welcomed) ears.onCommand(frame);
}

/** @param {Attempt} own @param {Welcome} payload */
async function welcome(own, payload) {
  own.welcomed = true;
  clearTimeout(patience);
  keepAlive(own);
  try {
    await ears.onWelcome(payload, own.claim.port);
    own.tell('');
  } catch {
    if (own === attempt) turnAway(own);
  }
}

/** A pairing that is not on the disk would end with the worker. @param {Attempt} own */
function turnAway(own) {
  own.welcomed = false;
  over(own, 'unkept');
  own.socket?.close(1000);
}

/** It ended by itself: again, after a while. @param {Attempt} own @param {Why} why */
function over(own, why) {
  delay = own.welcomed ? FIRST_DELAY_MS : Math.min(delay * 2, LONGEST_DELAY_MS);
  next = setTimeout(connect, delay * (0.5 + Math.random() / 2));
  leave(own, why);
}

/** @param {Attempt} own @param {Why} why */
function leave(own, why) {
  attempt = null;
  clearTimeout(patience);
  if (own.socket) own.socket.onclose = own.socket.onmessage = null;
  own.tell(why);
  ears.onLost(own.welcomed || own.claim.by === 'code' ? '' : why);
}

/** A message of ours counts as life for the worker (Chrome ends it after 30 s of silence), and finds a dead daemon.
 * @param {Attempt} own */
function keepAlive(own) {
  setTimeout(() => {
    if (own !== attempt || !own.socket) return;
    say({ type: 'alive' });
    expect(own.socket, ANSWER_MS);
    keepAlive(own);
  }, ALIVE_MS);
}

/** @param {WebSocket} socket @param {number} ms */
function expect(socket, ms) {
  clearTimeout(patience);
  patience = setTimeout(() => {
    socket.close();
    socket.dispatchEvent(new CloseEvent('close')); // a peer that is not there never answers the closing
  }, ms);
}
