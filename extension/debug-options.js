// The page of settings for debugged tabs: which hub hears of them, and whether we may see its proxy's pages.

import { fault, recallSettings, settings } from './debug-settings.js';

const LOOK_MS = 1_000;
const STOPPED = {
  words: 'Connected. Everything is stopped in this browser: no page is offered.',
  next: 'Press “Allow again” in the popup, and reload the page.',
};
const KEY = /^[\w.~-]*$/;

/** @param {string} id @returns {any} */
function part(id) {
  return document.getElementById(id);
}

async function show() {
  const told = await chrome.runtime.sendMessage({ type: 'debug' });
  const { words, next } = told.why ?? (told.stopped ? STOPPED : { words: wordsFor(told), next: '' });
  part('words').textContent = words;
  part('next').textContent = next;
  const lines = told.offered.map((/** @type {{url: string, title: string}} */ one) => {
    const line = document.createElement('li');
    line.textContent = `${one.title || one.url} (${one.url})`.slice(0, 200);
    return line;
  });
  part('offered').replaceChildren(...lines);
  part('refused').textContent = told.refused ? wordsForRefusal(told.refused) : '';
  part('allow').hidden = told.allowed;
  part('allow').textContent = `See pages of ${told.proxy}`;
  part('allow').onclick = () => chrome.permissions.request({ origins: told.origins }).then(show);
}

/** @param {{proxy: string, allowed: boolean, offered: object[]}} told */
function wordsFor({ proxy, allowed, offered }) {
  if (!allowed) return `Connected. Chrome does not let us see pages of ${proxy} yet.`;
  return `Connected. Pages of ${proxy} are offered for inspection: ${offered.length} now.`;
}

/** @param {{url: string, why: string, next: string}} refused */
function wordsForRefusal({ url, why, next }) {
  return `Not offered: ${url.slice(0, 200)}: ${why}${next ? ` (${next})` : ''}`.slice(0, 700);
}

/** @param {SubmitEvent} event */
async function save(event) {
  event.preventDefault();
  const url = part('url').value.trim();
  const key = part('key').value.trim();
  part('wrong').textContent = fault(url) || (KEY.test(key) ? '' : 'This is no key of Pilothouse.');
  if (part('wrong').textContent) return;
  const size = Math.max(0, Math.min(10_000_000, Math.trunc(Number(part('size').value))));
  await chrome.storage.local.set({ signaling_url: url, user_key: key, response_body_max_size: size });
}

await recallSettings();
part('url').value = settings.signaling_url;
part('key').value = settings.user_key;
part('size').value = settings.response_body_max_size;
part('settings').addEventListener('submit', save);
await show();
setInterval(show, LOOK_MS);
