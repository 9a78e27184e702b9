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
const MOST_TOLD = 12 * 1024 * 1024;
const MAX_URL = 60_000;
const MAX_VALUE = 60_000;
const MAX_HEADERS = 400;

export class Diary {
  /** @param {OnNetwork} onNetwork @param {(entry: ConsoleEntry) => void} onEntry */
  constructor(onNetwork, onEntry) {
    this.onNetwork = onNetwork;
    this.onEntry = onEntry;
    /** @type {Map<string, NetworkRequest>} */
    this.requests = new Map();
    /** @type {ConsoleEntry[]} */
    this.entries = [];
    this.bodies = 0;
    this.printed = 0;
    this.newest = 0;
    this.known = 0;
  }

  /** @param {string} id @param {object} data @param {NetworkRequest} request */
  begin(id, data, request) {
    this.requests.set(id, request);
    this.#grow(request.request_body);
    this.onNetwork('request', { request_id: id, ...data });
  }

  /** @param {string} id
   * @param {{timestamp: number, status: number, status_text: string, headers: Record<string, string>, mime_type: string}} data */
  respond(id, data) {
    const request = this.requests.get(id);
    if (!request) return;
    const { status, status_text, headers, mime_type } = data;
    Object.assign(request, { status, status_text, response_headers: headers, mime_type });
    this.onNetwork('response', { request_id: id, ...data });
  }

  /** @param {string} id @param {{timestamp: number, duration_ms: number, body?: string, body_truncated?: boolean}} data */
  finish(id, data) {
    const request = this.requests.get(id);
    if (!request) return;
    request.duration_ms = data.duration_ms;
    if (data.body !== undefined) request.response_body = data.body;
    if (data.body_truncated) request.response_body_truncated = true;
    this.#grow(data.body);
    this.onNetwork('finished', { request_id: id, ...data });
  }

  /** @param {string} id @param {{timestamp: number, duration_ms: number, error: string}} data */
  fail(id, data) {
    const request = this.requests.get(id);
    if (!request) return;
    request.duration_ms = data.duration_ms;
    request.error = data.error;
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
    this.printed += entry.message.length;
    if (this.entries.length > MOST_ENTRIES * 1.1 || this.printed > MOST_CHARS) this.#trim();
    this.onEntry(entry);
  }

  #trim() {
    this.entries = this.entries.slice(-Math.min(MOST_ENTRIES, this.entries.length / 2 + 1));
    this.printed = this.entries.reduce((sum, one) => sum + one.message.length, 0);
  }

  /** @param {string | undefined} text */
  #grow(text) {
    this.bodies += text?.length ?? 0;
    while (this.requests.size > MOST_REQUESTS || (this.bodies > MOST_CHARS && this.requests.size > 1)) {
      const [id, oldest] = /** @type {[string, NetworkRequest]} */ (this.requests.entries().next().value);
      this.requests.delete(id);
      this.bodies -= (oldest.request_body?.length ?? 0) + (oldest.response_body?.length ?? 0);
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

/** The newest of a list that fit into one frame. @template T @param {T[]} list @returns {T[]} */
export function fitting(list) {
  const encoder = new TextEncoder();
  let room = MOST_TOLD;
  let from = list.length;
  while (from > 0 && (room -= encoder.encode(JSON.stringify(list[from - 1])).length + 1) > 0) from -= 1;
  return list.slice(from);
}

/** @param {string} url */
export function address(url) {
  return url.length > MAX_URL ? url.slice(0, MAX_URL) : url;
}

/** @param {Record<string, string>} [headers] @returns {Record<string, string>} */
export function fields(headers = {}) {
  const pairs = Object.entries(headers).slice(0, MAX_HEADERS);
  return Object.fromEntries(pairs.map(([name, value]) => [name.slice(0, 200), String(value).slice(0, MAX_VALUE)]));
}
