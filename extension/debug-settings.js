// Which hub hears of debugged tabs, and how much of a body is told. Without an address it is the paired daemon's own hub,
// once that has shown over the bridge that it is there.

import { isConnected } from './connection.js';
import { kept } from './memory.js';

/** @typedef {{signaling_url: string, user_key: string, response_body_max_size: number}} Settings */
/** @typedef {{url: string, key: string} | {url: string, claim: import('./types').Claim}} Way */

/** @type {Settings} */
export const settings = { signaling_url: '', user_key: '', response_body_max_size: 102_400 };

const MOST_BODY = 2_000_000; // however it is written, it fits into a frame
const NAMES = /** @type {(keyof Settings)[]} */ (Object.keys(settings));
const MATTER = new Set([...NAMES, 'pairing']);

/** Characters of a body that are told. */
export function bodyMax() {
  return Math.min(settings.response_body_max_size, MOST_BODY);
}

export async function recallSettings() {
  Object.assign(settings, await chrome.storage.local.get(NAMES));
}

/** @param {() => void} listener called when there is another hub to go to, or another way in */
export function onSettings(listener) {
  chrome.storage.onChanged.addListener((changes, area) => {
    if (area !== 'local' || !Object.keys(changes).some((name) => MATTER.has(name))) return;
    void recallSettings().then(listener);
  });
}

/** With a user's key, or as the paired browser that this is. @returns {Way | undefined} */
export function hub() {
  if (settings.signaling_url) return { url: settings.signaling_url, key: settings.user_key };
  if (!kept.pairing || !isConnected()) return undefined;
  const { secret, port } = kept.pairing;
  return { url: `ws://127.0.0.1:${port}/signaling`, claim: { by: 'secret', key: secret, port } };
}

/** What is wrong with an address; empty if nothing is. Plain ws goes nowhere but to this machine. @param {string} text */
export function fault(text) {
  if (!text) return '';
  if (!URL.canParse(text)) return 'This is no address; it looks like wss://hub.example.com/signaling.';
  const { protocol, hostname, hash } = new URL(text);
  if (hash) return 'Leave out what begins with #.';
  if (protocol === 'wss:' || (protocol === 'ws:' && hostname === '127.0.0.1')) return '';
  return 'It begins with wss://, or with ws://127.0.0.1: for one on this machine.';
}
