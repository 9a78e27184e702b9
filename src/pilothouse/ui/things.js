// Profiles and their browsers, secrets by name, and the browsers that are paired: small lists that are read as long as
// they are looked at.

import { button, chip, empty, fill, h, problem, refill } from './dom.js';
import { counted, dated } from './format.js';
import { kept } from './reading.js';

/** @param {import('./shell.js').House} house */
export function profilesView(house) {
  const node = h('div', { class: 'view' }, h('header', {}, h('h1', {}, 'Browsers')));
  const own = h('section', { class: 'stack', 'aria-label': 'Your own browsers' });
  const list = h('section', { class: 'stack', 'aria-label': 'Profiles' });
  const wrong = h('div', {});
  node.append(wrong, own, list);
  const show = async () => {
    try {
      const [{ browsers }, { profiles }] = await Promise.all([
        house.api.get('/api/extension/browsers'),
        house.api.get('/api/dashboard/profiles'),
      ]);
      refill(wrong, '', () => []);
      refill(own, browsers, () => [
        h('h2', {}, 'Your own Chrome'),
        browsers.length
          ? browsers.map(paired)
          : empty(
              'No browser is paired',
              'Load the extension (pilothouse extension path) and run “pilothouse extension pair”.',
            ),
      ]);
      refill(list, profiles, () => [
        h('h2', {}, 'Profiles'),
        profiles.length
          ? profiles.map((/** @type {any} */ one) => profile(one, end))
          : empty(
              'There is no profile',
              'A profile is a browser that keeps its cookies: “pilothouse profile add --name Work”.',
            ),
      ]);
    } catch (error) {
      refill(wrong, String(error), () => problem(error));
    }
  };
  /** @param {any} one */
  const paired = (one) => {
    const wrong = h('div', {});
    const act = (/** @type {string} */ method, /** @type {string} */ path) =>
      house.api
        .ask(method, path, method === 'POST' ? {} : undefined)
        .then(show, (error) => void fill(wrong, problem(error)));
    return h(
      'div',
      { class: 'card row between' },
      h(
        'div',
        { class: 'grow' },
        h(
          'div',
          { class: 'row' },
          h('b', {}, one.name),
          chip(one.state, one.state === 'gone' ? '' : one.state === 'stopped' ? 'danger' : 'ok'),
          one.tabs !== undefined && chip(`${counted(one.tabs, 'tab')} shared`),
        ),
        h('p', { class: 'small soft' }, `paired ${dated(one.paired_at * 1000)}`),
        wrong,
      ),
      h(
        'div',
        { class: 'row' },
        one.state !== 'gone' &&
          one.state !== 'stopped' &&
          button('Stop agents there', () => void act('POST', `/api/extension/browsers/${one.name}/stop`), {
            class: 'danger',
          }),
        button(
          'Forget',
          () =>
            void house
              .confirm(`Forget ${one.name}?`, 'It has to be paired again before agents can work there.', 'Forget')
              .then((yes) => (yes ? act('DELETE', `/api/extension/browsers/${one.name}`) : undefined)),
        ),
      ),
    );
  };
  const end = async (/** @type {any} */ one, /** @type {HTMLElement} */ into) => {
    const cost = 'The sessions of all agents there end; its cookies and settings stay.';
    if (!(await house.confirm(`End the browser of ${one.name || one.id}?`, cost, 'End browser'))) return;
    try {
      await house.api.ask('POST', `/api/dashboard/profiles/${encodeURIComponent(one.id)}/end`, {});
      await show();
    } catch (error) {
      fill(into, problem(error));
    }
  };
  return { node, close: kept(house, show) };
}

/** @param {any} one @param {(one: any, into: HTMLElement) => Promise<void>} end */
function profile(one, end) {
  const wrong = h('div', {});
  return h(
    'div',
    { class: 'card' },
    h(
      'div',
      { class: 'row between' },
      h(
        'div',
        { class: 'row' },
        h('b', {}, one.name || one.id),
        chip(one.id),
        one.running && chip('running', 'ok'),
        (one.tags ?? []).map((/** @type {string} */ tag) => chip(tag, 'main')),
      ),
      one.running &&
        button('End browser', () => void end(one, wrong), {
          class: 'danger',
          'aria-label': `End the browser of ${one.name || one.id}`,
        }),
    ),
    wrong,
    h(
      'p',
      { class: 'small soft' },
      [
        one.lang,
        one.timezone,
        one.proxy_server && `by way of ${one.proxy_server}`,
        one.viewport && `${one.viewport.width} x ${one.viewport.height}`,
        one.headless === false && 'with a window',
      ]
        .filter(Boolean)
        .join(' · '),
    ),
    h('p', { class: 'small mono soft' }, one.user_data_dir),
  );
}

/** @param {import('./shell.js').House} house */
export function secretsView(house) {
  const list = h('section', { class: 'stack', 'aria-label': 'Secrets' });
  const wrong = h('div', {});
  const unmade = h('div', { 'aria-live': 'polite' }); // a removal that failed
  const node = h(
    'div',
    { class: 'view' },
    h(
      'header',
      {},
      h('h1', {}, 'Secrets'),
      h(
        'p',
        { class: 'soft small' },
        'Agents type them by name, into their own domains only. A value is never shown.',
      ),
    ),
    form(),
    wrong,
    unmade,
    list,
  );
  const show = async () => {
    try {
      const { secrets } = await house.api.get('/api/secrets');
      refill(wrong, '', () => []);
      refill(list, secrets, () =>
        secrets.length
          ? secrets.map(secret)
          : empty(
              'No secret is registered',
              'An agent would write secret:NAME; the value goes into the page, never to the model.',
            ),
      );
    } catch (error) {
      refill(wrong, String(error), () => problem(error));
    }
  };
  /** @param {any} one */
  const remove = async (one) => {
    if (!(await house.confirm(`Remove ${one.name}?`, 'Agents can no longer type it.', 'Remove'))) return;
    try {
      await house.api.ask('DELETE', `/api/secrets/${encodeURIComponent(one.name)}`);
      fill(unmade);
      await show();
    } catch (error) {
      fill(unmade, problem(error));
    }
  };
  /** @param {any} one */
  const secret = (one) =>
    h(
      'div',
      { class: 'card row between' },
      h(
        'div',
        { class: 'grow' },
        h(
          'div',
          { class: 'row' },
          h('b', { class: 'mono' }, `secret:${one.name}`),
          one.domains.map((/** @type {string} */ domain) => chip(domain)),
          one.any_field && chip('any field', 'warn'),
        ),
        h('p', { class: 'small soft' }, [one.note, `set ${dated(one.set_at * 1000)}`].filter(Boolean).join(' · ')),
      ),
      button('Remove', () => void remove(one), { class: 'danger', 'aria-label': `Remove ${one.name}` }),
    );

  function form() {
    const name = h('input', {
      required: true,
      placeholder: 'github_password',
      pattern: '[A-Za-z0-9_.\\-]+',
      autocomplete: 'off',
    });
    const value = h('input', { type: 'password', required: true, autocomplete: 'new-password' });
    const domains = h('input', { required: true, placeholder: 'github.com' });
    const note = h('input', { maxlength: 1000, placeholder: 'what it is for' });
    const anyField = h('input', { type: 'checkbox' });
    const wrong = h('div', { 'aria-live': 'polite' });
    const submit = async (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      try {
        await house.api.ask('PUT', `/api/secrets/${encodeURIComponent(name.value.trim())}`, {
          value: value.value,
          domains: domains.value.split(/[\s,]+/).filter(Boolean),
          note: note.value.trim(),
          any_field: anyField.checked,
        });
        /** @type {HTMLFormElement} */ (event.target).reset();
        fill(wrong, h('p', { class: 'good', role: 'status' }, 'Registered.'));
        await show();
      } catch (error) {
        fill(wrong, problem(error));
      }
    };
    return h(
      'form',
      { class: 'card', on: { submit } },
      h('h2', {}, 'Register a secret'),
      h(
        'div',
        { class: 'fields' },
        h('label', {}, 'Name', name),
        h('label', {}, 'Value', value),
        h('label', {}, 'Domains', domains),
        h('label', {}, 'Note', note),
      ),
      h('label', { class: 'check' }, anyField, 'Into any field of these domains, not only into password fields'),
      h('button', { class: 'main' }, 'Register'),
      wrong,
    );
  }
  return { node, close: kept(house, show) };
}
