// Requests of a held tab, as Chrome's debugger tells them, in the hub's words.

import { address, fields } from './debug-diary.js';
import { wasSentTo } from './debug-early.js';

/** @typedef {import('./debug-diary.js').Diary} Diary */
/** @typedef {import('./types').Debuggee} Debuggee */

/**
 * @typedef {object} Desk who wants to know, and how much
 * @property {(loaderId: string, documentUrl: string) => Diary | undefined} diaryFor whose requests a document's are
 * @property {() => number} bodyMax characters of a body that are told
 * @property {(debuggee: Debuggee, method: string, params: object) => Promise<any>} ask
 * @property {() => void} missed a request has ended that began, at this address or another, before we listened
 */

/** @typedef {{id: string, diary: Diary, at: number, began: number, hop: number, mime: string, size: number,
 *   isSentOn?: boolean}} Open */

const MAX_FETCHED = 10_000_000;
const READ_ONLY = new Set(['Stylesheet', 'Image', 'Media', 'Font', 'Script', 'TextTrack', 'Manifest']); // always GET
const SAYS = /^(text\/|application\/(.*json|.*xml|.*javascript|x-www-form-urlencoded|graphql|x-ndjson))/;

export class Requests {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    /** @type {Map<string, Open>} */
    this.open = new Map();
    /** @type {Set<string>} of data, which is no request */
    this.data = new Set();
  }

  /** @param {Debuggee} source @param {string} method @param {any} params */
  heard(source, method, params) {
    const key = source.sessionId ? `${source.sessionId.slice(0, 12)}.${params.requestId}` : params.requestId;
    switch (method) {
      case 'Network.requestWillBeSent': return this.#begun(key, params);
      case 'Network.responseReceived': return this.#answered(key, params);
      case 'Network.dataReceived': return this.#grew(key, params.dataLength);
      case 'Network.loadingFinished': return void this.#finished(source, key, params);
      case 'Network.loadingFailed': return this.#failed(key, params);
      case 'Network.webSocketCreated': return this.#socket(key, params.url);
      case 'Network.webSocketHandshakeResponseReceived': return this.#upgraded(key, params);
      case 'Network.webSocketClosed': return this.#closed(key, params.timestamp);
    }
  }

  /** @param {string} key @param {any} params */
  #begun(key, params) {
    const { loaderId, documentURL, request, timestamp, wallTime, redirectResponse } = params;
    if (request.url.startsWith('data:')) return void this.data.add(key);
    const before = this.open.get(key) ?? (redirectResponse && this.#adopted(key, params, redirectResponse));
    if (before && redirectResponse) {
      this.#respond(before, redirectResponse, timestamp);
      before.diary.finish(before.id, { timestamp: moment(before, timestamp), duration_ms: lasted(before, timestamp) });
    }
    const diary = this.desk.diaryFor(loaderId, documentURL);
    if (!diary) return;
    const hop = before && redirectResponse ? before.hop + 1 : 0;
    const id = hop ? `${key}.${hop}` : key;
    const isSentOn = hop > 0 && before?.isSentOn;
    const open = { id, diary, at: wallTime * 1000, began: timestamp, hop, mime: '', size: 0, isSentOn };
    this.open.set(key, open);
    const body = request.postData === undefined ? undefined : request.postData.slice(0, this.desk.bodyMax());
    begin(open, { method: request.method, url: request.url, headers: request.headers, body });
  }

  /** @param {string} key @param {any} params */
  #answered(key, params) {
    const open = this.open.get(key) ?? this.#adopted(key, params, params.response);
    if (open) this.#respond(open, params.response, params.timestamp);
  }

  /** A request that began before we listened: its answer, be it one that sends it on, tells all but the method and what was
   * sent. The document is told of otherwise. @param {string} key @param {any} params @param {any} response
   * @returns {Open | undefined} */
  #adopted(key, { requestId, loaderId, type, timestamp }, { url, timing }) {
    const diary = requestId === loaderId || url.startsWith('data:') ? undefined : this.desk.diaryFor(loaderId, '');
    if (!diary) return undefined;
    const began = timing?.requestTime ?? timestamp;
    const isSentOn = wasSentTo(diary, url);
    const open = { id: key, diary, at: Date.now() - (timestamp - began) * 1000, began, hop: 0, mime: '', size: 0, isSentOn };
    this.open.set(key, open);
    if (diary.requests.has(key)) return open; // it began before our last silence, and is known better
    begin(open, { method: READ_ONLY.has(type) ? 'GET' : '', url, headers: {}, body: undefined });
    return open;
  }

  /** @param {Open} open @param {any} response @param {number} timestamp */
  #respond(open, { status, statusText, headers, mimeType }, timestamp) {
    open.mime = mimeType;
    open.diary.respond(open.id, {
      timestamp: moment(open, timestamp),
      status,
      status_text: (statusText ?? '').slice(0, 1000),
      headers: fields(headers),
      mime_type: (mimeType ?? '').slice(0, 200),
    });
  }

  /** @param {string} key @param {number} bytes */
  #grew(key, bytes) {
    const open = this.open.get(key);
    if (open) open.size += bytes;
  }

  /** @param {Debuggee} source @param {string} key @param {any} params */
  async #finished(source, key, { requestId, timestamp }) {
    const open = this.open.get(key);
    if (!open) return this.#unknown(key);
    this.open.delete(key);
    const body = await this.#body(source, requestId, open);
    open.diary.finish(open.id, { timestamp: moment(open, timestamp), duration_ms: lasted(open, timestamp), ...body });
    if (open.isSentOn) this.desk.missed();
  }

  /** @param {string} key of a request that has ended */
  #unknown(key) {
    if (!this.data.delete(key)) this.desk.missed();
  }

  /** @param {Debuggee} source @param {string} requestId @param {Open} open */
  async #body(source, requestId, { mime, size }) {
    const most = this.desk.bodyMax();
    if (!most || !SAYS.test(mime) || !size) return {};
    if (size > MAX_FETCHED) return { body_truncated: true };
    const told = await this.desk.ask(source, 'Network.getResponseBody', { requestId }).catch(() => undefined);
    if (!told || told.base64Encoded) return {};
    if (told.body.length <= most) return { body: told.body };
    return { body: told.body.slice(0, most), body_truncated: true };
  }

  /** @param {string} key @param {any} params */
  #failed(key, { errorText, blockedReason, timestamp }) {
    const open = this.open.get(key);
    if (!open) return this.#unknown(key);
    this.open.delete(key);
    const error = [errorText || 'failed', blockedReason].filter(Boolean).join(', ').slice(0, 1000);
    open.diary.fail(open.id, { timestamp: moment(open, timestamp), duration_ms: lasted(open, timestamp), error });
    if (open.isSentOn) this.desk.missed();
  }

  /** @param {string} key @param {string} url */
  #socket(key, url) {
    const diary = this.desk.diaryFor('', '');
    if (!diary) return;
    const open = { id: key, diary, at: Date.now(), began: 0, hop: 0, mime: '', size: 0 };
    this.open.set(key, open);
    begin(open, { method: 'GET', url, headers: {}, body: undefined });
  }

  /** @param {string} key @param {any} params */
  #upgraded(key, { response, timestamp }) {
    const open = this.open.get(key);
    if (!open) return;
    open.began = timestamp;
    this.#respond(open, response, timestamp);
  }

  /** @param {string} key @param {number} timestamp */
  #closed(key, timestamp) {
    const open = this.open.get(key);
    if (!open) return;
    this.open.delete(key);
    const whole = { ...open, began: open.began || timestamp };
    open.diary.finish(open.id, { timestamp: moment(whole, timestamp), duration_ms: lasted(whole, timestamp) });
  }
}

/** @param {Open} open @param {{method: string, url: string, headers: Record<string, string>, body?: string}} told */
function begin({ id, diary, at }, { method, url, headers, body }) {
  const data = {
    timestamp: at,
    method: method.slice(0, 200),
    url: address(url),
    headers: fields(headers),
    ...(body === undefined ? {} : { body }),
  };
  const { headers: request_headers, body: request_body, ...rest } = data;
  diary.begin(id, data, { request_id: id, ...rest, request_headers, ...(body === undefined ? {} : { request_body }) });
}

/** Chrome's clock counts from anywhere; the wall's time is told once.
 * @param {{at: number, began: number}} open @param {number} timestamp */
function moment({ at, began }, timestamp) {
  return at + (timestamp - began) * 1000;
}

/** @param {{began: number}} open @param {number} timestamp */
function lasted({ began }, timestamp) {
  return Math.max((timestamp - began) * 1000, 0);
}
