// What outlives the service worker: `kept` on disk, `current` as long as the browser runs. Nothing important is only in
// a variable, for the worker may end at any moment.

/** @typedef {import('./types').Kept} Kept */
/** @typedef {import('./types').Current} Current */

export const PORT = 8777;

/** @type {Kept} */
export const kept = { install: '', wish: '', name: '', pairing: null, share: 'group', stopped: '' };

/** @type {Current} */
export const current = { hand: [], ours: [], openers: {}, downloads: [], notBefore: 0, debugged: {}, debugProxy: '' };

/** Read both; the first life of all gives this install its name. */
export async function recall() {
  await chrome.storage.local.setAccessLevel({ accessLevel: 'TRUSTED_CONTEXTS' });
  Object.assign(kept, await chrome.storage.local.get(Object.keys(kept)));
  Object.assign(current, await chrome.storage.session.get(Object.keys(current)));
  if (!kept.install) await keep({ install: crypto.randomUUID() });
}

/** @param {Partial<Kept>} change */
export async function keep(change) {
  Object.assign(kept, change);
  await chrome.storage.local.set(change);
}

/** @param {Partial<Current>} change */
export function keepForNow(change) {
  Object.assign(current, change);
  void chrome.storage.session.set(change);
}
