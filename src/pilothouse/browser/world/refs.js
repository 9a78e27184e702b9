// Refs: one number for one element, for as long as this document lives.
// Above: tree.js prints them, act.js acts by them. Below: dom.js, roles.js, names.js, past.js.
// The daemon turns a world's number into the tab's (e12); in texts a ref stands as \u0001n\u0001.
// Identity is the element itself. What was re-rendered is found again by what has happened since its number was last
// given (past.js): the one element in its place, if all else is as it was. No ref ever means a second element otherwise.

const refs = (() => {
  const numbers = new WeakMap();
  const elements = new Map();
  const memory = new Map();   // what it was, and in which look
  const MAX = 50000;
  const DEAD = 2000;          // of the last numbers, also those of dead elements are remembered: to say what is gone
  let last = 0;
  let swept = 0;
  let look = null;
  let unheard = false;

  // What nobody named is known by its text.
  const callOf = (el) => nameOf(el) || clean(textContentOf(el).slice(0, 400));

  // Each time an element is printed its memory is renewed: names change while the element stays.
  function of(el) {
    let n = numbers.get(el);
    if (unheard && n) return n;
    if (!unheard && (!nameCache || !look || look.call !== calls)) look = { ...past.look(), call: calls };
    if (n && nameCache && (memory.get(n) || {}).look === look) return n;
    if (!n || n <= last - MAX) {
      n = ++last;
      drop(n - MAX);
      numbers.set(el, n);
      elements.set(n, new WeakRef(el));
      for (let root = rootOf(el); typeOf(root) === 11 && root instanceof ShadowRoot; root = rootOf(hostOf(root))) watchRoot(root);
    }
    if (!unheard) memory.set(n, { role: roleOf(el), name: cut(callOf(el), 200), look });
    return n;
  }
  // Numbers that nobody is told: nothing is remembered for them.
  function unasked(work) {
    unheard = true;
    try { return work(); } finally { unheard = false; }
  }
  // The oldest of too many: whoever still has that number hears that it is stale, and its element gets a new one.
  function drop(n) {
    elements.delete(n);
    memory.delete(n);
  }
  function get(n) {
    const ref = elements.get(n);
    return (ref && ref.deref()) || null;
  }
  function twin(n) {
    const was = memory.get(n), old = get(n);
    return was && old ? past.successor(old, was.look) : null;
  }
  function newMoment() {
    if (last < swept + 1000) return;
    swept = last;
    for (const n of elements.keys()) if (n < last - DEAD && !get(n)) drop(n);
  }
  return { of, get, twin, unasked, newMoment, mark: (n) => `\u0001${n}\u0001`, was: (n) => memory.get(n) || null };
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
