// "Stop everything", and its opposite. It holds over restarts of worker, browser and daemon, until the person allows
// agents again.

import { say } from './connection.js';
import { letAllGo } from './debug-offers.js';
import { keep, keepForNow } from './memory.js';
import * as relay from './relay.js';
import { clearRules } from './rules.js';
import * as sharing from './sharing.js';

/** @param {'popup' | 'bar' | 'daemon'} by */
export async function stopEverything(by) {
  const kept = keep({ stopped: by }); // counts at once; the disk may take its time
  const agents = sharing.agentsTabs();
  keepForNow({ hand: [], ours: [] });
  say({ type: 'stopped', payload: { by } });
  sharing.removeAll();
  await letAllGo();
  await relay.detachAll();
  await Promise.all([kept, sharing.takeOut(agents).then(sharing.rebuild), clearRules()]);
}

export async function allowAgain() {
  await keep({ stopped: '' });
  say({ type: 'allowed', payload: {} });
  await sharing.rebuild();
}
