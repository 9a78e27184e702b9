// Numbers and times as people read them.

/** @param {number} ms */
export function took(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number} count */
export function bytes(count) {
  for (const [size, name] of /** @type {[number, string][]} */ ([
    [1e9, 'GB'],
    [1e6, 'MB'],
    [1e3, 'kB'],
  ])) {
    if (count >= size) return `${(count / size).toFixed(count >= 10 * size ? 0 : 1)} ${name}`;
  }
  return `${Math.round(count)} B`;
}

/** @param {number | string | Date} when */
export function clock(when) {
  return new Date(when).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** @param {number | string | Date} when */
export function dated(when) {
  return new Date(when).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/** @param {number} ms since 1970 */
export function since(ms) {
  const s = Math.max(0, (Date.now() - ms) / 1000);
  if (s < 60) return 'just now';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 86_400 ? `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min` : `${Math.floor(s / 86_400)} days`;
}

/** What a policy says, and its colour. */
export const VERDICTS = /** @type {Record<string, [string, string]>} */ ({
  allow: ['allowed', 'ok'],
  ask: ['asks you', 'warn'],
  deny: ['denied', 'danger'],
});

/** @param {number} count @param {string} noun @param {string} [many] */
export function counted(count, noun, many = `${noun}s`) {
  return `${count.toLocaleString()} ${count === 1 ? noun : many}`;
}

/** The host of an address, or the address itself. @param {string} url */
export function hostOf(url) {
  try {
    return new URL(url).host || url;
  } catch {
    return url;
  }
}

/** Plain data with every line break to be seen, those that only script knows too, and those within its strings. @param {any} value */
export function shownAs(value) {
  const text = typeof value === 'string' ? value : inData(JSON.stringify(value, null, 1));
  return text.replace(/\r\n?|[\u2028\u2029]/g, '\n');
}

/** @param {string} json in which a line break is an escape */
function inData(json) {
  return json.replace(/\\(?:u202[89]|[^u])/g, (found) => (/\\(?:n|r|u202[89])/.test(found) ? `${found}\n` : found));
}

/** Plain data on one line or a few. @param {any} value */
export function plain(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
