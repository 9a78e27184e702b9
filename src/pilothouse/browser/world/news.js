// News: what has changed where a snapshot of the view does not look, so that a difference need not say "nothing".
// Above: snapshot.js, whose observer hands in what it saw. Below: dom.js, tree.js, lines.js, said.js.

const MOST_NEWS = 200;   // elements that are remembered, and records that are read at a time
const NEWS_SHOWN = 3;
let touched = [];        // { el, at, saidAt }: each element once, weakly; when it changed, and when its content did
const touches = new WeakMap();

function touch(el, at, says) {
  if (!el || !isElement(el)) return;
  let known = touches.get(el);
  if (!known) { touches.set(el, known = { el: new WeakRef(el), at, saidAt: -1 }); touched.push(known); }
  known.at = at;
  if (says) known.saidAt = at;
}
function noteNews(records, at) {
  for (const { type, target, addedNodes, removedNodes, nextSibling } of records.slice(-MOST_NEWS)) {
    if (type === "characterData") touch(parentOf(target), at, true);
    else if (type === "attributes") touch(target, at, false);
    for (const node of [...addedNodes].slice(-MOST_NEWS)) touch(isElement(node) ? node : target, at, true);
    if (removedNodes.length) touch(nextSibling && isElement(nextSibling) ? nextSibling : target, at, false);
  }
  for (const old of touched.splice(0, touched.length - MOST_NEWS)) { const el = old.el.deref(); if (el) touches.delete(el); }
}

// What has changed since, and all that it lies in.
function stirredSince(since) {
  const found = new Set();
  for (const { el: held, at } of touched) {
    for (let el = at > since ? held.deref() : null, i = 0; el && !found.has(el) && i < 20000; el = parentOf(el), i++) found.add(el);
  }
  return found;
}

// Whether a walk of the view leaves it out: it lies beyond the window, or beyond what a scroller shows.
function isOutOfView(el, margin) {
  const rect = rectOf(el);
  const grown = (box, by) => ({ left: box.left - by, top: box.top - by, right: box.right + by, bottom: box.bottom + by });
  if (isEmpty(rect)) return false;
  if (outside(rect, grown({ left: 0, top: 0, right: innerWidth, bottom: innerHeight }, margin))) return true;
  for (let up = parentOf(el), i = 0; up && i < 100; up = parentOf(up), i++) {
    if (getComputedStyle(up).overflowY !== "visible" && tagOf(up) !== "body" && tagOf(up) !== "html" && outside(rect, grown(rectOf(up), margin / 2))) return true;
  }
  return false;
}

// What came out of view after a count of the observer: a few lines with their numbers, so that it can be asked later
// whether they are still there, and how many changes more there are.
function newsSince(since, margin) {
  const found = [];
  for (const { el: held, at, saidAt } of touched) {
    const el = at > since ? held.deref() : null;
    if (el && connectedOf(el) && !SILENT.has(tagOf(el)) && isVisible(el) && isOutOfView(el, margin)) found.push([el, saidAt > since]);
  }
  const outer = found.filter(([el]) => !found.some(([other]) => other !== el && composedContains(other, el)));
  const lines = [];
  for (const [el, says] of outer) {
    if (!says || lines.length >= NEWS_SHOWN) continue;
    const [line] = printTree(buildTree({ root: el, full: true, margin: 0, dry: true }));
    if (line) lines.push([line[1], said.of(line.slice(1), { full: true })]);
  }
  return { lines, more: outer.length - lines.length };
}
