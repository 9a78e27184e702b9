// Refs: one number for one element, for as long as this document lives.
// Above: tree.js prints them, act.js acts by them. Below: dom.js, roles.js, names.js.
// The daemon turns a world's number into the tab's (e12); in texts a ref stands as \u0001n\u0001.
// Identity is the element itself. What it was (role, name, parent) is kept for one purpose only: to find the
// single element that replaced it after a re-render. No ref ever means a second element otherwise.

const refs = (() => {
  const numbers = new WeakMap();
  const elements = new Map();
  const memory = new Map();
  let last = 0;

  // What nobody named is known by its text.
  const callOf = (el) => nameOf(el) || cut(clean(textContentOf(el).slice(0, 400)), 100);

  // Each time an element is printed its memory is renewed: names change while the element stays.
  function of(el) {
    let n = numbers.get(el);
    if (!n) {
      n = ++last;
      numbers.set(el, n);
      elements.set(n, new WeakRef(el));
    }
    const parent = parentOf(el);
    memory.set(n, { role: roleOf(el), name: callOf(el), tag: tagOf(el), parent: parent ? new WeakRef(parent) : null });
    return n;
  }
  function get(n) {
    const ref = elements.get(n);
    return (ref && ref.deref()) || null;
  }
  // The one connected element with the same role, name and, if the old parent still stands, the same parent.
  function twin(n) {
    const was = memory.get(n);
    if (!was) return null;
    const old = get(n);
    const parent = was.parent && was.parent.deref();
    const near = parent && connectedOf(parent) ? parent : null;
    let found = null;
    for (const root of near ? [near] : [document, ...shadowRootsIn(document)]) {
      const pool = near ? kidsOf(near) : query(root, was.tag);
      for (const el of pool) {
        if (el === old || !isElement(el) || tagOf(el) !== was.tag || !connectedOf(el)) continue;
        if (roleOf(el) !== was.role || callOf(el) !== was.name) continue;
        if (found) return null;
        found = el;
      }
    }
    return found;
  }
  return { of, get, twin, mark: (n) => `\u0001${n}\u0001`, was: (n) => memory.get(n) || null };
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
