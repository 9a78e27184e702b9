// The popup: it shows what the worker says and sends what the person presses; it decides nothing.

/** @typedef {import('./types').State} State */
/** @typedef {import('./types').CurrentTab} CurrentTab */

/** @type {State | undefined} */
let state;
/** @type {CurrentTab | undefined} */
let tab;

/** @param {string} id @returns {any} */
function part(id) {
  return document.getElementById(id);
}

/** @param {object} message @returns {Promise<any>} `error` says what went wrong */
async function ask(message) {
  try {
    return (await chrome.runtime.sendMessage(message)) ?? { error: 'The extension did not answer; try again.' };
  } catch (reason) {
    return { error: String(reason) };
  }
}

/** What a button does. @param {object} message */
async function wish(message) {
  const { error } = await ask(message);
  if (error) part('next').textContent = `That did not work: ${error}`;
}

/** @param {State} told */
function show(told) {
  state = told;
  part('state').dataset.mode = state.mode;
  part('words').textContent = state.words;
  part('next').textContent = asked(state) + state.next;
  part('called').hidden = !state.paired;
  part('name').textContent = state.name;
  const isStopped = state.mode === 'stopped';
  part('stop').hidden = !state.paired || isStopped;
  part('allow').hidden = !isStopped;
  part('retry').hidden = state.mode !== 'problem' || state.pairAgain;
  part('pairing').hidden = state.paired && !state.pairAgain;
  part('sharing').hidden = !state.paired || isStopped;
  part('unpair').hidden = !state.paired;
  part('panel').hidden = !state.paired;
  part('versions').textContent = versions(state);
  if (document.activeElement !== part('wish') && !part('wish').value) part('wish').value = state.wish;
  for (const radio of document.getElementsByName('mode')) {
    const input = /** @type {HTMLInputElement} */ (radio);
    input.checked = input.value === state.share;
  }
  void showTab();
}

/** What waits for the person comes first. @param {State} state */
function asked({ mode, waiting }) {
  if (!waiting || !['on', 'active'].includes(mode)) return '';
  return `${waiting === 1 ? 'A question waits' : `${waiting} questions wait`} for you: open the side panel. `;
}

/** @param {State} state */
function versions(state) {
  if (!state.daemonVersion || state.daemonVersion === state.version) return `Version ${state.version}`;
  return `Extension ${state.version}, Pilothouse ${state.daemonVersion}: update the older one`;
}

async function showTab() {
  const [active] = await chrome.tabs.query({ active: true, lastFocusedWindow: true });
  if (active?.id === undefined) return;
  const told = await ask({ type: 'tab', tabId: active.id });
  if (told.error) return; // it is just being closed
  tab = /** @type {CurrentTab} */ (told);
  part('tab-words').textContent = told.shared ? 'Shared:' : told.allowed ? 'Not shared:' : 'Never shared:';
  part('tab-title').textContent = told.title.slice(0, 60);
  part('share').textContent = told.shared ? 'Stop sharing' : 'Share this tab';
  part('share').disabled = told.shared ? state?.share === 'all' : !told.allowed;
}

/** @param {SubmitEvent} event */
async function pair(event) {
  event.preventDefault();
  part('wrong').textContent = '';
  const { problem, error } = await ask({ type: 'pair', code: part('code').value, name: part('wish').value });
  const wrong = error ? `That did not work: ${error}` : problem;
  part('wrong').textContent = wrong;
  if (wrong) part('code').focus();
  else part('code').value = '';
}

part('pairing').addEventListener('submit', pair);
part('stop').addEventListener('click', () => wish({ type: 'stop' }));
part('allow').addEventListener('click', () => wish({ type: 'allow' }));
part('retry').addEventListener('click', () => wish({ type: 'retry' }));
part('unpair').addEventListener('click', () => wish({ type: 'unpair' }));
part('panel').addEventListener('click', async () => {
  const { id } = await chrome.windows.getCurrent();
  if (id !== undefined) await chrome.sidePanel.open({ windowId: id });
  globalThis.close();
});
part('share').addEventListener('click', () => {
  if (tab) void wish({ type: tab.shared ? 'unshareTab' : 'shareTab', tabId: tab.tabId });
});
for (const radio of document.getElementsByName('mode')) {
  radio.addEventListener('change', () => wish({ type: 'share', mode: /** @type {HTMLInputElement} */ (radio).value }));
}

/** The worker may end while we are open; a new line wakes it. */
function watch() {
  const port = chrome.runtime.connect(undefined, { name: 'popup' });
  port.onMessage.addListener(show);
  port.onDisconnect.addListener(() => setTimeout(watch, 100));
}

watch();
