// Snapshot: the answer to "what is on this page", and the counter that says whether it has changed.
// Above: the daemon (browser/snapshot.py). Below: tree.js, lines.js.

ph.snapshot = ({ scope = 0, full = false, interactive = false, depth = 0, margin = 200, since = -1, whole = false, held = null } = {}) => withNames(() => {
  if (held) holders = new WeakSet(held.map(refs.get).filter(Boolean));
  past.keepAll();
  const at = pulse();
  refs.newMoment();
  let root = bodyOf(document) || htmlOf(document);
  if (scope) {
    root = refs.get(scope);
    if (!root || !connectedOf(root)) return { error: "stale" };
  }
  if (!root) return { lines: [], said: [], above: 0, below: 0, sends: [], frames: [], hosts: [], panes: [], title: "", url: location.href, at };
  const walk = buildTree({ root, full: full || !!scope, margin });
  const lines = printTree(walk, { interactive, depth, whole });
  const news = since < 0 ? null : newsSince(since, margin);   // before `said`: how the view reads is what counts
  readAt = at;
  const printed = (n) => lines.some(([, text]) => text.includes(refs.mark(n)));
  return {
    lines: lines.map((line) => [line[0], line[1]]), said: full || scope ? [] : lines.map(([, ...line]) => said.of(line, { interactive, depth })), above: walk.above, below: walk.below, sends: sendsOf(walk),
    frames: walk.frames.map((el) => refs.of(el)).filter(printed), hosts: walk.hosts.map((el) => refs.of(el)),
    title: clean(titleOf(document)), url: location.href, at, news, panes: walk.panes,
  };
});

// A small walk for nothing, while nobody waits for it: what has run before is compiled, and knows what it will meet.
ph.rehearse = () => withNames(() => {
  ph.watch();
  const root = bodyOf(document);
  if (root) refs.unasked(() => printTree(buildTree({ root, full: false, margin: 0, dry: true })));
});

// The element behind a ref, for CDP calls that need an object (DOM.describeNode, file inputs).
ph.element = (n) => refs.get(n);
ph.twin = (n) => { const el = refs.twin(n); return el ? refs.of(el) : 0; };
ph.refs = refs;

let counter = 0;
let observer = null;
let lastState = "";
const watched = new WeakSet();
const bump = () => { counter++; };
const saw = (records) => { bump(); noteNews(records, counter); past.note(records); };

// Lazily: a page nobody asks about pays nothing. Shadow roots join as the walk meets them.
ph.watch = () => {
  if (observer) return counter;
  observer = new MutationObserver(saw);
  watchRoot(document);
  for (const type of ["input", "change", "scroll", "toggle", "focusin", "focusout", "transitionend", "animationend", "load"]) {
    addEventListener(type, bump, { capture: true, passive: true });
  }
  addEventListener("resize", bump, { passive: true });
  return counter;
};
function watchRoot(root) {
  if (!observer || watched.has(root)) return;
  watched.add(root);
  if (root instanceof ShadowRoot) past.watch(root);
  observer.observe(root, { subtree: true, childList: true, attributeOldValue: true, characterDataOldValue: true });
}
// What scripts set without any event or mutation: values, checks, the address, the window.
function quietState() {
  let state = `${location.href} ${innerWidth} ${innerHeight} ${scrollX} ${scrollY} `;
  let i = 0;
  for (const el of queryDoc(document, "input,select,textarea")) {
    if (i++ > 1000) break;
    if (el instanceof HTMLInputElement) state += `${inputValueOf(el)}\u0000${checkedOf(el)}${mixedOf(el)} `;
    else if (el instanceof HTMLTextAreaElement) state += `${areaValueOf(el)}\u0000`;
    else state += `${[...pickedOf(el)].length} ${el.selectedIndex} `;
  }
  return state;
}
// What observers and events have told, without a look at every field.
function pulse() {
  ph.watch();
  const records = observer.takeRecords();
  if (records.length) saw(records);
  return counter;
}
function changes() {
  pulse();
  const state = quietState();
  if (state !== lastState) { lastState = state; bump(); }
  return counter;
}
ph.changes = changes;

// For the ground-truth test, which compares these with Chrome's own.
ph.roleOf = roleOf;
ph.nameOf = nameOf;
ph.hit = deepHit;
ph.holds = composedContains;
