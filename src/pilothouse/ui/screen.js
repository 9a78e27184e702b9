// A tab's live picture, and a person's hand in it. Without the wheel it only shows, or takes what the person was asked to
// point at; with it, every press, key and turn of the mouse wheel goes to the page. Shift+Escape leaves the picture, so that
// the keyboard is never caught in it; nobody but the person themselves brings it there.

import { h, sure } from './dom.js';

const BUTTONS = /** @type {const} */ (['left', 'middle', 'right']);
const SLOWEST_MOVE_MS = 30;
const STILL = 'Not connected: this picture stands still, and nothing that is done here reaches the page.';
const IS_MAC = navigator.platform.startsWith('Mac');

/** @typedef {'' | 'wheel' | 'point'} Role what the person's hand is in it: nothing, the page's, or a finger that points */

export class Screen {
  /**
   * @param {import('./live.js').Live} live
   * @param {string} session
   * @param {string} tab
   * @param {{label: string, slow?: boolean, describedBy?: string, onLeave?: () => void}} how
   */
  constructor(live, session, tab, how) {
    this.live = live;
    this.session = session;
    this.tab = tab;
    this.how = how;
    this.size = { width: 0, height: 0 };
    /** @type {Role} */
    this.role = '';
    /** @type {any[]} */
    this.waiting = [];
    this.movedAt = 0;
    /** @type {Map<string, any>} what would let go of each button and key that is held */
    this.held = new Map();
    this.isStill = false; // nothing comes from the daemon, and nothing goes there
    this.canvas = h('canvas', {
      class: 'screen',
      width: 1280,
      height: 800,
      role: 'img',
      'aria-label': how.label,
      'aria-describedby': how.describedBy,
    });
    this.pen = sure(this.canvas.getContext('2d'));
    this.wrong = h('p', { class: 'small soft screen-wrong', hidden: true });
    this.still = h('p', { class: 'small notice screen-still', hidden: true }, STILL);
    this.node = h('div', { class: 'screen-frame' }, this.still, this.canvas, this.wrong);
    const eye = { show: this.#show.bind(this), fail: this.#fail.bind(this) };
    this.leave = live.watch(session, tab, eye, how.slow);
  }

  /** @param {Error} reason */
  #fail(reason) {
    this.wrong.textContent = `No picture: ${reason.message}`;
    this.wrong.hidden = false;
  }

  /** @param {import('./live.js').Picture} picture */
  #show({ bitmap, width, height }) {
    if (this.canvas.width !== bitmap.width || this.canvas.height !== bitmap.height) {
      this.canvas.width = bitmap.width;
      this.canvas.height = bitmap.height;
    }
    this.size = { width, height };
    this.wrong.hidden = true;
    this.pen.drawImage(bitmap, 0, 0);
    this.canvas.dataset.frames = String(Number(this.canvas.dataset.frames ?? 0) + 1);
  }

  /** Whether the line to the daemon is there. @param {boolean} isLive */
  connected(isLive) {
    this.isStill = !isLive;
    this.still.hidden = isLive;
    this.canvas.toggleAttribute('data-still', !isLive);
  }

  /** @param {Role} role */
  steer(role) {
    if (role === this.role) return;
    this.release();
    this.role = role;
    this.canvas.toggleAttribute('data-mine', role !== '');
    this.#listen();
    if (role !== 'wheel') {
      this.canvas.removeAttribute('tabindex');
      this.canvas.setAttribute('role', 'img');
      return;
    }
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
  }

  /** For whoever has just taken the wheel here. */
  focus() {
    this.canvas.focus();
  }

  /** What no single key writes: composed, dictated, from a phone's keyboard. @param {string} text */
  write(text) {
    if (this.role === 'wheel' && text) this.#do({ by: 'text', text: text.slice(0, 100_000) });
  }

  /** Let go of every button and key: the person looks elsewhere now. */
  release() {
    for (const gesture of this.held.values()) this.#do(gesture);
    this.held.clear();
    this.#send();
  }

  #listen() {
    if (this.listens) return;
    this.listens = true;
    const { canvas } = this;
    for (const kind of /** @type {const} */ (['pointerdown', 'pointermove', 'pointerup'])) {
      canvas.addEventListener(kind, (event) => this.#steers && this.#pointed(event));
    }
    canvas.addEventListener('pointermove', (event) => this.role === 'point' && this.#point(event));
    canvas.addEventListener('click', (event) => this.role === 'point' && this.#point(event));
    for (const kind of ['pointercancel', 'blur']) canvas.addEventListener(kind, () => this.#steers && this.release());
    canvas.addEventListener('wheel', (event) => this.#steers && this.#turned(event), { passive: false });
    canvas.addEventListener('contextmenu', (event) => this.#steers && event.preventDefault());
    canvas.addEventListener('keydown', (event) => this.#steers && this.#key(event, 'down'));
    canvas.addEventListener('keyup', (event) => this.#steers && this.#key(event, 'up'));
    canvas.addEventListener('paste', (event) => {
      const text = event.clipboardData?.getData('text/plain');
      if (this.#steers && text) this.#do({ by: 'text', text: text.slice(0, 100_000) });
      event.preventDefault();
    });
  }

  /** Before the first picture nobody knows where a press would land. */
  get #steers() {
    return this.role === 'wheel' && this.size.width > 0 && !this.isStill;
  }

  /** @param {MouseEvent} event */
  #point(event) {
    const presses = event.type === 'click';
    if (!this.size.width || (!presses && event.timeStamp - this.movedAt < SLOWEST_MOVE_MS)) return;
    this.movedAt = event.timeStamp;
    this.live.say({ do: 'point', session: this.session, tab: this.tab, ...this.#at(event), presses });
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
    const button = BUTTONS[event.button];
    if (kind !== 'move' && !button) return; // back and forward are this window's own
    if (kind === 'down') {
      this.canvas.focus();
      this.canvas.setPointerCapture(event.pointerId);
      this.presses = event.timeStamp - (this.pressedAt ?? -1000) < 400 ? Math.min((this.presses ?? 0) + 1, 3) : 1;
      this.pressedAt = event.timeStamp;
    }
    if (kind === 'move' && event.timeStamp - this.movedAt < SLOWEST_MOVE_MS) return;
    this.movedAt = event.timeStamp;
    const pressed = kind === 'move' ? {} : { button, count: this.presses ?? 1 };
    const at = this.#at(event);
    const gesture = { by: 'mouse', kind, ...at, buttons: event.buttons & 7, modifiers: modifiers(event), ...pressed };
    this.#hold(`button ${button}`, kind, { ...gesture, buttons: 0 });
    this.#do(gesture);
  }

  /** What is pressed is let go of some day. @param {string} name @param {string} kind @param {any} gesture */
  #hold(name, kind, gesture) {
    if (kind === 'down') this.held.set(name, { ...gesture, kind: 'up' });
    else if (kind === 'up') this.held.delete(name);
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
      event.preventDefault(); // Chrome would show its task manager
      if (kind === 'down') this.how.onLeave?.();
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'v') return; // a paste comes as text
    event.preventDefault();
    event.stopPropagation();
    const gesture = {
      by: 'key',
      kind,
      key: event.key.slice(0, 40),
      code: event.code.slice(0, 40),
      number: event.keyCode,
      modifiers: writes(event) ? modifiers(event) & 8 : modifiers(event),
      repeat: event.repeat,
    };
    this.#hold(`key ${event.code}`, kind, { ...gesture, repeat: false });
    this.#do(gesture);
  }

  /** What is done within one frame travels together. @param {any} gesture */
  #do(gesture) {
    if (!this.waiting.length) queueMicrotask(() => this.#send());
    this.waiting.push(gesture);
  }

  #send() {
    const gestures = this.waiting.splice(0, 200);
    if (gestures.length) this.live.say({ do: 'move', session: this.session, tab: this.tab, gestures });
  }

  close() {
    this.release();
    this.leave();
  }
}

/** With AltGr, or Option on a Mac, a key writes another sign; it is no shortcut. @param {KeyboardEvent} event */
function writes(event) {
  if ([...event.key].length !== 1 || event.metaKey) return false;
  return event.getModifierState('AltGraph') || (IS_MAC && event.altKey && !event.ctrlKey);
}

/** @param {MouseEvent | KeyboardEvent} event */
function modifiers(event) {
  return Number(event.altKey) + 2 * Number(event.ctrlKey) + 4 * Number(event.metaKey) + 8 * Number(event.shiftKey);
}
