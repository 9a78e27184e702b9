// A tab's live picture, and a person's hand in it. Without the wheel it only shows; with it, every press, key and turn of
// the mouse wheel goes to the page. Shift+Escape leaves the picture, so that the keyboard is never caught in it.

import { h, sure } from './dom.js';

const BUTTONS = /** @type {const} */ (['left', 'middle', 'right']);
const SLOWEST_MOVE_MS = 30;

export class Screen {
  /**
   * @param {import('./live.js').Live} live
   * @param {string} session
   * @param {string} tab
   * @param {{label: string, slow?: boolean, onLeave?: () => void}} how
   */
  constructor(live, session, tab, how) {
    this.live = live;
    this.session = session;
    this.tab = tab;
    this.how = how;
    this.size = { width: 0, height: 0 };
    this.isMine = false;
    /** @type {any[]} */
    this.waiting = [];
    this.movedAt = 0;
    this.canvas = h('canvas', { class: 'screen', width: 1280, height: 800, role: 'img', 'aria-label': how.label });
    this.pen = sure(this.canvas.getContext('2d'));
    this.leave = live.watch(session, tab, (picture) => this.#show(picture), how.slow);
  }

  /** @param {import('./live.js').Picture} picture */
  #show({ bitmap, width, height }) {
    if (this.canvas.width !== bitmap.width || this.canvas.height !== bitmap.height) {
      this.canvas.width = bitmap.width;
      this.canvas.height = bitmap.height;
    }
    this.size = { width, height };
    this.pen.drawImage(bitmap, 0, 0);
    this.canvas.dataset.frames = String(Number(this.canvas.dataset.frames ?? 0) + 1);
  }

  /** @param {boolean} isMine whether the person has the wheel */
  steer(isMine) {
    if (isMine === this.isMine) return;
    this.isMine = isMine;
    this.canvas.toggleAttribute('data-mine', isMine);
    if (!isMine) {
      this.canvas.removeAttribute('tabindex');
      this.canvas.setAttribute('role', 'img');
      return;
    }
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.#listen();
    this.canvas.focus();
  }

  #listen() {
    if (this.listens) return;
    this.listens = true;
    const { canvas } = this;
    for (const kind of /** @type {const} */ (['pointerdown', 'pointermove', 'pointerup'])) {
      canvas.addEventListener(kind, (event) => this.isMine && this.#pointed(event));
    }
    canvas.addEventListener('wheel', (event) => this.isMine && this.#turned(event), { passive: false });
    canvas.addEventListener('contextmenu', (event) => this.isMine && event.preventDefault());
    canvas.addEventListener('keydown', (event) => this.isMine && this.#key(event, 'down'));
    canvas.addEventListener('keyup', (event) => this.isMine && this.#key(event, 'up'));
    canvas.addEventListener('paste', (event) => {
      const text = event.clipboardData?.getData('text/plain');
      if (this.isMine && text) this.#do({ by: 'text', text: text.slice(0, 100_000) });
      event.preventDefault();
    });
  }

  /** @param {MouseEvent} event */
  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.size.width;
    const y = ((event.clientY - box.top) / box.height) * this.size.height;
    return { x: Math.round(x * 10) / 10, y: Math.round(y * 10) / 10 };
  }

  /** @param {PointerEvent} event */
  #pointed(event) {
    event.preventDefault();
    const kind = event.type.replace('pointer', '');
    if (kind === 'down') {
      this.canvas.focus();
      this.canvas.setPointerCapture(event.pointerId);
      this.presses = event.timeStamp - (this.pressedAt ?? -1000) < 400 ? Math.min((this.presses ?? 0) + 1, 3) : 1;
      this.pressedAt = event.timeStamp;
    }
    if (kind === 'move' && event.timeStamp - this.movedAt < SLOWEST_MOVE_MS) return;
    this.movedAt = event.timeStamp;
    const pressed = kind === 'move' ? {} : { button: BUTTONS[event.button] ?? 'left', count: this.presses ?? 1 };
    this.#do({
      by: 'mouse',
      kind,
      ...this.#at(event),
      buttons: event.buttons & 31,
      modifiers: modifiers(event),
      ...pressed,
    });
  }

  /** @param {WheelEvent} event */
  #turned(event) {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.#do({
      by: 'mouse',
      kind: 'wheel',
      ...this.#at(event),
      dx: event.deltaX * lines,
      dy: event.deltaY * lines,
      modifiers: modifiers(event),
    });
  }

  /** @param {KeyboardEvent} event @param {'down' | 'up'} kind */
  #key(event, kind) {
    if (event.key === 'Escape' && event.shiftKey) {
      if (kind === 'down') this.how.onLeave?.();
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'v') return; // a paste comes as text
    event.preventDefault();
    event.stopPropagation();
    this.#do({
      by: 'key',
      kind,
      key: event.key.slice(0, 40),
      code: event.code.slice(0, 40),
      number: event.keyCode,
      modifiers: modifiers(event),
      repeat: event.repeat,
    });
  }

  /** What is done within one frame travels together. @param {any} gesture */
  #do(gesture) {
    if (!this.waiting.length) queueMicrotask(() => this.#send());
    this.waiting.push(gesture);
  }

  #send() {
    const gestures = this.waiting.splice(0, 200);
    this.live.say({ do: 'move', session: this.session, tab: this.tab, gestures });
  }

  close() {
    this.leave();
  }
}

/** @param {MouseEvent | KeyboardEvent} event */
function modifiers(event) {
  return Number(event.altKey) + 2 * Number(event.ctrlKey) + 4 * Number(event.metaKey) + 8 * Number(event.shiftKey);
}
