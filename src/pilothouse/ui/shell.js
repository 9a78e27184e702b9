// The frame of the dashboard: the rail, one view at a time by the address's #, and what every view may use (`House`).

import { activityView } from './activity.js';
import { approvalsView } from './approvals.js';
import { button, fill, h, icon } from './dom.js';
import { counted } from './format.js';
import { healthView } from './health.js';
import { mayAsk, notify } from './notify.js';
import { policyView } from './policy.js';
import { sessionView } from './session.js';
import { sessionsView } from './sessions.js';
import { profilesView, secretsView } from './things.js';

/**
 * @typedef {object} House
 * @property {import('./api.js').Api} api
 * @property {import('./live.js').Live} live
 * @property {import('./store.js').Store} store
 * @property {(title: string, told: string, yes: string) => Promise<boolean>} confirm
 * @property {(session: string) => string} [hrefOf] where a session can be looked at, if here
 */
/** @typedef {{node: HTMLElement, close: () => void}} View */

/** @type {{at: string, name: string, icon: string, view: (house: House, rest: string) => View}[]} */
const PLACES = [
  { at: '', name: 'Sessions', icon: 'M3 5h18v12H3zM8 21h8M12 17v4', view: sessionsView },
  {
    at: 'approvals',
    name: 'Approvals',
    icon: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4',
    view: approvalsView,
  },
  { at: 'activity', name: 'Activity', icon: 'M3 12h4l3-8 4 16 3-8h4', view: activityView },
  { at: 'policy', name: 'Policy', icon: 'M4 6h16M4 12h10M4 18h7M18 15v6M15 18h6', view: policyView },
  { at: 'browsers', name: 'Browsers', icon: 'M3 5h18v14H3zM3 9h18M6 7h.01', view: profilesView },
  { at: 'secrets', name: 'Secrets', icon: 'M5 11h14v9H5zM8 11V8a4 4 0 018 0v3M12 15v2', view: secretsView },
  {
    at: 'health',
    name: 'Health',
    icon: 'M12 20s-8-4.6-8-10.5A4.5 4.5 0 0112 7a4.5 4.5 0 018 2.5C20 15.4 12 20 12 20z',
    view: healthView,
  },
];
const STATES = { live: 'Connected', away: 'Reconnecting…', ended: 'This page’s pass has ended' };

/** @param {Omit<House, 'confirm' | 'hrefOf'>} given */
export function shell(given) {
  /** @type {House} */
  const house = { ...given, confirm, hrefOf: (session) => `#/session/${session}` };
  const { store } = house;
  /** @type {View | null} */
  let open = null;
  const count = h('span', { class: 'count', hidden: true });
  const links = PLACES.map((place) =>
    h('a', { href: `#/${place.at}` }, icon(place.icon), h('span', {}, place.name), place.at === 'approvals' && count),
  );
  const words = h('span', {});
  const connection = h(
    'div',
    { class: 'connection', role: 'status' },
    h('div', { class: 'row' }, h('span', { class: 'dot' }), words),
  );
  const banner = h('div', { class: 'banner', hidden: true });
  const stage = h('div', {});
  const main = h('main', { id: 'main', tabindex: -1 }, banner, stage);
  const rail = h(
    'div',
    { class: 'rail' },
    h('div', { class: 'brand' }, h('img', { src: '/ui/icon.svg', alt: '', width: 28, height: 28 }), 'Pilothouse'),
    h('nav', { 'aria-label': 'Views' }, links),
    connection,
  );
  fill(
    document.body,
    h(
      'a',
      {
        class: 'skip',
        href: '#main',
        on: {
          click: (/** @type {Event} */ event) => {
            event.preventDefault();
            main.focus();
          },
        },
      },
      'Skip to the view',
    ),
    rail,
    main,
  );

  const here = () => location.hash.replace(/^#\/?/, '').split('/');
  const go = () => {
    const [at, rest = ''] = here();
    const place = PLACES.find((one) => one.at === at) ?? PLACES[0];
    open?.close();
    open = at === 'session' ? sessionView(house, rest) : place.view(house, rest);
    fill(stage, open.node);
    links.forEach((link, number) =>
      PLACES[number] === place ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current'),
    );
    ask();
    scrollTo(0, 0);
  };
  const ask = () => {
    const waiting = store.pending.size;
    count.hidden = !waiting;
    fill(count, String(waiting), h('span', { class: 'unseen' }, ' waiting'));
    banner.hidden = !waiting || here()[0] === 'approvals';
    const first = store.pending.values().next().value;
    fill(
      banner,
      h(
        'span',
        {},
        `${counted(waiting, 'question')} ${waiting === 1 ? 'waits' : 'wait'} for you`,
        first && `: ${first.tool}${first.domain ? ` on ${first.domain}` : ''}`,
      ),
      h('a', { href: '#/approvals' }, 'Answer'),
    );
  };
  const connect = () => {
    connection.dataset.state = store.connection;
    fill(words, STATES[store.connection]);
    if (store.connection === 'live' && mayAsk()) {
      fill(
        connection,
        connection.firstChild,
        button('Notify me', () => void Notification.requestPermission().then(connect), { class: 'quiet' }),
      );
    } else fill(connection, connection.firstChild);
  };
  addEventListener('hashchange', () => {
    go();
    main.focus({ preventScroll: true });
  });
  store.on('questions', ask);
  store.on('connection', connect);
  notify(store, () => {
    location.hash = '#/approvals';
  });
  connect();
  go();
}

/** @param {string} title @param {string} told @param {string} yes @returns {Promise<boolean>} */
function confirm(title, told, yes) {
  return new Promise((resolve) => {
    /** @type {HTMLDialogElement} */
    const dialog = h(
      'dialog',
      { class: 'card', 'aria-labelledby': 'confirm-title' },
      h('h2', { id: 'confirm-title' }, title),
      h('p', {}, told),
      h(
        'div',
        { class: 'row' },
        button(yes, () => dialog.close('yes'), { class: 'danger' }),
        button('Cancel', () => dialog.close(''), { autofocus: true }), // a key pressed too soon does no harm
      ),
    );
    dialog.addEventListener('close', () => {
      resolve(dialog.returnValue === 'yes');
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
