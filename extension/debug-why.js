// Why there is no line to the hub, and what to do about it, as far as an extension can know.

import { lastEnd } from './debug-line.js';
import { fault, hub } from './debug-settings.js';
import { kept } from './memory.js';
import { oldDaemon } from './pairing.js';
import { trouble } from './state.js';

/** @typedef {{words: string, next: string}} Told */
/** @typedef {NonNullable<ReturnType<typeof lastEnd>>} Last */

const ANSWER_MS = 3_000;
const PATH = '/signaling';
const PAIR = 'Run “pilothouse extension pair” in a terminal and type its code into the popup';
// As the hub says it in the code of its closing: 4000 and the status of HTTP.
const OTHER_LANGUAGE = 4400;
const NOT_KNOWN = 4401;
const NOT_FROM_HERE = 4403;
const NOT_ITS_NAME = 4421;
const TOO_OFTEN = 4429;

/** @type {Last | null} */
let asked = null;
/** @type {Promise<boolean>} */
let answer = Promise.resolve(false);

/** @returns {Promise<Told>} */
export async function whyNot() {
  const last = lastEnd();
  if (!hub()) return ofNoDaemon();
  if (!last?.end) return { words: 'Asking the hub…', next: '' };
  return 'key' in last.way ? ofAddress(last.way, await known(last)) : ofPaired(last.way.claim.port, last.end);
}

/** Of a WebSocket that did not come about Chrome tells nothing; whether anybody is there can be asked otherwise, once.
 * @param {Last} last @returns {Promise<Last['end'] | 'elsewhere'>} */
async function known(last) {
  if (last.end !== 'unopened') return last.end;
  if (asked !== last) answer = answers(last.way.url);
  asked = last;
  return (await answer) ? 'elsewhere' : 'away';
}

/** @param {string} url */
function answers(url) {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const asking = fetch(url.replace(/^ws/, 'http'), {
    method: 'HEAD', mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal,
  });
  return asking.then(() => true, () => false);
}

/** @param {{url: string, key: string}} way @param {Last['end'] | 'elsewhere'} end @returns {Told} */
function ofAddress({ url, key }, end) {
  if (end === 'impossible') return { words: fault(url) || 'This is no key of Pilothouse.', next: 'Correct it below.' };
  const { host, hostname, pathname, protocol } = new URL(url);
  const isHere = protocol === 'ws:';
  switch (end) {
    case 'away': return {
      words: `Nobody answers at ${host}.`,
      next: isHere
        ? 'Does the hub run? “pilothouse hub” says its address when it starts.'
        : `Does the hub run? Open https://${host}/ in a tab: Chrome says there if it is the network, the name or the certificate.`,
    };
    case 'elsewhere': return {
      words: `Somebody answers at ${host}, but no hub at ${pathname}.`,
      next: !pathname.endsWith(PATH)
        ? `The address of a hub ends with ${PATH}, unless a proxy in front of it has another.`
        : isHere
          ? 'Is this the port of a hub? “pilothouse hub” says its address when it starts.'
          : 'If that is a proxy in front of the hub: does the hub run, and are WebSockets passed on to it?',
    };
    case NOT_KNOWN: case TOO_OFTEN: return {
      words: key ? `The hub at ${host} does not know this key.` : `The hub at ${host} asks for a key.`,
      next: '“pilothouse user add NAME” on the hub’s machine prints a new one, in place of the one before.',
    };
    case NOT_ITS_NAME: return {
      words: `The hub that answers does not know itself as ${host}.`,
      next: `Write ${names(hostname, host)} into allowed_hosts below [server] in its config.toml, and restart it.`,
    };
    case NOT_FROM_HERE: return {
      words: `The hub at ${host} takes no calls from where yours comes.`,
      next: 'tls_proxy below [server] in its config.toml has to name the proxy in front of it.',
    };
    case 'broken': return {
      words: `The line to the hub at ${host} broke.`,
      next: 'It is made anew by itself, as soon as the hub answers.',
    };
    default: return {
      words: `Whoever answers at ${host} does not speak as a hub of this extension does.`,
      next: 'Is it a hub? Then one of both is older: update Pilothouse there and the extension here.',
    };
  }
}

/** A proxy in front passes the port on or leaves it out. @param {string[]} known */
function names(...known) {
  return [...new Set(known)].map((one) => `"${one}"`).join(', ');
}

/** No hub is named, and no daemon of ours is there. @returns {Told} */
function ofNoDaemon() {
  const { problem, pairAgain } = trouble();
  if (problem) return { words: `${problem}.`, next: pairAgain ? `${PAIR}.` : '' };
  if (!kept.pairing) return { words: 'Not paired.', next: `${PAIR}, or write a hub’s address below.` };
  return {
    words: `No Pilothouse answers on port ${kept.pairing.port}.`,
    next:
      'It connects by itself as soon as the daemon runs there. If the daemon has another port now (“pilothouse extension ' +
      'list” says so), forget the pairing in the popup and pair again.',
  };
}

/** The bridge stands, so it is our daemon, and it knows this browser. @param {number} port @param {Last['end']} end
 * @returns {Told} */
function ofPaired(port, end) {
  switch (end) {
    case OTHER_LANGUAGE: return { words: `${oldDaemon(port)}.`, next: '' };
    case 'unopened': return {
      words: `Pilothouse on port ${port} has no hub.`,
      next: 'It is an older one: update it and restart its daemon.',
    };
    default: return {
      words: `There is no line to the hub of Pilothouse on port ${port}.`,
      next: 'It is made anew by itself.',
    };
  }
}
