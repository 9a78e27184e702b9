// How the daemon is: a few numbers, each with a small chart of the last minutes.

import { drawn, facts, fill, h } from './dom.js';
import { bytes, counted, took } from './format.js';

/** @typedef {{at: number, numbers: Record<string, number>, browsers: Record<string, any>, endpoints: Record<string, any>}} Sample */

/** @type {{name: string, value: (now: Sample, before: Sample) => number, text: (value: number) => string}[]} */
const CHARTS = [
  {
    name: 'Calls a second',
    value: (now, before) => rate(now, before, 'calls_total'),
    text: (value) => value.toFixed(1),
  },
  { name: 'A call takes', value: mean, text: (value) => took(value) },
  {
    name: 'Failures a minute',
    value: (now, before) => rate(now, before, 'failures_total') * 60,
    text: (value) => value.toFixed(1),
  },
  { name: 'Calls that wait', value: (now) => now.numbers.calls_waiting ?? 0, text: (value) => String(value) },
  { name: 'Memory of browsers', value: (now) => sum(now, 'memory_bytes'), text: bytes },
  { name: 'Memory of the daemon', value: (now) => now.numbers.daemon_memory_bytes ?? 0, text: bytes },
  {
    name: 'CPU of the daemon',
    value: (now, before) => rate(now, before, 'daemon_cpu_seconds_total') * 100,
    text: (value) => `${Math.round(value)} %`,
  },
  { name: 'Open sessions', value: (now) => now.numbers.sessions ?? 0, text: (value) => String(value) },
];

/** @param {import('./shell.js').House} house */
export function healthView(house) {
  const { store } = house;
  const grid = h('div', { class: 'charts' });
  const browsers = h('section', { class: 'card', 'aria-label': 'Browsers' });
  const node = h('div', { class: 'view' }, h('header', {}, h('h1', {}, 'Health')), grid, browsers);
  const show = () => {
    const samples = store.health;
    fill(
      grid,
      CHARTS.map(({ name, value, text }) => {
        const values = samples.slice(1).map((one, at) => value(one, samples[at]));
        const now = values.at(-1) ?? 0;
        return h(
          'figure',
          { class: 'card chart' },
          h('figcaption', {}, name),
          h('p', { class: 'number' }, text(now)),
          line(values, `${name}: now ${text(now)}, at most ${text(Math.max(...values, 0))}`),
        );
      }),
    );
    const now = samples.at(-1);
    const each = Object.entries(now?.browsers ?? {});
    const elsewhere = Object.entries(now?.endpoints ?? {});
    fill(
      browsers,
      h('h2', {}, 'Running browsers'),
      each.length
        ? facts(
            each.map(([name, one]) => [
              name,
              `${bytes(one.memory_bytes ?? 0)} in ${counted(one.processes ?? 0, 'process', 'processes')}`,
            ]),
          )
        : h('p', { class: 'soft' }, 'None: the first session starts one.'),
      elsewhere.length > 0 && [
        h('h2', {}, 'Browsers elsewhere'),
        facts(
          elsewhere.map(([name, one]) => [
            name,
            `${counted(one.browsers ?? 0, 'browser')}${one.waiting ? `, ${one.waiting} more asked for` : ''}`,
          ]),
        ),
      ],
      h('p', { class: 'small soft' }, `Pilothouse ${store.version}. For Prometheus: /metrics, with an agent’s key.`),
    );
  };
  show();
  return { node, close: store.on('health', show) };
}

/** @param {number[]} values @param {string} label */
function line(values, label) {
  const svg = drawn('svg', {
    viewBox: '0 0 200 48',
    role: 'img',
    preserveAspectRatio: 'none',
    'aria-label': label,
    class: 'spark',
  });
  const most = Math.max(...values, 1e-9);
  const points = values
    .slice(-90)
    .map((value, at, all) => `${(at / Math.max(all.length - 1, 1)) * 200},${46 - (value / most) * 42}`);
  if (points.length > 1) {
    svg.append(
      drawn('polygon', { points: `0,48 ${points.join(' ')} 200,48`, class: 'area' }),
      drawn('polyline', { points: points.join(' '), class: 'stroke' }),
    );
  }
  return svg;
}

/** @param {Sample} now @param {Sample} before @param {string} name */
function rate(now, before, name) {
  return Math.max(
    0,
    ((now.numbers[name] ?? 0) - (before.numbers[name] ?? 0)) / Math.max((now.at - before.at) / 1000, 0.001),
  );
}

/** @param {Sample} now @param {Sample} before */
function mean(now, before) {
  const calls = now.numbers.calls_total - before.numbers.calls_total;
  return calls > 0 ? ((now.numbers.call_seconds_total - before.numbers.call_seconds_total) / calls) * 1000 : 0;
}

/** @param {Sample} now @param {string} name */
function sum(now, name) {
  return Object.values(now.browsers).reduce((all, one) => all + (one[name] ?? 0), 0);
}
