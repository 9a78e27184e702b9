// The one WebSocket to the daemon: words both ways, pictures one way. It comes back by itself, with growing pauses, and then
// asks again for everything that is being watched.

import { ApiError } from './api.js';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
const ANSWER_MS = 20_000;
const REVOKED = 4401;

/** @typedef {{bitmap: ImageBitmap, width: number, height: number}} Picture */
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
    /** @type {Map<number, Question>} */
    this.questions = new Map();
    /** @type {Map<string, {command: any, show: Set<(picture: Picture) => void>}>} pictures that somebody looks at */
    this.watched = new Map();
    /** @type {Map<string, {command: any, hear: Set<(line: any) => void>}>} tabs whose lines somebody reads */
    this.followed = new Map();
    this.open();
  }

  open() {
    const socket = new WebSocket(this.address, ['pilothouse', `pilothouse.key.${this.secret()}`]);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.delay = FIRST_DELAY_MS;
      this.ears.onState('live');
      for (const { command } of [...this.watched.values(), ...this.followed.values()])
        void this.ask(command).catch(() => {});
    };
    socket.onmessage = ({ data }) => (typeof data === 'string' ? this.hear(JSON.parse(data)) : void this.see(data));
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
    setTimeout(() => this.open(), this.delay * (0.6 + Math.random() * 0.4));
    this.delay = Math.min(this.delay * (opened ? 1 : 2), LONGEST_DELAY_MS);
  }

  /** Do not come back. */
  end() {
    this.isEnded = true;
    this.socket?.close();
  }

  /** Try now. */
  hurry() {
    this.delay = FIRST_DELAY_MS;
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

  /** @param {ArrayBuffer} data */
  async see(data) {
    const size = new DataView(data).getUint32(0);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
    const eyes = this.watched.get(place(head.session, head.tab));
    if (!eyes) return;
    const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, 4 + size)], { type: 'image/jpeg' }));
    for (const show of eyes.show) show({ bitmap, width: head.width, height: head.height });
  }

  /**
   * A tab's picture, until the result is called.
   * @param {string} session
   * @param {string} tab
   * @param {(picture: Picture) => void} show
   * @param {boolean} [slow] a small picture need not move fast
   */
  watch(session, tab, show, slow = false) {
    return this.join(this.watched, 'show', { do: 'watch', session, tab, slow }, show);
  }

  /**
   * A tab's console, network and events, from the beginning.
   * @param {string} session
   * @param {string} tab
   * @param {(line: any) => void} hear
   */
  follow(session, tab, hear) {
    return this.join(this.followed, 'hear', { do: 'follow', session, tab }, hear);
  }

  /**
   * @param {Map<string, any>} map
   * @param {'show' | 'hear'} name
   * @param {any} command
   * @param {(what: any) => void} listener
   */
  join(map, name, command, listener) {
    const key = place(command.session, command.tab);
    const there = map.get(key);
    if (there) there[name].add(listener);
    else {
      map.set(key, { command, [name]: new Set([listener]) });
      void this.ask(command).catch(() => {});
    }
    return () => {
      const mine = map.get(key);
      mine?.[name].delete(listener);
      if (!mine || mine[name].size) return;
      map.delete(key);
      void this.ask({ do: `un${command.do}`, session: command.session, tab: command.tab }).catch(() => {});
    };
  }
}

/** @param {string} session @param {string} tab */
function place(session, tab) {
  return `${session} ${tab}`;
}
