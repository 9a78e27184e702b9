// News: what has changed where a snapshot of the view does not look, so that a difference need not say "nothing".
// Above: snapshot.js, whose observer hands in what it saw. Below: dom.js, tree.js, lines.js, said.js.

const MOST_NEWS = 200;   // elements that are remembered, and records that are read at a time
const NEWS_SHOWN = 3;
let touched = [];        // { el, at, saidAt, stoodAt, lostAt }: each element once, weakly; when it changed, its content, its
                         // states, and what stood beside it or in it
const touches = new WeakMap();
// What a control's line tells of its attributes.
const STATED_BY = /^(aria-(busy|checked|current|disabled|expanded|invalid|label|placeholder|pressed|readonly|required|selected|sort|value\w+)|disabled|required|readonly|open|href|alt|placeholder)$/;
let readAt = 0;          // the count at the last look

function touch(el, at, what = "") {
  if (!el || !isElement(el)) return;
  let known = touches.get(el);
  if (!known) { touches.set(el, known = { el: new WeakRef(el), at, saidAt: -1, stoodAt: -1, lostAt: -1, before: null }); touched.push(known); }
  known.at = at;
  if (what) known[what] = at;
}
// A value that a script has set raises no record: past.js has found it.
const touchField = (el) => { bump(); touch(el, counter, "stoodAt"); touches.get(el).before = null; };
// What an attribute was at the last look: one that a script has put back tells nothing.
function touchState(el, at, name, old) {
  touch(el, at);
  const known = touches.get(el);
  if (known.stoodAt <= readAt) known.before = new Map();
  if (known.before && !known.before.has(name)) known.before.set(name, old);
  known.stoodAt = at;
}
const isAsBefore = (el, before) => !!before && [...before].every(([name, old]) => attr(el, name) === old);
const drawnFrom = (node, step) => { while (node && (!isElement(node) || SILENT.has(tagOf(node)))) node = step(node); return node; };
const touchPlace = (next, before, around, at) => touch(drawnFrom(next, nextSiblingOf) || drawnFrom(before, previousSiblingOf) || around, at, "lostAt");
function noteNews(records, at) {
  for (const { type, target, attributeName, oldValue, addedNodes, removedNodes, nextSibling, previousSibling } of records.slice(-MOST_NEWS)) {
    if (type === "characterData") touch(parentOf(target), at, "saidAt");
    else if (type === "attributes") STATED_BY.test(attributeName) ? touchState(target, at, attributeName, oldValue) : touch(target, at);
    if (attributeName === "hidden" && hasAttr(target, "hidden")) touchPlace(nextOf(target), lastOf(target), parentOf(target), at);
    for (const node of [...addedNodes].slice(-MOST_NEWS)) touch(isElement(node) ? node : target, at, "saidAt");
    if (removedNodes.length) touchPlace(nextSibling, previousSibling, target, at);
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
  const grown = (box, aside, along) => ({ left: box.left - aside, top: box.top - along, right: box.right + aside, bottom: box.bottom + along });
  if (isEmpty(rect)) return false;
  if (outside(rect, grown({ left: 0, top: 0, right: innerWidth, bottom: innerHeight }, margin, margin))) return true;
  for (let up = parentOf(el), i = 0; up && i < 100; up = parentOf(up), i++) {
    if (getComputedStyle(up).overflowY !== "visible" && tagOf(up) !== "body" && tagOf(up) !== "html" && outside(rect, grown(rectOf(up), margin / 2, isFar(up) ? 0 : margin / 2))) return true;
  }
  return false;
}

// What was emptied is drawn no more: what stands beside it is.
function standIn(el) {
  if (!connectedOf(el) || isVisible(el)) return el;
  return [nextOf(el), lastOf(el), parentOf(el)].find((one) => one && isVisible(one)) || el;
}

// What came out of view after a count of the observer: a few lines with their numbers, so that it can be asked later
// whether they are still there, and whether there is more: how much nobody knows.
function newsSince(since, margin) {
  const found = [];
  for (const { el: held, at, saidAt, stoodAt, lostAt, before } of touched) {
    const changed = at > since ? held.deref() : null;
    const el = changed && lostAt > since ? standIn(changed) : changed;
    if (!el || !connectedOf(el) || SILENT.has(tagOf(el)) || !isVisible(el) || !isOutOfView(el, margin)) continue;
    found.push([el, el === changed && saidAt > since, el === changed && stoodAt > since && !isAsBefore(el, before), lostAt > since]);
  }
  const outer = found.filter(([el]) => !found.some(([other, says]) => says && other !== el && composedContains(other, el)));
  const lines = [];
  let more = false, loses = false;
  for (const [el, says, stands, lost] of outer) {
    const [line] = (says || stands) && lines.length < NEWS_SHOWN ? printTree(buildTree({ root: el, full: true, margin: 0, dry: true })) : [];
    const tells = !!line && (says || line[2] === el);
    if (tells) lines.push([line[1], said.of(line.slice(1), { full: true })]);
    const isLost = lost && !says;   // what went is perhaps told as gone
    loses = loses || isLost;
    more = more || (!tells && !isLost);
  }
  return { lines, more, loses };
}
