// The one WebSocket to the daemon: made anew whenever it breaks, kept alive by words of ours. Frames go out only while
// it stands; nothing waits here for a better time.

import { current, keepForNow, kept } from './memory.js';

const PROTOCOL = 1;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 10_000;
const WELCOME_MS = 5_000;
const ALIVE_MS = 20_000;
const ANSWER_MS = 10_000;

/**
 * @typedef {object} Ears
 * @property {() => object} hello what the first frame says
 * @property {(welcome: {name: string, version: string, secret?: string}) => void} onWelcome
 * @property {(command: import('./types').Command) => void} onCommand
 * @property {(wasWelcome: boolean) => void} onLost
 * @property {(code: string, message: string) => void} onRefused
 */

/** @type {Ears} */
let ears;
/** @type {WebSocket | null} */
let socket = null;
let welcomed = false;
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
  return welcomed;
}

/** Now, and again and again until it stands, if this browser is paired. */
export function connect() {
  clearTimeout(next);
  if (socket || !kept.secret) return;
  const wait = current.notBefore - Date.now();
  if (wait > 0) {
    next = setTimeout(connect, wait);
    return;
  }
  open(`pilothouse.secret.${kept.secret}`, kept.port, (wasWelcome) => {
    delay = wasWelcome ? FIRST_DELAY_MS : Math.min(delay * 2, LONGEST_DELAY_MS);
    next = setTimeout(connect, delay * (0.5 + Math.random() / 2));
  });
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
 * @returns {Promise<boolean>} whether the daemon took it
 */
export function pair(code, port) {
  disconnect();
  return new Promise((resolve) => {
    open(`pilothouse.code.${code}`, port, (wasWelcome) => {
      resolve(false);
      if (wasWelcome) connect();
    }, () => resolve(true));
  });
}

/** Leave, and do not come back by ourselves. */
export function disconnect() {
  clearTimeout(next);
  const old = socket;
  if (!old) return;
  lost(old);
  old.close(1000);
}

/** @param {object} frame */
export function say(frame) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

/**
 * @param {string} proof
 * @param {number} port
 * @param {(wasWelcome: boolean) => void} onEnd
 * @param {() => void} [onWelcome]
 */
function open(proof, port, onEnd, onWelcome) {
  const own = new WebSocket(`ws://127.0.0.1:${port}/bridge`, [`pilothouse.${PROTOCOL}`, proof]);
  socket = own;
  expect(own, WELCOME_MS);
  own.onopen = () => say({ type: 'hello', payload: { protocol: PROTOCOL, ...ears.hello() } });
  own.onmessage = (message) => {
    if (own !== socket) return;
    const frame = JSON.parse(message.data);
    if (frame.type === 'welcome') {
      welcome(own, frame.payload);
      onWelcome?.();
    } else take(frame);
  };
  own.onclose = () => {
    if (own === socket) onEnd(lost(own));
  };
}

/** @param {WebSocket} own @param {{name: string, version: string, secret?: string}} payload */
function welcome(own, payload) {
  welcomed = true;
  clearTimeout(patience);
  keepAlive(own);
  ears.onWelcome(payload);
}

/** @param {any} frame */
function take(frame) {
  if (frame.type === 'alive') clearTimeout(patience);
  else if (frame.type === 'refused') ears.onRefused(frame.payload.code, frame.payload.message);
  else if (welcomed) ears.onCommand(frame);
}

/** @param {WebSocket} own @returns {boolean} whether it had been welcome */
function lost(own) {
  const was = welcomed;
  socket = null;
  welcomed = false;
  clearTimeout(patience);
  own.onclose = own.onmessage = null;
  ears.onLost(was);
  return was;
}

/** A message of ours counts as life for the worker (Chrome ends it after 30 s of silence), and finds a dead daemon.
 * @param {WebSocket} own */
function keepAlive(own) {
  setTimeout(() => {
    if (own !== socket) return;
    say({ type: 'alive' });
    expect(own, ANSWER_MS);
    keepAlive(own);
  }, ALIVE_MS);
}

/** @param {WebSocket} own @param {number} ms */
function expect(own, ms) {
  clearTimeout(patience);
  patience = setTimeout(() => {
    own.close();
    own.dispatchEvent(new CloseEvent('close')); // a peer that is not there never answers the closing
  }, ms);
}
