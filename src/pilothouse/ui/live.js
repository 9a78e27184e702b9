// The one WebSocket to the daemon: words both ways, pictures one way. It comes back by itself, with growing pauses, and then
// asks again for everything that is being watched. Pictures come only while this page itself is seen.

import { ApiError } from './api.js';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
const ANSWER_MS = 20_000;
const REVOKED = 4401;
const UNWATCH = { do: 'unwatch' };

/** @typedef {{bitmap: ImageBitmap, width: number, height: number}} Picture */
/** @typedef {{show: (picture: Picture) => void, fail: (reason: Error) => void}} Eye a bitmap is closed after `show` */
/** @typedef {ReturnType<typeof setTimeout>} Timer */
/** @typedef {{resolve: (data: any) => void, reject: (error: Error) => void, timer: Timer}} Question */

export class Live {
  /**
   * @param {string} address of the WebSocket
   * @param {() => string} secret
   * @param {{onWord: (word: any) => void, onState: (state: 'live' | 'away' | 'ended') => void}} ears
   */
  constructor(address, secret, ears) {
    this.address = address;
    this.secret = secret;
    this.ears = ears;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.delay = FIRST_DELAY_MS;
    this.number = 0;
    this.isEnded = false;
    /** @type {Timer | undefined} */
    this.again = undefined;
    /** @type {Map<number, Question>} */
    this.questions = new Map();
    /** @type {Map<string, {command: any, hear: Set<Eye>, drawing: Promise<void>}>} pictures that somebody looks at */
    this.watched = new Map();
    /** @type {Map<string, {command: any, hear: Set<(line: any) => void>}>} tabs whose lines somebody reads */
    this.followed = new Map();
    document.addEventListener('visibilitychange', () => this.seen());
    this.open();
  }

  open() {
    if (this.isEnded) return;
    const socket = new WebSocket(this.address, ['pilothouse', `pilothouse.key.${this.secret()}`]);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.delay = FIRST_DELAY_MS;
      this.ears.onState('live');
      for (const { command } of this.followed.values()) void this.ask(command).catch(() => {});
      this.seen();
    };
    socket.onmessage = ({ data }) => (typeof data === 'string' ? this.hear(JSON.parse(data)) : this.see(data));
    socket.onclose = ({ code }) => this.lost(socket, code, opened);
  }

  /** @param {WebSocket} socket @param {number} code @param {boolean} opened */
  lost(socket, code, opened) {
    if (socket !== this.socket) return;
    this.socket = null;
    for (const { reject, timer } of this.questions.values()) {
      clearTimeout(timer);
      reject(new ApiError({ code: 'system', message: 'the connection to Pilothouse broke' }, 0));
    }
    this.questions.clear();
    if (this.isEnded) return;
    this.ears.onState(code === REVOKED ? 'ended' : 'away');
    this.again = setTimeout(() => this.open(), this.delay * (0.6 + Math.random() * 0.4));
    this.delay = Math.min(this.delay * (opened ? 1 : 2), LONGEST_DELAY_MS);
  }

  /** Do not come back. */
  end() {
    this.isEnded = true;
    clearTimeout(this.again);
    this.socket?.close();
  }

  /** @param {object} command @param {number} [patience] a person may take their time @returns {Promise<any>} */
  ask(command, patience = ANSWER_MS) {
    return new Promise((resolve, reject) => {
      const id = ++this.number;
      const timer = setTimeout(() => {
        this.questions.delete(id);
        reject(new ApiError({ code: 'timeout', message: 'Pilothouse did not answer in time' }, 0));
      }, patience);
      this.questions.set(id, { resolve, reject, timer });
      if (!this.say({ ...command, id }))
        this.answer(id, (question) =>
          question.reject(new ApiError({ code: 'system', message: 'there is no connection to Pilothouse' }, 0)),
        );
    });
  }

  /** Without an answer. @param {object} command */
  say(command) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(command));
    return true;
  }

  /** @param {any} word */
  hear(word) {
    if (word.kind === 'done') this.answer(word.id, (question) => question.resolve(word.data));
    else if (word.kind === 'failed') this.answer(word.id, (question) => question.reject(new ApiError(word.error, 0)));
    else if (word.kind === 'line') {
      for (const hear of this.followed.get(place(word.session, word.of))?.hear ?? []) hear(word.line);
    } else this.ears.onWord(word);
  }

  /** @param {number} id @param {(question: Question) => void} say */
  answer(id, say) {
    const question = this.questions.get(id);
    if (!question) return;
    this.questions.delete(id);
    clearTimeout(question.timer);
    say(question);
  }

  /** One after the other: an older picture is never drawn over a newer one. @param {ArrayBuffer} data */
  see(data) {
    const size = new DataView(data).getUint32(0);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
    const eyes = this.watched.get(place(head.session, head.tab));
    if (!eyes) return;
    eyes.drawing = eyes.drawing
      .then(() => createImageBitmap(new Blob([new Uint8Array(data, 4 + size)], { type: 'image/jpeg' })))
      .then((bitmap) => {
        for (const { show } of eyes.hear) show({ bitmap, width: head.width, height: head.height });
        bitmap.close();
      })
      .catch(() => {}); // one that cannot be drawn is left out
  }

  /** Whoever cannot see this page is sent no pictures. */
  seen() {
    if (this.isEnded) return;
    for (const { command, hear } of this.watched.values()) {
      if (document.hidden) void this.ask({ ...UNWATCH, session: command.session, tab: command.tab }).catch(() => {});
      else this.begin(command, hear);
    }
  }

  /** @param {any} command @param {Set<Eye>} eyes who are told why there is no picture */
  begin(command, eyes) {
    this.ask(command).catch((reason) => {
      if (reason.code !== 'system') for (const { fail } of eyes) fail(reason); // a line that broke asks again by itself
    });
  }

  /**
   * A tab's picture, until the result is called.
   * @param {string} session
   * @param {string} tab
   * @param {Eye} eye
   * @param {boolean} [slow] a small picture need not move fast
   */
  watch(session, tab, eye, slow = false) {
    const command = { do: 'watch', session, tab, slow };
    const made = { command, hear: new Set(), drawing: Promise.resolve() };
    return this.join(this.watched, made, eye, () => document.hidden || this.begin(command, made.hear));
  }

  /**
   * A tab's console, network and events, from the beginning.
   * @param {string} session
   * @param {string} tab
   * @param {(line: any) => void} hear
   */
  follow(session, tab, hear) {
    const command = { do: 'follow', session, tab };
    const begin = () => void this.ask(command).catch(() => {});
    return this.join(this.followed, { command, hear: new Set() }, hear, begin);
  }

  /**
   * @param {Map<string, any>} map
   * @param {any} made for the first who wants it
   * @param {any} listener
   * @param {() => void} begin
   */
  join(map, made, listener, begin) {
    const { do: name, session, tab } = made.command;
    const key = place(session, tab);
    const there = map.get(key) ?? made;
    there.hear.add(listener);
    if (there === made) {
      map.set(key, made);
      begin();
    }
    return () => {
      there.hear.delete(listener);
      if (there.hear.size || map.get(key) !== there) return;
      map.delete(key);
      void this.ask({ do: `un${name}`, session, tab }).catch(() => {});
    };
  }
}

/** @param {string} session @param {string} tab */
function place(session, tab) {
  return `${session} ${tab}`;
}
