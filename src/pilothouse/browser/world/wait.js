// Waiting: for the next turn of the page, for a change, for text or an element to come or go.
// Above: browser/settle.py and browser/waits.py. Below: locate.js, text.js.

// A task of its own: messages are not slowed in background tabs, as timers are.
const turn = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(0);
});
// Where a sandbox forbids all script no timer ever ends, not even ours; tasks do (M).
const timerless = matchMedia("(scripting: none)").matches;
const later = ph.later = (ms) => new Promise((resolve) => {
  if (timerless) scheduler.postTask(resolve, { delay: ms });
  else setTimeout(resolve, ms);
});

// Resolves with the next change of the document, or after `ms`.
function nextChange(ms) {
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => end());
    const timer = setTimeout(() => end(), Math.max(ms, 1));
    const end = () => { observer.disconnect(); clearTimeout(timer); resolve(); };
    if (timerless) later(ms).then(end);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}

// Two turns: what an action started in its own turn is on the wire by then. If it changed something, turns go on
// until nothing does. Answers how many changes there were since the action was begun (`begin`) or the last tick.
const RESTLESS_MS = 150;
let seenChanges = 0;
const watch = (el = null) => { seenChanges = pulse(); watchRefusals(el); watchInputs(); };
const begin = (el = null) => { expectPress(null); unguard(); watch(el); };
// `field`: what it holds then is told, too (ph.typed).
ph.tick = async (field = 0) => {
  for (const { drop } of awaited) drop();
  const end = performance.now() + RESTLESS_MS;
  const first = seenChanges;
  for (;;) {
    await turn();
    await later(0);  // in line behind every timer that is due, however late a busy machine has made it
    const before = seenChanges;
    watch();
    if (seenChanges === before || performance.now() > end) return { changes: seenChanges - first, refused: refused(), active: newlyActive(), missed: missed(), ...(field ? { field: ph.typed(field) } : {}) };
  }
};
ph.drawn = () => Promise.race([new Promise((resolve) => requestAnimationFrame(() => resolve())), later(RESTLESS_MS)]).then(turn);
let lastActive = null;
function newlyActive() {
  const el = activeIn(focusedElement());
  const said = el && el !== lastActive ? withNames(() => ({ role: roleOf(el), name: cut(nameOf(el), 80) })) : null;
  lastActive = el;
  return said;
}
// The same, asked for before an input is sent: it begins when the page has been given that input. Chrome gives a page
// its input before anything else, so the input often overtakes the question: what came since the last look is kept. One
// that never comes here (a frame or the browser itself took it, or it was not sent) is waited for until the next tick or
// question, and no longer; it answers nothing then, or it would take away what the next action is to be told.
const given = new Set();
const awaited = new Set();
const onInput = ({ type, isTrusted }) => {
  if (!isTrusted) return;
  given.add(type);
  for (const { kind, go } of awaited) if (kind === type) go();
};
const hearInputs = () => {
  for (const kind of ["keyup", "mouseup"]) addEventListener(kind, onInput, true);
  hearPresses();  // behind the others, which hear also of a press that is kept from the page
};
function watchInputs() {
  given.clear();
  hearInputs();
}
ph.tickAfter = (kind, field = 0) => given.has(kind) ? ph.tick(field) : new Promise((resolve) => {
  for (const { drop } of awaited) drop();
  hearInputs();  // again: a document that script has opened anew has lost its listeners
  const end = (answer) => { awaited.delete(waiting); resolve(answer()); };
  const waiting = { kind, go: () => end(() => ph.tick(field)), drop: () => end(() => null) };
  awaited.add(waiting);
});
ph.page = () => ({ url: location.href, title: titleOf(document) });

const holdsText = (text) => ph.text({}).toLowerCase().includes(text.toLowerCase());
const visibleMatch = (target) => {
  const found = ph.locate(target);
  const index = (found.visible || []).indexOf(true);
  return { ...found, ref: index >= 0 ? found.matches[index] : 0 };
};

const attached = (n) => { const el = refs.get(n); return !!el && connectedOf(el); };
const shown = (n) => attached(n) && isVisible(refs.get(n));

const STATES = {
  visible: (there, seen) => seen, hidden: (there, seen) => !seen, attached: (there) => there, detached: (there) => !there,
};

// What is to go may be a text or a target ("dialog" is both): it is there as long as it is either.
// One look: which of the conditions holds now? Answers its name, or "".
ph.holdsNow = ({ text, gone, target, state, query, stateRef }) => {
  if (stateRef && STATES[state](attached(stateRef), shown(stateRef))) return { met: state };
  if (query) {
    const found = visibleMatch(query);
    if (found.error) return { error: found.error };
    if (STATES[state](found.matches.length > 0, !!found.ref)) return { met: state };
  }
  if (text && holdsText(text)) return { met: "text" };
  if (target) {
    const found = visibleMatch(target);
    if (found.error) return { error: found.error };
    if (found.ref) return { met: "target", ref: found.ref };
  }
  if (gone) {
    const found = visibleMatch(gone);
    const sure = RESERVED.test(gone.trim());
    if (sure && found.error) return { error: found.error };
    if (!found.ref && (sure || !holdsText(gone))) return { met: "gone" };
  }
  return { met: "" };
};

// Looks again at each change until a condition holds or the time is over. Changes that CSS or a shadow root
// makes are not seen by the observer, so it looks at least every 100 ms.
ph.waitFor = async (conditions, timeoutMs) => {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const began = performance.now();
    const answer = ph.holdsNow(conditions);
    const cost = performance.now() - began;
    if (answer.met || answer.error || performance.now() >= end) return answer;
    if (cost > 4) await later(cost);  // a restless page must not spend all its time being looked at
    await nextChange(Math.min(100, end - performance.now()));
  }
};
