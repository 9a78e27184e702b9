// Questions: what exactly would happen, and the answers by mouse or key. A card that has just come, or has just moved under
// the pointer, for whatever reason, takes no answer for a moment: nobody says yes to what they did not read.

import { ApiError } from './api.js';
import { button, chip, empty, facts, fill, h, problem, refill, sure } from './dom.js';
import { clock, hostOf, shownAs, took } from './format.js';
import { kept } from './reading.js';

export const CALM_MS = 350;
const LONG = 300;
const CHANGES = ' (changes)';
const RISKS = /** @type {Record<string, string>} */ ({ none: '', low: 'main', medium: 'warn', high: 'danger' });
const SCOPES = /** @type {Record<string, {text: string, key: string}>} */ ({
  once: { text: 'Allow once', key: '1' },
  session: { text: 'Allow for this session', key: 's' },
  domain: { text: 'Allow on this domain', key: 'o' },
});
const SAID = /** @type {Record<string, [string, string]>} */ ({
  allowed: ['allowed', 'ok'],
  denied: ['denied', 'danger'],
  expired: ['nobody answered', 'warn'],
  withdrawn: ['withdrawn', ''],
});

/** @param {import('./shell.js').House} house */
export function approvalsView(house) {
  const { store } = house;
  const cards = questionCards(house);
  const past = h('section', { class: 'card', 'aria-label': 'Answered' });
  const denied = h('section', { class: 'card', 'aria-label': 'Denied without asking', hidden: true });
  const wrong = h('div', { 'aria-live': 'polite' });
  const granted = h('section', { class: 'card', 'aria-label': 'Allowed for longer' });
  const node = h(
    'div',
    { class: 'view' },
    h(
      'header',
      {},
      h('h1', {}, 'Approvals'),
      h(
        'p',
        { class: 'soft small' },
        'Keys on a question: ',
        h('kbd', {}, 'A'),
        ' allow  ',
        h('kbd', {}, 'D'),
        ' deny',
      ),
    ),
    cards.node,
    granted,
    wrong,
    denied,
    past,
  );
  const readDenied = async () => {
    try {
      const told = await house.api.get('/api/approvals');
      // A clock of its own would redraw it every second; to the minute is enough.
      const shown = told.denied.map((/** @type {any} */ one) => ({ ...one, left_s: Math.ceil(one.left_s / 60) * 60 }));
      refill(denied, shown, () => [h('h2', {}, 'Denied without asking'), denials(shown, lift)]);
      denied.hidden = !shown.length;
    } catch {
      // It is read again when the connection is back.
    }
  };
  const lift = async (/** @type {string} */ id) => {
    try {
      await house.api.ask('DELETE', `/api/approvals/${id}`);
      fill(wrong);
    } catch (error) {
      fill(wrong, problem(error));
    }
    await readDenied();
  };
  const show = () => {
    refill(granted, store.grants, () => [h('h2', {}, 'Allowed for longer'), grants(house)]);
    refill(
      past,
      store.recent.map((one) => one.id),
      () => [h('h2', {}, 'Answered before'), answered(store.recent)],
    );
    granted.hidden = !store.grants.length;
    past.hidden = !store.recent.length;
  };
  show();
  const leave = store.on('questions', show);
  const unread = kept(house, readDenied);
  const reread = store.on('questions', () => void readDenied());
  // Whoever looks at this view and at nothing in it answers the first question by a key, without looking for it.
  const offer = () => {
    if (document.activeElement === document.body || document.activeElement?.id === 'main') cards.focus();
  };
  setTimeout(offer);
  const stop = store.on('question', offer);
  return { node, close: () => (leave(), stop(), unread(), reread(), cards.close()) };
}

/** The open questions, oldest first. @param {import('./shell.js').House} house @param {(question: any) => boolean} [fits] */
export function questionCards(house, fits = () => true) {
  const { store } = house;
  /** @type {Map<string, ReturnType<typeof card>>} */
  const shown = new Map();
  const none = empty(
    'Nothing waits for you',
    'When an agent wants to do something that needs your yes, it stands here.',
  );
  const list = h('div', { class: 'stack questions', role: 'list', 'aria-label': 'Questions that wait' });
  const node = h('div', {}, none, list);

  const show = () => {
    let went = false;
    const had = list.contains(document.activeElement);
    for (const [id, one] of shown) {
      if (store.pending.has(id)) continue;
      one.close();
      one.node.remove();
      shown.delete(id);
      went = true;
    }
    for (const [id, question] of store.pending) {
      if (shown.has(id) || !fits(question)) continue;
      const made = card(house, question);
      shown.set(id, made);
      list.append(made.node);
    }
    none.hidden = shown.size > 0;
    list.hidden = shown.size === 0;
    if (went && had) focus();
    watch();
  };
  // Another card went, a picture came, something above grew: looked for before each frame is drawn, so before it is seen.
  let watching = 0;
  const watch = () => {
    cancelAnimationFrame(watching);
    for (const one of shown.values()) one.stand();
    if (shown.size) watching = requestAnimationFrame(watch);
  };
  /** The first one; a key that was meant for another does not answer it. */
  const focus = () => {
    const [first] = shown.values();
    first?.calm();
    first?.node.focus();
  };
  /** Whoever comes back to this page reads first. */
  const back = () => document.hidden || shown.forEach((one) => one.calm());
  document.addEventListener('visibilitychange', back);
  show();
  const leave = store.on('questions', show);
  const ticking = setInterval(() => shown.forEach((one) => one.tick()), 1000);
  const close = () => {
    leave();
    clearInterval(ticking);
    document.removeEventListener('visibilitychange', back);
    cancelAnimationFrame(watching);
    for (const one of shown.values()) one.close();
  };
  return { node, focus, close };
}

/** @param {import('./shell.js').House} house @param {any} question */
function card(house, question) {
  let calmUntil = Infinity;
  let isSaid = false;
  const wrong = h('div', {});
  const early = h('p', { class: 'small soft', role: 'status' }); // below the buttons, which must not move
  const left = h('span', { class: 'soft small' });
  const picture = h('div', { class: question.tab ? 'sighting kept' : '' }); // its place is kept: buttons do not move
  const id = `question-${question.id}`;

  const answer = async (/** @type {'allow' | 'deny'} */ verdict, /** @type {string} */ scope) => {
    if (isSaid) return;
    const isCalm = performance.now() >= calmUntil;
    fill(early, isCalm ? '' : 'It has just come or moved: read it, then press once more.');
    if (!isCalm) return;
    isSaid = true;
    fill(wrong);
    try {
      await house.live.ask({ do: 'answer', approval: question.id, answer: verdict, scope });
    } catch (error) {
      isSaid = false;
      calm();
      fill(wrong, problem(error));
    }
  };
  const ways = question.scopes.map((/** @type {string} */ scope, /** @type {number} */ at) => {
    const { text, key } = SCOPES[scope];
    const name = scope === 'domain' && question.domain ? `Allow on ${question.domain.replace(CHANGES, '')}` : text;
    return h(
      'button',
      {
        type: 'button',
        class: at ? '' : 'main',
        title: question.reaches[scope],
        'aria-keyshortcuts': at ? key : `a ${key}`,
        on: { click: () => answer('allow', scope) },
      },
      name,
      h('kbd', { 'aria-hidden': 'true' }, at ? key.toUpperCase() : 'A'),
    );
  });
  const deny = h(
    'button',
    { type: 'button', class: 'danger', 'aria-keyshortcuts': 'd', on: { click: () => answer('deny', '') } },
    'Deny',
    h('kbd', { 'aria-hidden': 'true' }, 'D'),
  );
  const keys = /** @type {Record<string, () => void>} */ ({
    a: () => answer('allow', question.scopes[0]),
    d: () => answer('deny', ''),
    n: () => answer('deny', ''),
  });
  for (const scope of question.scopes) keys[SCOPES[scope].key] = () => answer('allow', scope);

  const buttons = h('div', { class: 'row' }, ways, deny);
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    const work = keys[event.key.toLowerCase()];
    if (
      !work ||
      event.repeat ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target instanceof HTMLInputElement
    )
      return;
    event.preventDefault();
    work();
  };
  const node = h(
    'div',
    {
      class: 'card question',
      tabindex: 0,
      role: 'listitem',
      id,
      'aria-labelledby': `${id}-what`,
      'data-risk': question.risk,
      on: { keydown: pressed },
    },
    h(
      'div',
      { class: 'row between' },
      h('h2', { id: `${id}-what` }, h('span', { class: 'mono' }, question.tool), wish(question)),
      h('div', { class: 'row' }, question.risk !== 'none' && chip(`${question.risk} risk`, RISKS[question.risk]), left),
    ),
    question.why && h('p', {}, question.why),
    h('div', { class: 'question-body' }, told(house, question), picture),
    question.limits && h('p', { class: 'notice small' }, question.limits),
    wrong,
    buttons,
    early,
  );
  const tick = () => fill(left, `${Math.max(0, Math.round((question.endsAt - Date.now()) / 1000))} s left`);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let calming;
  const calm = () => {
    clearTimeout(calming);
    calmUntil = performance.now() + CALM_MS;
    node.removeAttribute('data-calm');
    calming = setTimeout(() => node.setAttribute('data-calm', ''), CALM_MS + 1);
  };
  let place = '';
  const stand = () => {
    const now = placeOf(buttons);
    if (now !== place) calm();
    place = now;
  };
  tick();
  calm();
  const forget = look(house, question, picture);
  return { node, tick, stand, calm, close: () => (clearTimeout(calming), forget()) };
}

/** What is wanted, in a few words after the tool's name. @param {any} question */
export function wish({ aims, domain, scopes, urls }) {
  // Asked is where a link leads: what the page that is open calls it says nothing of that place.
  if (scopes[0] === 'domain' && !domain.endsWith(CHANGES)) return `: may it go to ${domain}?`;
  const aim = aims.find((/** @type {any} */ one) => one.name);
  const at = aim?.url || urls[0];
  const where = domain.replace(CHANGES, '') || (at ? hostOf(at) : '');
  const what = (aim?.name ?? '').replace(/[“”"\n]/g, "'"); // or it could write the rest of the heading, too
  const named = what.length > 60 ? `${what.slice(0, 60)}…` : what;
  return `${named ? ` “${named}”` : ''}${where ? ` on ${where}` : ''}?`;
}

/** Where it stands in the page, however far that is scrolled. @param {HTMLElement} node */
function placeOf(node) {
  let [left, top] = [0, 0];
  for (let at = /** @type {Element | null} */ (node); at instanceof HTMLElement; at = at.offsetParent) {
    left += at.offsetLeft;
    top += at.offsetTop;
  }
  return `${left} ${top}`;
}

/** What exactly would happen. @param {import('./shell.js').House} house @param {any} question */
function told(house, question) {
  const args = Object.entries(question.args).filter(([name]) => name !== 'session' && name !== 'tab');
  const aims = question.aims.map((/** @type {any} */ aim) =>
    h(
      'div',
      {},
      h('b', {}, aim.name || aim.purpose || '(no name)'),
      ` ${[aim.role || aim.kind, aim.form && `in a form with ${aim.form}`].filter(Boolean).join(', ')}`,
      aim.leads_to && h('div', { class: 'small soft' }, `leads to ${aim.leads_to}`),
    ),
  );
  const known = house.store.sessions.some((one) => one.id === question.session);
  return facts([
    ['Element', aims.length ? h('div', { class: 'stack tight' }, aims) : ''],
    [
      'Arguments',
      args.length
        ? h(
            'div',
            {},
            args.map(([name, value]) => argument(name, shownAs(value))),
          )
        : 'none',
    ],
    [
      'Where',
      h(
        'div',
        {},
        question.urls.map((/** @type {string} */ url) => h('div', { class: 'mono small' }, url)),
      ),
    ],
    ['Domain', question.domain.replace(CHANGES, '')],
    [
      'Agent',
      h(
        'span',
        {},
        question.caller,
        known && house.hrefOf && h('a', { class: 'small after', href: house.hrefOf(question.session) }, 'see its session'),
      ),
    ],
    ['Browser', question.browser === 'extension' ? 'your own Chrome' : question.browser],
    ['Rule', h('span', { class: 'small' }, question.rule)],
  ]);
}

/** What has several lines is shown in as many, all of them: in one, the rest of a script looks like a comment. */
function argument(/** @type {string} */ name, /** @type {string} */ text) {
  const label = h('span', { class: 'soft' }, `${name}: `);
  if (!text.includes('\n') && text.length <= LONG) return h('div', {}, label, h('span', { class: 'mono' }, text));
  return h('div', {}, label, h('pre', { class: 'argument', tabindex: 0, role: 'group', 'aria-label': name }, text));
}

/**
 * The page as it is, with the element marked.
 * @param {import('./shell.js').House} house
 * @param {any} question
 * @param {HTMLElement} into
 */
function look(house, question, into) {
  let gone = false;
  if (!question.tab) return () => {};
  house.api
    .get(`/api/approvals/${question.id}/picture`)
    .then(async (seen) => {
      if (gone) return;
      const bytes = Uint8Array.from(atob(seen.picture), (one) => one.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/jpeg' }));
      const names = question.aims
        .map((/** @type {any} */ aim) => aim.name)
        .filter(Boolean)
        .join(', ');
      const canvas = h('canvas', {
        width: bitmap.width,
        height: bitmap.height,
        role: 'img',
        'aria-label': names && seen.boxes.length ? `The page, with ${names} marked` : 'The page',
      });
      const pen = sure(canvas.getContext('2d'));
      pen.drawImage(bitmap, 0, 0);
      mark(pen, seen.boxes, bitmap.width / seen.width, canvas);
      fill(into, canvas, seen.note && h('p', { class: 'small soft' }, seen.note));
    })
    .catch((error) => {
      if (!(error instanceof ApiError)) throw error;
      if (!gone) fill(into, h('p', { class: 'small soft' }, 'No picture: ', error.message));
    });
  return () => {
    gone = true;
  };
}

/**
 * Everything but the elements is dimmed.
 * @param {CanvasRenderingContext2D} pen
 * @param {any[]} boxes
 * @param {number} scale
 * @param {HTMLCanvasElement} canvas
 */
function mark(pen, boxes, scale, canvas) {
  if (!boxes.length) return;
  const around = boxes.map(
    (box) =>
      /** @type {[number, number, number, number]} */ ([
        box.x * scale - 4,
        box.y * scale - 4,
        box.width * scale + 8,
        box.height * scale + 8,
      ]),
  );
  const shade = new Path2D();
  shade.rect(0, 0, canvas.width, canvas.height);
  for (const box of around) shade.rect(...box);
  pen.fillStyle = 'rgb(10 20 35 / 45%)';
  pen.fill(shade, 'evenodd');
  pen.strokeStyle = '#ff2d78';
  pen.lineWidth = 3;
  for (const box of around) pen.strokeRect(...box);
}

/** @param {import('./shell.js').House} house */
function grants(house) {
  return h(
    'ul',
    { class: 'lines' },
    house.store.grants.map((one) =>
      h(
        'li',
        { class: 'row between' },
        h(
          'span',
          { class: 'grow' },
          h('b', { class: 'mono' }, one.scope === 'domain' ? one.domain : one.tool),
          ` for ${one.caller} until its session ends`,
          h('div', { class: 'small soft' }, one.reaches),
        ),
        button('Take back', () => house.api.ask('DELETE', `/api/grants/${one.id}`)),
      ),
    ),
  );
}

/** What an agent would try again, and is not asked about for a while. @param {any[]} denied @param {(id: string) => void} lift */
function denials(denied, lift) {
  return h(
    'ul',
    { class: 'lines' },
    denied.map((one) =>
      h(
        'li',
        { class: 'row between' },
        h(
          'span',
          { class: 'grow' },
          h('b', { class: 'mono' }, one.tool),
          ` of ${one.caller} `,
          h('span', { class: 'small soft' }, `${one.rule} `),
          chip(`for ${took(one.left_s * 1000)}`),
        ),
        button('Ask me again', () => void lift(one.id), { 'aria-label': `Ask me again about ${one.tool}` }),
      ),
    ),
  );
}

/** @param {any[]} recent */
function answered(recent) {
  return h(
    'ul',
    { class: 'lines' },
    recent.slice(0, 20).map((one) => {
      const [word, kind] = SAID[one.outcome] ?? [one.outcome, ''];
      return h(
        'li',
        { class: 'row' },
        h('span', { class: 'soft small' }, clock(one.asked_ms)),
        h('b', { class: 'mono' }, one.tool),
        h('span', { class: 'grow one-line' }, one.aims[0]?.name || one.domain || one.urls[0] || ''),
        chip(one.scope && one.outcome === 'allowed' ? `${word}, ${one.scope}` : word, kind),
      );
    }),
  );
}
