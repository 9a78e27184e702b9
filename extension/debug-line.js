// The WebSocket to the hub: made anew whenever it breaks, and soon found out when it is dead. What cannot be said now is
// not kept here: the hub asks for what it missed.

import { hub } from './debug-settings.js';
import { meet, proves } from './handshake.js';
import { kept } from './memory.js';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;
const WELCOME_MS = 5_000;
const ALIVE_MS = 20_000;
const BUSY_ALIVE_MS = 2_000; // while tabs are offered: they are to be back within seconds
const ANSWER_MS = 2_500;
const MOST_UNSENT = 64 * 1024 * 1024;
const TOGETHER_MS = 50;
const MOST_TOGETHER = 100;
const LARGE = 1_000_000;
const TELLING = new Set([4400, 4401]); // it does not understand us; the key or the pairing is over

/**
 * @typedef {object} Ears
 * @property {() => boolean} isBusy
 * @property {(hub: {proxy: string}) => void} onReady
 * @property {(message: any) => void} onMessage
 * @property {() => void} onLost
 */

/** @typedef {import('./debug-settings.js').Way} Way */
/**
 * How an attempt ended; a number is the hub's own word, the code of its closing.
 * @typedef {import('./types').Why | 'impossible' | 'unopened' | 'silent' | 'broken' | number} End
 */

/**
 * From the first question to the end of its socket.
 * @typedef {object} Attempt
 * @property {Way} way
 * @property {WebSocket} [socket]
 * @property {boolean} opened
 * @property {string} first what the hub still has to prove in its first frame
 */

/** @type {Ears} */
let ears;
/** @type {Attempt | null} */
let attempt = null;
/** @type {{way: Way, end: End} | null} */
let last = null;
let ready = false;
let delay = FIRST_DELAY_MS;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let patience;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pulse;
/** @type {string[]} said soon, in one frame: a busy page has thousands of news a second */
let together = [];
let togetherChars = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let flushing;

/** @param {Ears} given */
export function listen(given) {
  ears = given;
}

export function isReady() {
  return ready;
}

/** How the last attempt ended, if none has succeeded since. */
export function lastEnd() {
  return last;
}

/** Now, and again and again until it stands, if there is a hub. */
export function connect() {
  clearTimeout(next);
  const known = hub();
  if (!attempt && known) void begin(known);
}

/** @param {Way} way */
async function begin(way) {
  /** @type {Attempt} */
  const own = { way, opened: false, first: '' };
  attempt = own;
  const { met, why } = 'key' in way ? byKey(way.key) : await meet(way.claim, 'signaling');
  if (own !== attempt) return;
  if (met) open(own, met);
  else lost(own, why);
}

/** @param {string} key a user's: of a far hub TLS says who it is */
function byKey(key) {
  const protocols = ['pilothouse', ...(key ? [`pilothouse.key.${key}`] : [])];
  return { met: { protocols, first: '' }, why: /** @type {const} */ ('') };
}

/** @param {Attempt} own @param {{protocols: string[], first: string}} met */
function open(own, { protocols, first }) {
  try {
    own.socket = new WebSocket(own.way.url, protocols);
  } catch {
    attempt = null;
    last = { way: own.way, end: 'impossible' };
    return;
  }
  own.first = first;
  expect(own.socket, WELCOME_MS);
  own.socket.onopen = () => {
    own.opened = true;
    if (!own.first) hello();
  };
  own.socket.onmessage = ({ data }) => {
    if (own !== attempt) return;
    if (own.first) greet(own, data);
    else take(JSON.parse(data));
  };
  own.socket.onclose = ({ code }) => {
    if (own === attempt) lost(own, endOf(own, code));
  };
}

/** What ends a line that stood is no answer to who we are, unless the hub says so. @param {Attempt} own
 * @param {number} code @returns {End} */
function endOf({ opened }, code) {
  if (ready ? TELLING.has(code) : code >= 4000) return code;
  return ready ? 'broken' : opened ? 'silent' : 'unopened';
}

/** The daemon proves itself once more, on this very socket, before it hears of any page.
 * @param {Attempt} own @param {unknown} data */
function greet(own, data) {
  if (proves(data, own.first)) {
    own.first = '';
    hello();
    return;
  }
  lost(own, 'stranger');
  own.socket?.close();
}

function hello() {
  say({ type: 'browser_debug_hello', browser_id: kept.install });
}

/** Something woke us: do not wait out a pause. */
export function hurry() {
  delay = FIRST_DELAY_MS;
  connect();
}

/** Go to the hub that there is now. */
export function renew() {
  const old = attempt;
  if (old) lost(old, '');
  last = null;
  old?.socket?.close(1000);
  hurry();
}

/** At once, after what was to be said soon. @param {object} message @returns {boolean} whether it is on its way */
export function say(message) {
  flush();
  return send(encoded(message));
}

/** Soon. @param {object} message */
export function mention(message) {
  const text = encoded(message);
  if (togetherChars + text.length > LARGE) flush(); // what is large goes alone
  together.push(text);
  togetherChars += text.length;
  if (together.length >= MOST_TOGETHER || togetherChars > LARGE) flush();
  else flushing ??= setTimeout(flush, TOGETHER_MS);
}

function flush() {
  clearTimeout(flushing);
  flushing = undefined;
  if (!together.length) return;
  send(`[${together.join(',')}]`);
  together = [];
  togetherChars = 0;
}

/** @param {string} frame */
function send(frame) {
  const socket = attempt?.socket;
  if (attempt?.first || socket?.readyState !== WebSocket.OPEN) return false;
  if (socket.bufferedAmount > MOST_UNSENT) {
    socket.close();
    return false;
  }
  socket.send(frame);
  return true;
}

/** Halves of characters, which pages can print, are no JSON to others. @param {object} message */
function encoded(message) {
  const text = JSON.stringify(message);
  if (!/\\ud[89a-f]/.test(text)) return text;
  return text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === '\\\\' ? found : '\\ufffd'));
}

/** @param {any} message */
function take(message) {
  if (message.type === 'alive') relax();
  else if (message.type === 'browser_debug_hub') {
    ready = true;
    last = null;
    delay = FIRST_DELAY_MS;
    relax();
    keepAlive();
    ears.onReady(message);
  } else if (ready) ears.onMessage(message);
}

/** @param {Attempt} own @param {End} end */
function lost(own, end) {
  const wasReady = ready;
  attempt = null;
  last = { way: own.way, end };
  ready = false;
  relax();
  clearTimeout(pulse);
  if (own.socket) own.socket.onopen = own.socket.onclose = own.socket.onmessage = null;
  delay = wasReady ? FIRST_DELAY_MS : Math.min(delay * 2, LONGEST_DELAY_MS);
  next = setTimeout(connect, delay * (0.5 + Math.random() / 2));
  ears.onLost();
}

/** A message of ours is life for the worker too; one that is not answered finds a dead line. */
export function keepAlive() {
  clearTimeout(pulse);
  pulse = setTimeout(() => {
    if (!attempt?.socket || !ready) return;
    if (!patience && say({ type: 'alive' })) expect(attempt.socket, ANSWER_MS);
    keepAlive();
  }, ears.isBusy() ? BUSY_ALIVE_MS : ALIVE_MS);
}

/** @param {WebSocket} own @param {number} ms */
function expect(own, ms) {
  relax();
  patience = setTimeout(() => {
    own.close();
    own.dispatchEvent(new CloseEvent('close')); // a peer that is not there never answers the closing
  }, ms);
}

function relax() {
  clearTimeout(patience);
  patience = undefined;
}
