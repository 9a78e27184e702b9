// Past: what has happened to the page since somebody looked.
// Above: refs.js; snapshot.js, whose observer hands in what it saw. Below: then.js, which reads the page as it was.
// Changes are kept, not looks: to keep at each look what stands around every element would mean to read the whole page
// each time, in view or not. A change costs nothing before somebody asks, and holds what was taken out, so the page can
// be read as it was. Only what fields hold changes without a trace: that is kept at each look.
// Not seen: other frames, style sheets that script changes, shadow roots that no walk has met.

const elementsBelow = uncurry(Element.prototype.getElementsByTagName);
const isField = (tag) => tag === "input" || tag === "select" || tag === "textarea";

function digest(text) {
  let a = 0, b = 0;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193) + 1;
    b = (Math.imul(b, 31) + text.charCodeAt(i)) | 0;
  }
  return `${text.length} ${a} ${b}`;
}

const past = (() => {
  const MOST = 5000;           // changes that are kept, with a quarter of the elements and a LETTERS-th of the letters in
                               // them: more since the last look, and all are forgotten
  const LETTERS = 2000;
  const MOST_FIELDS = 3000;
  const PATIENCE_MS = 600000;  // for who has looked: a person may have to be asked before the agent goes on
  let log = [];                // { record, size }
  let first = 0;               // the number of the oldest change that is kept
  let lookedAt = 0;            // that of the first one since the last look
  let time = 0;                // of the last look
  let size = 0;
  let asked = false;
  let noted = new WeakMap();   // by element: which of its attributes have changed since the last look
  const roots = new Set([new WeakRef(document)]);
  const values = new WeakMap();
  let spoilt = 0;              // the last look that found another value in a field than the look before
  let looks = 0;
  let keptIn = 0;              // the call in which fields were read last

  function note(records) {
    if (asked && performance.now() - time > PATIENCE_MS) forget();
    for (const record of asked ? records : []) {
      if (isKnown(record)) continue;
      const one = { record, size: sizeOf(record) };
      size += one.size;
      if (size > MOST) shed();
      if (size > MOST) { forget(); return; }
      log.push(one);
      for (const node of record.removedNodes) watchRoot(node);   // it may be altered before a copy of it is put back
    }
  }
  // What an attribute was at the last look, its first change since has told.
  function isKnown({ type, target, attributeName }) {
    if (type !== "attributes") return false;
    const names = noted.get(target) || new Set();
    noted.set(target, names);
    return names.size === names.add(attributeName).size;
  }
  function sizeOf({ addedNodes, removedNodes, oldValue }) {
    let held = addedNodes.length + removedNodes.length, letters = (oldValue || "").length;
    for (const node of removedNodes) {
      if (isElement(node)) held += elementsBelow(node, "*").length / 4;
      letters += (textContentOf(node) || "").length;
    }
    return 1 + held + letters / LETTERS;
  }
  // The oldest changes, down to half, and none that came since the last look: what was just seen is known however many
  // looks and changes there were before.
  function shed() {
    let gone = 0;
    while (size > MOST / 2 && first + gone < lookedAt) size -= log[gone++].size;
    log.splice(0, gone);
    first += gone;
  }
  function forget() {
    first += log.length + 1;
    log = [];
    size = 0;
    asked = false;
  }
  const where = () => `${location.href} ${innerWidth} ${innerHeight}`;
  function look() {
    pulse();
    if (!nameCache || keptIn !== calls) keepAll();
    asked = true;
    noted = new WeakMap();
    lookedAt = first + log.length;
    time = performance.now();
    return { look: ++looks, at: lookedAt, where: where(), time };
  }

  // What fields hold, those that nobody sees included: style sheets may say by them who is shown.
  const holds = (el) => digest(`${valueOf(el, "")}\n${checkedState(el, "")}`);
  const held = (el) => values.get(el) || holds(el);
  function* all(css) {
    for (const one of roots) {
      const root = one.deref();
      if (root) yield* query(root, css); else roots.delete(one);
    }
  }
  function keepAll() {
    let left = MOST_FIELDS;
    keptIn = calls;
    for (const el of all("input,select,textarea")) {
      if (left-- < 0) { spoilt = looks + 1; break; }
      const now = holds(el), then = values.get(el);
      if (then !== undefined && then !== now) { spoilt = looks + 1; touchField(el); }
      values.set(el, now);
    }
  }
  const pageAt = (since) => pageThen(log.map((one) => one.record), since.at - first, held, holds);
  // The element that took this one's place since, if nothing else has changed. Of a canvas nobody could tell.
  function successor(old, since) {
    pulse();
    keepAll();
    if (since.at < first || since.look < spoilt || since.where !== where() || !all("canvas").next().done) return null;
    return twinIn(pageAt(since), old);
  }
  return { note, look, successor, keepAll, watch: (root) => roots.add(new WeakRef(root)) };
})();
