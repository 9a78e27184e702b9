// Said: lines without a ref, numbered by the nodes they were read from: whether one that is shown no more is still there,
// these nodes can say, and the page need not be read for it. The same words elsewhere are other words.
// Above: snapshot.js. Below: lines.js, visible.js.

const said = (() => {
  const MOST = 5000;
  const numbers = new WeakMap();   // by the first node of a line
  const held = new Map();          // number -> what was read last, and in which way
  let last = 0;

  function of([line, el, nodes = []], print) {
    const first = nodes[0] || el;
    if (!first || line.includes("\u0001")) return 0;
    const n = numbers.get(first) || ++last;
    numbers.set(first, n);
    held.delete(n);
    held.set(n, { line, print, el: new WeakRef(first), nodes: nodes.map((node) => [new WeakRef(node), dataOf(node)]) });
    if (held.size > MOST) held.delete(held.keys().next().value);
    return n;
  }
  // What it says now, if it can be read by itself: of much only how it begins is known.
  function reads(el, line, print) {
    const walk = buildTree({ root: el, full: true, margin: 0, dry: true });
    if (walk.nodes > DRY_NODES) return true;
    walk.full = !!print.full;
    return printTree(walk, print).some((one) => one[2] === el && one[1] === line);
  }
  // `stirred`: what may read otherwise now; null if anything may.
  function isThere(n, line, hiders, stirred) {
    const was = held.get(n), first = was && was.line === line && was.el.deref();
    if (!first) return false;
    if (!was.nodes.length) return canBeSeen(first, line, hiders) && ((stirred && !stirred.has(first)) || reads(first, line, was.print));
    return was.nodes.every(([ref, data]) => { const node = ref.deref(); return node && connectedOf(node) && dataOf(node) === data && canBeSeen(parentOf(node), line, hiders); });
  }
  return { of, isThere };
})();

// In no box that hides what it holds, as a closed accordion's does; or told before as what is there although nobody sees
// it. Of what is not told to screen readers nothing else says whether it could be seen: it reads the same either way.
const TOLD_UNSEEN = /\((?:aria-)?hidden\)/;
const SAID = /"(?:[^"\\]|\\.)*"/g;   // the page's own words may read like ours
function canBeSeen(el, line, hiders) {
  if (!isVisible(el)) return false;
  if (TOLD_UNSEEN.test(line.replace(SAID, ""))) return true;
  const path = [];
  let up = el;
  for (; up && !hiders.has(up); up = parentOf(up)) path.push(up);
  let hides = !!up && hiders.get(up);
  for (const one of path.reverse()) {
    const style = getComputedStyle(one), { width, height, right, bottom } = rectOf(one);
    // A scroller may bring back what lies above the page.
    const rect = style.position === "fixed" ? { width, height, right, bottom } : { width, height, right: 1e9, bottom: 1e9 };
    hides = hides || isUnseen(style, rect, style.position, style.display === "inline" ? "visible" : style.overflowY);
    hiders.set(one, hides);
  }
  return !hides;
}

// Which of these elements and lines a person could still see after scrolling, or once a dialog is closed. Of those `aside`
// only what has changed since is read.
ph.there = ({ elements = [], lines = [], aside = [], since = -1 }) => withNames(() => {
  const hiders = new Map(), stirred = aside.length ? stirredSince(since) : null;
  const sees = ([n, line]) => { const el = refs.get(n); return el && canBeSeen(el, line, hiders); };
  return {
    elements: elements.filter(sees).map(([n]) => n),
    lines: [...lines.filter(([n, line]) => said.isThere(n, line, hiders, null)), ...aside.filter(([n, line]) => said.isThere(n, line, hiders, stirred))].map(([n]) => n),
  };
});
