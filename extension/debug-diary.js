// What one document did: its requests and its console, the newest of both. The hub has the same; this is for what it
// missed while the line was down.

import { entryOf } from './debug-console.js';

/** @typedef {import('./types').NetworkRequest} NetworkRequest */
/** @typedef {import('./types').ConsoleEntry} ConsoleEntry */
/** @typedef {'request' | 'response' | 'finished' | 'failed'} Kind */
/** @typedef {(kind: Kind, data: object) => void} OnNetwork */

const MOST_REQUESTS = 2_000;
const MOST_ENTRIES = 10_000;
const MOST_CHARS = 12 * 1024 * 1024;
const MOST_TOLD = 12 * 1024 * 1024; // of the hub's frames, which may have 16 MiB
const MAX_URL = 60_000;
const MAX_VALUE = 60_000;
const MAX_HEADERS = 400;
const MAX_HEADER_CHARS = 500_000;
const MAX_STATUS = 999;

export class Diary {
  /** @param {OnNetwork} onNetwork @param {(entry: ConsoleEntry) => void} onEntry */
  constructor(onNetwork, onEntry) {
    this.onNetwork = onNetwork;
    this.onEntry = onEntry;
    /** @type {Map<string, NetworkRequest>} */
    this.requests = new Map();
    /** @type {ConsoleEntry[]} */
    this.entries = [];
    /** @type {Set<string>} addresses that are known from Chrome's own account alone */
    this.early = new Set();
    /** @type {Map<string, import('./debug-early.js').Redirect>} by address: where requests were sent on, the first of them */
    this.redirects = new Map();
    this.asked = 0; // characters of all requests
    this.printed = 0; // and of all lines
    this.newest = 0;
    this.known = 0;
  }

  /** @param {string} id @param {object} data @param {NetworkRequest} request */
  begin(id, data, request) {
    this.#change(id, request);
    this.onNetwork('request', { request_id: id, ...data });
  }

  /** @param {string} id
   * @param {{timestamp: number, status: number, status_text: string, headers: Record<string, string>, mime_type: string}} data */
  respond(id, data) {
    if (!this.requests.has(id)) return;
    const { status_text, headers, mime_type } = data;
    const status = Math.min(Math.max(Math.trunc(data.status) || 0, 0), MAX_STATUS);
    this.#change(id, { status, status_text, response_headers: headers, mime_type });
    this.onNetwork('response', { request_id: id, ...data, status });
  }

  /** @param {string} id @param {{timestamp: number, duration_ms: number, body?: string, body_truncated?: boolean}} data */
  finish(id, data) {
    if (!this.requests.has(id)) return;
    const { duration_ms, body, body_truncated } = data;
    this.#change(id, {
      duration_ms,
      ...(body === undefined ? {} : { response_body: body }),
      ...(body_truncated ? { response_body_truncated: true } : {}),
    });
    this.onNetwork('finished', { request_id: id, ...data });
  }

  /** @param {string} id @param {{timestamp: number, duration_ms: number, error: string}} data */
  fail(id, data) {
    if (!this.requests.has(id)) return;
    this.#change(id, { duration_ms: data.duration_ms, error: data.error });
    this.onNetwork('failed', { request_id: id, ...data });
  }

  /** Chrome will tell of old lines again. */
  expectRepeats() {
    this.known = this.newest;
  }

  /** A line of the console. @param {string} method @param {any} params */
  print(method, params) {
    const entry = entryOf(method, params);
    if (!entry || entry.timestamp <= this.known) return;
    this.newest = Math.max(this.newest, entry.timestamp);
    this.entries.push(entry);
    this.printed += lineChars(entry);
    if (this.entries.length > MOST_ENTRIES * 1.1 || this.printed > MOST_CHARS) this.#trim();
    this.onEntry(entry);
  }

  /** Earlier lines are another page's. @param {number} moment */
  forgetBefore(moment) {
    this.entries = this.entries.filter(({ timestamp }) => timestamp >= moment);
    this.printed = this.entries.reduce((sum, one) => sum + lineChars(one), 0);
  }

  /** A tenth more than need be, for it costs as much as the lines that stay. */
  #trim() {
    let from = Math.max(this.entries.length - MOST_ENTRIES, 0);
    for (let one = 0; one < from; one += 1) this.printed -= lineChars(this.entries[one]);
    for (; from < this.entries.length && this.printed > MOST_CHARS * 0.9; from += 1) {
      this.printed -= lineChars(this.entries[from]);
    }
    this.entries = this.entries.slice(from);
  }

  /** @param {string} id @param {Partial<NetworkRequest>} change */
  #change(id, change) {
    const before = this.requests.get(id);
    this.asked -= before ? requestChars(before) : 0;
    const request = /** @type {NetworkRequest} */ (Object.assign(before ?? {}, change));
    this.requests.set(id, request);
    this.asked += requestChars(request);
    while (this.requests.size > MOST_REQUESTS || (this.asked > MOST_CHARS && this.requests.size > 1)) {
      const [oldest, gone] = /** @type {[string, NetworkRequest]} */ (this.requests.entries().next().value);
      this.requests.delete(oldest);
      this.asked -= requestChars(gone);
    }
  }

  /** Everything once more, for a hub that has just heard of the tab. */
  tellAll() {
    for (const one of this.requests.values()) tell(one, this.onNetwork);
    for (const entry of this.entries) this.onEntry(entry);
  }
}

/** @param {NetworkRequest} one @param {OnNetwork} onNetwork */
function tell(one, onNetwork) {
  const { request_id, timestamp, method, url, status, status_text, mime_type, duration_ms, error } = one;
  const response = { status, status_text, mime_type, headers: one.response_headers };
  const same = { request_id, timestamp };
  onNetwork('request', { ...same, method, url, headers: one.request_headers, body: one.request_body });
  if (status !== undefined) onNetwork('response', { ...same, ...response });
  if (error) onNetwork('failed', { ...same, error, duration_ms });
  else if (duration_ms !== undefined) {
    const truncated = one.response_body_truncated ? { body_truncated: true } : {};
    onNetwork('finished', { ...same, duration_ms, body: one.response_body, ...truncated });
  }
}

/** What is kept of a request, about. @param {NetworkRequest} one */
function requestChars({ url, request_headers, request_body, response_headers, response_body }) {
  const bodies = (request_body?.length ?? 0) + (response_body?.length ?? 0);
  return url.length + bodies + headerChars(request_headers) + headerChars(response_headers);
}

/** @param {Record<string, string>} [headers] */
function headerChars(headers = {}) {
  let sum = 0;
  for (const name in headers) sum += name.length + headers[name].length;
  return sum;
}

/** @param {ConsoleEntry} entry */
function lineChars({ message, args = [], source = '', stack_trace = '' }) {
  let sum = message.length + source.length + stack_trace.length;
  for (const one of args) sum += typeof one === 'string' ? one.length : (JSON.stringify(one)?.length ?? 0);
  return sum;
}

/** The newest of a list that fit into one frame. @template T @param {T[]} list @returns {T[]} */
export function fitting(list) {
  const encoder = new TextEncoder();
  const kept = [];
  let room = MOST_TOLD;
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const size = encoder.encode(JSON.stringify(list[at])).length + 1;
    if (size > MOST_TOLD) continue; // it alone fits nowhere
    if ((room -= size) < 0) break;
    kept.push(list[at]);
  }
  return kept.reverse();
}

/** @param {string} url */
export function address(url) {
  return url.length > MAX_URL ? url.slice(0, MAX_URL) : url;
}

/** @param {Record<string, string>} [headers] @returns {Record<string, string>} */
export function fields(headers = {}) {
  let room = MAX_HEADER_CHARS;
  /** @type {[string, string][]} */
  const pairs = [];
  for (const [name, value] of Object.entries(headers).slice(0, MAX_HEADERS)) {
    const text = String(value).slice(0, Math.min(MAX_VALUE, room));
    room -= text.length;
    pairs.push([name.slice(0, 200), text]);
  }
  return Object.fromEntries(pairs);
}
