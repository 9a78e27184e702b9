// Everything that was done, asked and refused, newest first: the audit log as a timeline. Ten thousand lines and more are
// one virtual list; a line opens beside it with all that the log has, and with the picture taken after a write.

import { ApiError } from './api.js';
import { button, chip, empty, facts, fill, h, refill, sure } from './dom.js';
import { clock, counted, dated, hostOf, plain, took } from './format.js';
import { VirtualList } from './list.js';

/** @typedef {import('./store.js').Entry} Entry */

const NO_PICTURE =
  'No picture: one is taken after a write that went well, while a dashboard is open; of quick ones, after the last.';

/** @param {import('./shell.js').House} house */
export function activityView(house) {
  const { store } = house;
  /** @type {Entry | null} */
  let open = null;
  let isDrawn = true;
  const words = h('input', {
    type: 'search',
    'aria-label': 'Filter by words',
    placeholder: 'Filter: tool, host, agent …',
    on: { input: () => filter() },
  });
  const kind = h(
    'select',
    { 'aria-label': 'Which lines', on: { change: () => filter() } },
    [
      ['', 'Everything'],
      ['write', 'Writes'],
      ['bad', 'Failed or refused'],
      ['note', 'Notes'],
    ].map(([value, text]) => h('option', { value }, text)),
  );
  const count = h('p', { class: 'soft small', 'data-key': 'count' });
  const heard = h('p', { class: 'unseen', role: 'status' }); // said when the person filters, not with every line
  const list = new VirtualList({
    height: 44,
    label: 'Activity',
    key: (one) => one.n,
    line: (one) => line(one),
    stamp: (one) => `${one.after?.n ?? ''} ${one.shot} ${open?.n === one.n}`,
  });
  const detail = h('section', { class: 'card detail', tabindex: 0, 'aria-label': 'One line', 'aria-live': 'polite' });
  const older = button('Read older lines', () => void more());
  const none = empty(
    'Nothing has happened yet',
    'Every call of every agent gets a line here, before it runs and after.',
  );
  const node = h(
    'div',
    { class: 'view' },
    h('header', {}, h('h1', {}, 'Activity'), h('div', { class: 'row' }, words, kind)),
    h('div', { class: 'row between' }, count, heard, older),
    none,
    h('div', { class: 'timeline' }, list.node, detail),
  );

  /** @param {Entry} entry */
  const line = (entry) => {
    const { tone, result } = outcome(entry);
    return h(
      'button',
      {
        type: 'button',
        class: 'event',
        'data-tone': tone,
        'aria-pressed': String(open?.n === entry.n),
        on: { click: () => look(entry) },
      },
      h('span', { class: 'soft small when' }, clock(entry.time)),
      h('b', { class: 'mono one-line' }, nameOf(entry)),
      h('span', { class: 'one-line grow' }, about(entry)),
      entry.shot && h('span', { class: 'small', title: 'with a picture' }, '▣'),
      result,
    );
  };
  const draw = () => {
    isDrawn = true;
    const wanted = words.value.trim().toLowerCase();
    const fits = (/** @type {Entry} */ one) => isOf(one, kind.value) && (!wanted || text(one).includes(wanted));
    const found = wanted || kind.value ? store.log.filter(fits) : store.log;
    list.show(found.toReversed());
    none.hidden = store.log.length > 0;
    fill(
      count,
      found.length === store.log.length
        ? counted(store.log.length, 'line')
        : `${found.length.toLocaleString()} of ${counted(store.log.length, 'line')}`,
    );
    older.hidden = store.first <= 1;
    if (open) showDetail(open);
  };
  const filter = () => {
    draw();
    heard.textContent = count.textContent;
  };
  const more = async () => {
    older.disabled = true;
    await store.older().catch(() => false);
    older.disabled = false;
  };
  /** @param {Entry} entry */
  const look = (entry) => {
    open = entry;
    list.refresh();
    showDetail(entry);
    detail.scrollIntoView({ block: 'nearest' });
  };
  let pictured = 0;
  const picture = h('div', { class: 'sighting' });
  /** @param {Entry} entry */
  const showDetail = (entry) =>
    refill(detail, [entry.n, entry.after?.n, entry.shot], () => {
      const { record, after } = entry;
      if (!entry.shot) {
        pictured = 0; // one that is still on its way is of another line
        fill(picture, isWritten(entry) && h('p', { class: 'small soft' }, NO_PICTURE));
      } else if (pictured !== entry.n) void showPicture(entry.n);
      return [
        h('div', { class: 'row between' }, h('h2', { class: 'mono' }, nameOf(entry)), outcome(entry).result),
        facts([
          ['When', dated(entry.time)],
          ['Took', after?.ms === undefined ? '' : took(after.ms)],
          ['Agent', record.caller ?? record.told?.caller ?? ''],
          [
            'Where',
            record.urls?.length
              ? h(
                  'div',
                  {},
                  record.urls.map((/** @type {string} */ url) => h('div', { class: 'mono small' }, url)),
                )
              : '',
          ],
          ['Element', record.aims?.join(', ') ?? ''],
          ['Decision', record.decision ? `${record.decision.verdict}, by ${record.decision.rule}` : ''],
          ['Approved', record.approved?.map((/** @type {any} */ one) => `by ${one.by}, ${one.scope}`).join('; ') ?? ''],
          ['Why', after?.why ?? record.why ?? ''],
          [
            'Session',
            record.session
              ? h('a', { href: `#/session/${record.session}` }, h('code', {}, record.session.slice(0, 10)))
              : '',
          ],
          ['Record', `${entry.n}`],
        ]),
        record.args && Object.keys(record.args).length > 0 && h('pre', {}, plain(record.args)),
        record.told && h('pre', {}, plain(record.told)),
        picture,
      ];
    });
  /** @param {number} n */
  const showPicture = async (n) => {
    pictured = n;
    fill(picture);
    try {
      const bitmap = await createImageBitmap(await house.api.picture(`/api/activity/${n}/picture`));
      if (pictured !== n) return;
      const canvas = h('canvas', {
        width: bitmap.width,
        height: bitmap.height,
        role: 'img',
        'aria-label': 'The page just after it',
      });
      sure(canvas.getContext('2d')).drawImage(bitmap, 0, 0);
      fill(picture, canvas);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (pictured === n) fill(picture, h('p', { class: 'small soft' }, error.message));
    }
  };
  fill(detail, h('p', { class: 'soft' }, 'Choose a line to see all of it.'));
  draw();
  const leave = store.on('log', () => {
    if (isDrawn) requestAnimationFrame(draw);
    isDrawn = false;
  });
  return {
    node,
    close: () => {
      leave();
      list.close();
    },
  };
}

/** @param {Entry} entry */
export function nameOf({ record }) {
  return record.tool ?? record.kind ?? record.event;
}

/** @param {Entry} entry */
export function about({ record }) {
  if (record.kind)
    return [record.told?.tool, record.told?.host, record.told?.name, record.told?.path, record.told?.why]
      .filter(Boolean)
      .join(' ');
  const what =
    record.aims?.[0] || (typeof record.args?.target === 'string' ? record.args.target : (record.args?.url ?? record.args?.host ?? ''));
  return [what, record.urls?.[0] && what !== record.urls[0] ? `on ${hostOf(record.urls[0])}` : '']
    .filter(Boolean)
    .join(' ');
}

/** @param {Entry} entry @returns {{tone: string, result: Node}} */
export function outcome({ record, after, kind }) {
  if ((after ?? record).outcome === 'approval_pending') return { tone: 'warn', result: chip('a person is asked', 'warn') };
  if (kind === 'refused') return { tone: 'danger', result: chip(record.outcome, 'danger') };
  if (kind !== 'before') return { tone: '', result: chip(kind) };
  if (!after) return { tone: 'main', result: chip('running', 'main') };
  if (after.outcome === 'ok') return { tone: 'ok', result: h('span', { class: 'small soft' }, took(after.ms)) };
  const words = after.ms === undefined ? after.outcome : `${after.outcome} · ${took(after.ms)}`;
  return { tone: 'danger', result: chip(words, 'danger') };
}

/** @param {Entry} entry a write that is over */
function isWritten(entry) {
  return isOf(entry, 'write') && entry.kind === 'before' && entry.after !== null && entry.record.tab;
}

/** @param {Entry} entry @param {string} kind */
function isOf(entry, kind) {
  if (kind === 'write') return ['write', 'sensitive'].includes(entry.record.access);
  if (kind === 'bad') return entry.kind === 'refused' || (entry.after && entry.after.outcome !== 'ok');
  return !kind || entry.kind === kind;
}

/** @type {WeakMap<Entry, {after: any, words: string}>} */
const texts = new WeakMap();

/** What a line can be found by; it changes only when the call ends. @param {Entry} entry */
function text(entry) {
  const { record, after } = entry;
  const known = texts.get(entry);
  if (known && known.after === after) return known.words;
  const parts = [nameOf(entry), about(entry), record.caller, record.session, ...(record.urls ?? [])];
  const words = [...parts, after?.outcome ?? record.outcome].join(' ').toLowerCase();
  texts.set(entry, { after, words });
  return words;
}
