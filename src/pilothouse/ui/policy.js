// The policy: what holds, rules one by one, the file as text with its mistakes told, and what would happen somewhere.

import { button, chip, facts, fill, h, problem, refill } from './dom.js';
import { VERDICTS, dated } from './format.js';

const TEMPLATES = [
  ['', 'by the kind of browser'],
  ['sandbox', 'sandbox: high risk asks'],
  ['careful', 'careful: each domain asks'],
  ['locked', 'locked: by rules alone'],
  ['readonly', 'readonly: no changes'],
];
const MODES = [
  ['auto', 'auto: as the rules say'],
  ['ask', 'ask: before every change'],
  ['readonly', 'readonly: no changes'],
];
const DEFAULTS = [
  ['', 'as the template says'],
  ['allow', 'allow'],
  ['ask', 'ask'],
  ['deny', 'deny'],
];
const BROWSERS = [
  ['isolated', 'isolated'],
  ['profile', 'a profile'],
  ['extension', 'your own Chrome'],
  ['remote', 'remote'],
];

/** @param {import('./shell.js').House} house */
export function policyView(house) {
  const { api, store } = house;
  /** @type {any} */
  let told = null;
  let refusals = 0;
  const unsound = h('div', {});
  const wrong = h('div', { 'aria-live': 'polite' });
  const settings = h('section', { class: 'card', 'aria-label': 'Settings' });
  const listed = h('div', {});
  const form = ruleForm((rule, into) => change('POST', '/api/policy/rules', rule, into));
  const rules = h('section', { class: 'card', 'aria-label': 'Rules' }, h('h2', {}, 'Rules'), listed, form);
  const edit = editor((text, into) => change('PUT', '/api/policy', { text, version: told.version }, into));
  const file = h('section', { class: 'card', 'aria-label': 'The file' }, edit.node);
  const node = h(
    'div',
    { class: 'view' },
    h(
      'header',
      {},
      h('h1', {}, 'Policy'),
      h('p', { class: 'soft small' }, 'A change holds at once, for open sessions too.'),
    ),
    unsound,
    wrong,
    rules,
    h(
      'div',
      { class: 'columns' },
      h('div', { class: 'stack' }, settings, tester(house)),
      h('div', { class: 'stack' }, file),
    ),
  );

  /**
   * @param {string} method
   * @param {string} path
   * @param {any} [body]
   * @param {HTMLElement} [into]
   * @returns {Promise<boolean>} whether it holds now
   */
  const change = async (method, path, body, into = wrong) => {
    fill(wrong);
    fill(into);
    try {
      told = await api.ask(method, path, body);
    } catch (error) {
      refusals += 1;
      if (/** @type {import('./api.js').ApiError} */ (error).code === 'in_use') await reload();
      else if (told) show(); // what was chosen does not hold
      fill(into, problem(error));
      return false;
    }
    if (method === 'PUT') edit.saved();
    show();
    if (method !== 'GET' && !told.problem) fill(wrong, h('p', { class: 'good', role: 'status' }, 'Saved; it holds.'));
    return true;
  };
  /** It was changed elsewhere, or here. What is being typed stays. */
  const reload = async () => {
    try {
      told = await api.get('/api/policy');
      show();
    } catch {
      // It is read anew when the connection is back.
    }
  };
  /** All at once, or none: what would hold between them might be looser than both. @param {[string, any][]} wanted */
  const set = async (wanted) => {
    if (wanted.length) await change('PATCH', '/api/policy', Object.fromEntries(wanted));
  };
  const show = () => {
    const { policy } = told;
    const key = document.activeElement?.getAttribute('data-key');
    refill(
      unsound,
      told.problem,
      () =>
        told.problem &&
        h(
          'div',
          { class: 'notice', role: 'alert' },
          'The file’s newest text does not hold, the policy before it does: ',
          told.problem,
        ),
    );
    refill(settings, [policy.template, policy.mode, policy.default, policy.step_budget, refusals], () => [
      h('h2', {}, 'Where the rest starts from'),
      settingsForm(policy, set),
    ]);
    const drop = (/** @type {string} */ host) =>
      void change('DELETE', `/api/policy/rules?host=${encodeURIComponent(host)}`);
    refill(listed, policy.rules, () => table(policy.rules, drop));
    edit.load(told);
    if (key) /** @type {HTMLElement | null} */ (node.querySelector(`[data-key=${key}]`))?.focus();
  };
  void change('GET', '/api/policy');
  const ends = [
    store.on('policy', () => void reload()),
    store.on('connection', () => store.connection === 'live' && void reload()),
  ];
  return { node, close: () => ends.forEach((end) => end()) };
}

/** Nothing is changed by looking through what can be chosen. @param {any} policy @param {(wanted: [string, any][]) => Promise<void>} set */
function settingsForm(policy, set) {
  const choice = (/** @type {string} */ key, /** @type {string[][]} */ values) =>
    h(
      'select',
      { 'data-key': key },
      values.map(([value, name]) => h('option', { value, selected: (policy[key] ?? '') === value }, name)),
    );
  const [template, mode, fallback] = [choice('template', TEMPLATES), choice('mode', MODES), choice('default', DEFAULTS)];
  const budget = h('input', { 'data-key': 'step_budget', type: 'number', min: 0, required: true, value: policy.step_budget ?? 0 });
  const waits = h('span', { class: 'small notice', role: 'status', hidden: true }, 'Not applied yet');
  const wanted = () => {
    const chosen = /** @type {[string, any][]} */ ([
      ['template', template.value || null],
      ['mode', mode.value || null],
      ['default', fallback.value || null],
      ['step_budget', Number(budget.value)],
    ]);
    const holds = (/** @type {string} */ key) => policy[key] || (key === 'step_budget' ? 0 : null);
    return chosen.filter(([key, value]) => value !== holds(key));
  };
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    void set(wanted());
  };
  const mark = () => (waits.hidden = !wanted().length);
  return h(
    'form',
    { class: 'stack tight', on: { submit, input: mark, change: mark } },
    h(
      'div',
      { class: 'fields' },
      h('label', {}, 'Template', template),
      h('label', {}, 'Mode', mode),
      h('label', {}, 'Hosts that no rule names', fallback),
      h('label', {}, 'Steps a session (0: any number)', budget),
    ),
    h('div', { class: 'row' }, h('button', { class: 'main', 'data-key': 'settings' }, 'Apply'), waits),
  );
}

/** @param {any[]} rules @param {(host: string) => void} drop */
function table(rules, drop) {
  if (!rules.length) return h('p', { class: 'soft' }, 'No rule yet: the template decides everywhere.');
  const yes = (/** @type {boolean | null} */ value) =>
    value === null || value === undefined ? chip('template') : value ? chip('yes', 'ok') : chip('no', 'danger');
  const heads = ['Host', 'Read', 'Write', 'Asks', 'Steps an hour', 'Set', ''];
  return h(
    'div',
    { class: 'scroll' },
    h(
      'table',
      { class: 'rules' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          heads.map((one) => h('th', { scope: 'col' }, one)),
        ),
      ),
      h(
        'tbody',
        {},
        rules.map((rule) =>
          h(
            'tr',
            {},
            h('td', { class: 'mono' }, rule.host),
            h('td', { 'data-head': 'Read' }, yes(rule.read)),
            h('td', { 'data-head': 'Write' }, yes(rule.write)),
            h('td', { 'data-head': 'Asks' }, rule.approval ? chip('every write', 'warn') : ''),
            h('td', { 'data-head': 'Steps an hour' }, rule.max_steps_per_hour || ''),
            h('td', { class: 'small soft', 'data-head': 'Set' }, `${rule.by}${rule.at ? `, ${dated(rule.at)}` : ''}`),
            h(
              'td',
              {},
              button('Remove', () => drop(rule.host), {
                class: 'quiet',
                'aria-label': `Remove the rule of ${rule.host}`,
              }),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {(rule: any, into: HTMLElement) => Promise<boolean>} add */
function ruleForm(add) {
  const host = h('input', {
    required: true,
    placeholder: '*.example.com',
    'aria-label': 'Host of the new rule',
    class: 'grow',
  });
  const read = h('input', { type: 'checkbox', checked: true });
  const write = h('input', { type: 'checkbox' });
  const approval = h('input', { type: 'checkbox' });
  const steps = h('input', {
    type: 'number',
    min: 0,
    placeholder: 'any',
    'aria-label': 'Steps an hour',
    class: 'narrow',
  });
  const wrong = h('div', {});
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const rule = { host: host.value.trim(), read: read.checked, write: write.checked, approval: approval.checked };
    if (await add(steps.value ? { ...rule, max_steps_per_hour: Number(steps.value) } : rule, wrong)) form.reset();
  };
  const form = h(
    'form',
    { class: 'stack tight', on: { submit } },
    h('h3', {}, 'Add or change a rule'),
    h(
      'div',
      { class: 'row' },
      host,
      h('label', { class: 'check' }, read, 'read'),
      h('label', { class: 'check' }, write, 'write'),
      h('label', { class: 'check' }, approval, 'each write asks'),
      steps,
      h('button', { class: 'main', 'data-key': 'rule' }, 'Save rule'),
    ),
    wrong,
  );
  return form;
}

/** The file as text. What somebody has begun to write there is never taken away. @param {(text: string, into: HTMLElement) => Promise<boolean>} save */
function editor(save) {
  let loaded = '';
  let newest = '';
  const path = h('p', { class: 'small soft mono' });
  const now = h('pre', { tabindex: 0, role: 'group', 'aria-label': 'policy.toml as it is now' });
  const wrong = h('div', { 'aria-live': 'polite' });
  const changed = h(
    'div',
    { class: 'notice small', role: 'status', hidden: true },
    'The file has changed since you began: saving yours replaces it, undoing shows it as it is now.',
    h('details', {}, h('summary', {}, 'The file as it is now'), now),
  );
  const text = h('textarea', { rows: 14, spellcheck: 'false', 'aria-label': 'policy.toml', class: 'policy-text' });
  const undo = () => {
    text.value = loaded = newest;
    changed.hidden = true;
  };
  const node = h(
    'div',
    { class: 'stack tight' },
    h('h2', {}, 'The file'),
    path,
    text,
    changed,
    h(
      'div',
      { class: 'row' },
      button('Save the file', () => void save(text.value, wrong), { class: 'main', 'data-key': 'file' }),
      button('Undo my changes', undo),
    ),
    wrong,
  );
  return {
    node,
    /** What is written there is in the file now. */
    saved: () => {
      loaded = text.value;
    },
    /** @param {{path: string, text: string}} told */
    load: (told) => {
      fill(path, told.path);
      newest = told.text.replaceAll('\r\n', '\n'); // as a text field has it; the file keeps its own
      if (now.textContent !== newest) fill(now, newest);
      if (text.value === loaded || text.value === newest) undo();
      else changed.hidden = newest === loaded;
    },
  };
}

/** What would happen. @param {import('./shell.js').House} house */
function tester(house) {
  const url = h('input', {
    required: true,
    placeholder: 'https://example.com/',
    'aria-label': 'Address',
    class: 'grow',
  });
  const tool = h('input', { placeholder: 'any tool', 'aria-label': 'Tool', class: 'narrow' });
  const browser = h(
    'select',
    { 'aria-label': 'Kind of browser' },
    BROWSERS.map(([value, text]) => h('option', { value }, text)),
  );
  const mode = h(
    'select',
    { 'aria-label': 'Mode' },
    MODES.map(([value]) => h('option', { value }, value)),
  );
  const answer = h('div', { 'aria-live': 'polite' });
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    try {
      const asked = { url: url.value.trim(), tool: tool.value.trim(), browser: browser.value, mode: mode.value };
      fill(answer, verdicts(await house.api.ask('POST', '/api/policy/test', asked)));
    } catch (error) {
      fill(answer, problem(error));
    }
  };
  return h(
    'section',
    { class: 'card', 'aria-label': 'What would happen' },
    h('h2', {}, 'What would happen?'),
    h('form', { class: 'row', on: { submit } }, url, tool, browser, mode, h('button', { class: 'main' }, 'Test')),
    answer,
  );
}

/** @param {any} told */
function verdicts(told) {
  return h(
    'div',
    { class: 'stack tight' },
    h('p', { class: 'mono small' }, told.url),
    facts(
      Object.entries(told.says).map(([name, said]) => [
        name,
        h(
          'div',
          {},
          /** @type {any[]} */ (said).map((one) =>
            h('div', {}, chip(...VERDICTS[one.verdict]), h('span', { class: 'small soft' }, ` ${one.why || one.rule}`)),
          ),
          Object.entries(told.riskier[name] ?? {}).map(([risk, verdict]) =>
            h('div', { class: 'small' }, `at ${risk} risk: `, chip(...VERDICTS[/** @type {string} */ (verdict)])),
          ),
        ),
      ]),
    ),
  );
}
