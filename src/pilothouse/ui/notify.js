// Telling a person who looks elsewhere that something waits: the title, the app's badge, a notification if they allowed it,
// and a word for screen readers.

import { wish } from './approvals.js';
import { h } from './dom.js';
import { counted } from './format.js';

const TITLE = 'Pilothouse';

/** @param {import('./store.js').Store} store @param {(id: string) => void} open */
export function notify(store, open) {
  const heard = h('div', { class: 'unseen', role: 'status', 'aria-live': 'assertive' });
  document.body.append(heard);
  /** @type {Map<string, Notification>} */
  const shown = new Map();

  const count = () => {
    const waiting = store.pending.size;
    document.title = waiting ? `(${waiting}) ${counted(waiting, 'question')} · ${TITLE}` : TITLE;
    if ('setAppBadge' in navigator)
      void (waiting ? navigator.setAppBadge(waiting) : navigator.clearAppBadge()).catch(() => {});
    for (const [id, note] of shown) {
      if (store.pending.has(id)) continue;
      note.close();
      shown.delete(id);
    }
  };
  const tell = () => {
    const newest = [...store.pending.values()].at(-1);
    if (!newest || shown.has(newest.id)) return;
    heard.textContent = `${newest.tool}${wish(newest)} It waits for your yes`;
    if (!('Notification' in globalThis) || Notification.permission !== 'granted' || document.hasFocus()) return;
    const note = new Notification(`${newest.tool}${wish(newest)}`, {
      body: `${newest.risk === 'none' ? 'It needs your yes' : `${newest.risk} risk`} · ${newest.caller}`.slice(0, 300),
      tag: newest.id,
      requireInteraction: newest.risk === 'high',
    });
    note.onclick = () => {
      globalThis.focus();
      open(newest.id);
    };
    shown.set(newest.id, note);
  };
  count();
  const ends = [store.on('questions', count), store.on('question', tell)];
  return () => ends.forEach((end) => end());
}

/** Whether a person could still be asked to allow notifications. */
export function mayAsk() {
  return 'Notification' in globalThis && Notification.permission === 'default';
}
