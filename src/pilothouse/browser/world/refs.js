// Refs: one number for one element, for as long as this document lives.
// Above: tree.js prints them, act.js acts by them. Below: dom.js, roles.js, names.js.
// The daemon turns a world's number into the tab's (e12); in texts a ref stands as \u0001n\u0001.
// Identity is the element itself. What it was (role, name, parent, what stood around it) is kept for one purpose
// only: to find the single element that replaced it after a re-render. No ref ever means a second element otherwise.

const refs = (() => {
  const numbers = new WeakMap();
  const elements = new Map();
  const memory = new Map();
  const born = new Map();  // in which look at the page a number was first given
  const stood = new WeakMap();  // in which look an element, numbered or not, first stood beside a numbered one
  const families = new WeakMap();  // by parent: in which look its children were counted, and how many there were
  const MAX = 50000;
  const ENDS = 1000;  // characters at either end of a long text that are compared
  let last = 0;
  let moment = 0;
  let held = [[]];
  let texts = new WeakMap();  // by element: what it said in this look

  // What nobody named is known by its text.
  const callOf = (el) => nameOf(el) || cut(clean(textContentOf(el).slice(0, 400)), 100);

  // Each time an element is printed its memory is renewed: names change while the element stays.
  function of(el) {
    let n = numbers.get(el);
    if (n && nameCache && (memory.get(n) || {}).call === calls) return n;
    if (!n || n <= last - MAX) {
      n = ++last;
      drop(n - MAX);
      numbers.set(el, n);
      elements.set(n, new WeakRef(el));
      born.set(n, moment);
    }
    held[0].push(el);
    const parent = parentOf(el);
    const family = parent && familyOf(parent);
    memory.set(n, { role: roleOf(el), name: callOf(el), tag: tagOf(el), parent: family && family.parent, kids: family ? family.count : 0, around: surroundings(el, saidNow), seen: moment, call: calls });
    return n;
  }
  // The oldest of too many: whoever still has that number hears that it is stale, and its element gets a new one.
  function drop(n) {
    elements.delete(n);
    memory.delete(n);
    born.delete(n);
  }
  const elementsIn = (parent) => kidsOf(parent).filter(isElement);
  // Once for each look: who stands there now can never be the one that replaced another that stands there too.
  function familyOf(parent) {
    const known = families.get(parent);
    if (known && known.moment === moment) return known;
    const kids = elementsIn(parent);
    for (const kid of kids) if (!stood.has(kid)) stood.set(kid, moment);
    const family = { parent: known ? known.parent : new WeakRef(parent), moment, count: kids.length };
    families.set(parent, family);
    return family;
  }
  function get(n) {
    const ref = elements.get(n);
    return (ref && ref.deref()) || null;
  }
  // Of a long text its ends and its length.
  function said(el) {
    const text = textContentOf(el);
    return text.length <= 2 * ENDS ? clean(text) : `${clean(text.slice(0, ENDS))} ${text.length} ${clean(text.slice(-ENDS))}`;
  }
  function saidNow(el) {
    let text = texts.get(el);
    if (text === undefined) texts.set(el, text = said(el));
    return text;
  }
  // The nearest ancestor that says more than the element itself: "Delete" is told from another "Delete" by its row,
  // its pane or its dialog.
  function surroundings(el, read) {
    const own = read(el);
    let node = el;
    for (let up = 1; up <= 30; up++) {
      node = parentOf(node);
      if (!node) return null;
      const text = read(node);
      if (text !== own) return { up, tag: tagOf(node), text };
    }
    return null;
  }
  function standsIn(el, around) {
    let node = el;
    for (let i = 0; i < around.up && node; i++) node = parentOf(node);
    return Boolean(node) && tagOf(node) === around.tag && said(node) === around.text;
  }
  // The one connected element that took its place: same role, name and surroundings, in the same parent if that
  // still stands with no fewer children (else the old one was removed, not replaced), and not one that was there at
  // the same time as the old one. What stood around it is what the last look saw, or what was removed together with it.
  function twin(n) {
    const was = memory.get(n);
    const old = get(n);
    if (!was || !old) return null;
    const parent = was.parent && was.parent.deref();
    const near = parent && connectedOf(parent) ? parent : null;
    if (near && elementsIn(near).length < was.kids) return null;
    const removed = near ? null : surroundings(old, said);
    const fits = (el) => !was.around || standsIn(el, was.around) || (removed !== null && standsIn(el, removed));
    let found = null;
    for (const root of near ? [near] : [document, ...shadowRootsIn(document)]) {
      const pool = near ? kidsOf(near) : query(root, was.tag);
      for (const el of pool) {
        if (el === old || !isElement(el) || tagOf(el) !== was.tag || !connectedOf(el)) continue;
        if (roleOf(el) !== was.role || callOf(el) !== was.name || !fits(el)) continue;
        if (found) return null;
        found = el;
      }
    }
    const number = found && numbers.get(found);
    return (number && born.get(number) <= was.seen) || (found && stood.get(found) <= was.seen) ? null : found;
  }
  // Elements of the last looks are held, so that what was removed can still be compared with what replaced it.
  const newMoment = () => {
    moment++;
    texts = new WeakMap();
    held = [[], ...held.slice(0, 3)];
  };
  return { of, get, twin, newMoment, mark: (n) => `\u0001${n}\u0001`, was: (n) => memory.get(n) || null };
})();

ph.describe = (n) => {
  const el = refs.get(n);
  const was = refs.was(n);
  if (!el) return { role: was ? was.role : "", name: was ? was.name : "", tag: "", connected: false, visible: false, text: "" };
  const connected = connectedOf(el);
  const role = connected ? roleOf(el) : was ? was.role : roleOf(el);
  const name = connected ? nameOf(el) : was ? was.name : "";
  return {
    role, name: cut(name, 200), tag: tagOf(el), connected, visible: connected && isVisible(el),
    text: connected ? cut(readText(el, 400), 200) : "",
  };
};
