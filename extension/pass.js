// The side panel's pass: the daemon gives one over the bridge, whose two ends know each other; the pairing's own secret is
// never sent to a port. It is kept nowhere: a new life of the worker asks for a new one.

import { say } from './connection.js';

const ANSWER_MS = 5_000;

/** @type {Set<(pass: string) => void>} */
const waiting = new Set();

/** @returns {Promise<{pass: string}>} empty when the daemon does not answer */
export function askForPass() {
  return new Promise((resolve) => {
    const done = (/** @type {string} */ pass) => {
      clearTimeout(timer);
      waiting.delete(done);
      resolve({ pass });
    };
    const timer = setTimeout(done, ANSWER_MS, '');
    waiting.add(done);
    say({ type: 'panel', payload: {} });
  });
}

/** What the daemon gave. @param {{pass: string}} given */
export function takePass({ pass }) {
  for (const done of waiting) done(pass);
  return {};
}
