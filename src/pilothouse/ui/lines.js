// What a tab says and loads: console, network and events, as they come.

import { chip, fill, h, problem } from './dom.js';
import { bytes, clock, counted, took } from './format.js';
import { VirtualList } from './list.js';
import { tabRow } from './tabs.js';

const KEPT = 5_000;
const LEVELS = /** @type {Record<string, string>} */ ({ error: 'danger', warn: 'warn' });

/** @param {import('./shell.js').House} house @param {string} session @param {string} tab */
export function tabLines(house, session, tab) {
  /** @type {Record<string, any[]>} newest first */
  const lines = { console: [], network: [], event: [] };
  const names = /** @type {[string, string][]} */ ([
    ['console', 'Console'],
    ['network', 'Network'],
    ['event', 'Events'],
  ]);
  /** @type {Set<string>} */
  const seen = new Set();
  let shown = 'console';
  let number = 0;
  let isDrawn = true;
  const list = new VirtualList({ height: 30, label: 'Lines', key: (one) => one.key, line: (one) => row(one, look) });
  const none = h('p', { class: 'soft small' }, 'Nothing yet.');
  const detail = h('div', { class: 'stack tight', 'aria-live': 'polite' });
  /** @param {any} line a request */
  const look = async (line) => {
    try {
      fill(detail, whole(await house.live.ask({ do: 'request', session, tab: line.tab, request: line.id })));
    } catch (error) {
      fill(detail, problem(error));
    }
  };
  const switches = tabRow('What to show', 'tab-lines', (kind) => {
    shown = kind;
    fill(detail);
    draw();
  });
  const node = h(
    'section',
    { class: 'card lines-card', 'aria-label': 'Console and network' },
    switches.node,
    h('div', { id: 'tab-lines', role: 'tabpanel', 'aria-label': 'Lines' }, none, list.node, detail),
  );

  const draw = () => {
    isDrawn = true;
    switches.show(
      names.map(([key, text]) => ({ key, text, more: lines[key].length ? String(lines[key].length) : '' })),
      shown,
    );
    none.hidden = lines[shown].length > 0;
    list.node.hidden = !lines[shown].length;
    list.show([...lines[shown]]);
  };
  /** @param {any[]} kept @param {any} line */
  const keep = (kept, line) => {
    kept.unshift({ ...line, key: ++number });
    if (kept.length > KEPT) seen.delete(nameOf(kept.pop()));
  };
  const leave = house.live.follow(session, tab, (line) => {
    if (line.kind === 'lost') for (const kept of Object.values(lines)) keep(kept, line);
    else if (!lines[line.kind] || seen.has(nameOf(line))) return; // after a break everything is told anew
    else {
      seen.add(nameOf(line));
      keep(lines[line.kind], line);
    }
    if (isDrawn) requestAnimationFrame(draw);
    isDrawn = false;
  });
  draw();
  return {
    node,
    close: () => {
      leave();
      list.close();
    },
  };
}

/** @param {any} line */
function nameOf(line) {
  return `${line.kind} ${line.tab} ${line.id ?? line.number}`;
}

/** @param {any} one a request with headers and bodies */
function whole(one) {
  const headers = (/** @type {Record<string, string>} */ some) =>
    Object.entries(some ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n');
  const part = (/** @type {string} */ title, /** @type {string} */ text) =>
    text && h('details', {}, h('summary', {}, title), h('pre', {}, text));
  return [
    h('p', { class: 'mono small' }, `${one.method} ${one.url}`),
    part('Request headers', headers(one.request_headers)),
    part('Request body', one.request_body),
    part('Response headers', headers(one.response_headers)),
    part('Response body', one.response_body),
  ];
}

/** @param {any} line @param {(line: any) => void} look */
function row(line, look) {
  if (line.kind === 'lost')
    return h('div', { class: 'line' }, chip('lost', 'warn'), `${counted(line.count, 'line')} came too fast to be shown`);
  const when = h('span', { class: 'soft small when' }, clock(line.time_ms));
  if (line.kind === 'console') {
    return h(
      'div',
      { class: 'line', 'data-level': line.level },
      when,
      chip(line.level, LEVELS[line.level]),
      h('span', { class: 'mono one-line grow', title: line.text }, line.text),
    );
  }
  if (line.kind === 'network') {
    const bad = line.failure || line.error || line.status >= 400;
    return h(
      'button',
      { type: 'button', class: 'line', on: { click: () => look(line) } },
      when,
      chip(String(line.status || line.failure || line.error || 'failed'), bad ? 'danger' : 'ok'),
      h('b', { class: 'small' }, line.method),
      h('span', { class: 'mono one-line grow', title: line.url }, line.url),
      h(
        'span',
        { class: 'soft small' },
        [
          line.size_bytes !== undefined && bytes(line.size_bytes),
          line.duration_ms !== undefined && took(line.duration_ms),
        ]
          .filter(Boolean)
          .join(' · '),
      ),
    );
  }
  return h(
    'div',
    { class: 'line' },
    when,
    chip(String(line.event)),
    h('span', { class: 'one-line grow', title: line.text }, line.text),
  );
}
