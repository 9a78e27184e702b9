// Pages that are never shared, attached or opened, whatever anybody asks: Chrome's own, extensions' (ours above all, or
// an agent could press its own buttons), the Web Store, and the daemon's pages.

import { kept, PORT } from './memory.js';

const SCHEMES = new Set(['http:', 'https:', 'file:', 'data:', 'blob:']);
const STORES = new Set(['chromewebstore.google.com', 'microsoftedge.microsoft.com', 'addons.opera.com']);
const LOOPBACK = /^(localhost|.*\.localhost|(127|0)(\.\d+){3}|\[::1?\]|\[::ffff:.*\])$/;

/** @param {string | undefined} address an empty one is a tab that is just being made */
export function isForbidden(address) {
  if (!address || address === 'about:blank' || address === 'about:srcdoc') return false;
  let url;
  try {
    url = new URL(address);
  } catch {
    return true;
  }
  if (url.protocol === 'blob:') return isForbidden(url.origin === 'null' ? 'data:' : url.origin);
  if (!SCHEMES.has(url.protocol)) return true;
  const host = url.hostname.replace(/\.$/, '');
  if (STORES.has(host)) return true;
  if (host === 'chrome.google.com' && url.pathname.startsWith('/webstore')) return true;
  return LOOPBACK.test(host) && url.port === String(kept.pairing?.port ?? PORT);
}
