// Past: what has happened to the page since somebody looked, and so what it was then.
// Above: refs.js; snapshot.js, whose observer hands in what it saw. Below: dom.js, states.js.
// Changes are kept, not looks: to keep at each look what stands around every element would mean to read the whole page
// each time, in view or not. A change costs nothing before somebody asks, and holds what was taken out, so the page can
// be read as it was. Only what fields hold changes without a trace: that is kept for those that were shown.
// Not seen: other frames, style sheets that script changes, shadow roots that no walk has met.

const attributesOf = uncurry(Element.prototype.getAttributeNames);
const TIME = /\b(\d{1,2}):(\d\d):(\d\d)\b/g;
const SPOKEN = words("alt title placeholder label value aria-label aria-valuetext aria-roledescription");
const QUIET = words("tabindex aria-busy aria-activedescendant");
const ROWS = words("li tr article");
const SHOWS = /(display|visibility)\s*:[^;]*|url\([^)]*/g;
const textIn = (markup) => clean(markup.replace(/<[^>]*>/g, " "));
const timesIn = (text) => [...text.matchAll(TIME)].map(([, hours, minutes, seconds]) => hours * 3600 + minutes * 60 + +seconds);
// A clock, not another's hour: the same text, and its time has gone on as time does.
function hasTicked(was, is, seconds) {
  const now = timesIn(is);
  return was.replace(TIME, "#") === is.replace(TIME, "#") && timesIn(was).every((one, i) => Math.abs(Math.abs(now[i] - one) - seconds) < 2.5);
}
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
  const MOST = 5000;           // changes and nodes in them that are kept: more since the last look, and all are forgotten
  let log = [];
  let first = 0;               // the number of the oldest change that is kept
  let lookedAt = 0;            // that of the first one since the last look
  let size = 0;
  let asked = false;
  const fields = new Set();    // weakly: those that were shown
  const values = new WeakMap();
  let spoilt = 0;              // the last look that found another value in one of them than the look before
  let looks = 0;

  function note(records) {
    for (const record of asked ? records : []) {
      size += sizeOf(record);
      if (size > MOST) shed();
      if (size > MOST) { forget(); return; }
      log.push(record);
      for (const node of record.removedNodes) watchRoot(node);   // it may be altered before a copy of it is put back
    }
  }
  const sizeOf = (record) => 1 + record.addedNodes.length + record.removedNodes.length;
  // The oldest changes, down to half, and none that came since the last look: what was just seen is known however many
  // looks and changes there were before.
  function shed() {
    let gone = 0;
    while (size > MOST / 2 && first + gone < lookedAt) size -= sizeOf(log[gone++]);
    log.splice(0, gone);
    first += gone;
  }
  function forget() {
    first += log.length + 1;
    log = [];
    size = 0;
    asked = false;
  }
  function look() {
    pulse();
    asked = true;
    lookedAt = first + log.length;
    return { look: ++looks, at: lookedAt, url: location.href, time: performance.now() };
  }
  const holds = (el) => digest(`${valueOf(el, "")}\n${checkedState(el, "")}`);
  function keep(el, at) {
    const now = holds(el), then = values.get(el);
    if (then === undefined) fields.add(new WeakRef(el)); else if (then !== now) spoilt = at;
    values.set(el, now);
  }
  function keepAll() {
    for (const field of fields) {
      const el = field.deref();
      if (!el) fields.delete(field); else if (connectedOf(el)) keep(el, looks + 1);
    }
  }
  // The element that took this one's place since, if nothing else has changed.
  function successor(old, since) {
    pulse();
    keepAll();
    if (since.at < first || since.look < spoilt || since.url !== location.href) return null;
    const then = pageThen(log.slice(since.at - first), (el) => values.get(el) || holds(el), holds, (performance.now() - since.time) / 1000);
    return then(old);
  }
  return { note, look, keep, keepAll, successor };
})();

function pageThen(records, heldThen, heldNow, seconds) {
  const lists = new Map();     // by parent: the changes of its children, the latest first
  const homes = new Map();     // by node: its parent then; null for what came later
  const texts = new Map();
  const attributes = new Map();
  const before = new Map();
  let left = 200000;           // nodes that may be read: more, and it is not known
  for (const record of records) {
    const { type, target, oldValue } = record;
    if (type === "characterData") { if (!texts.has(target)) texts.set(target, oldValue); }
    else if (type === "attributes") {
      const known = attributes.get(target) || new Map();
      if (!known.has(record.attributeName)) known.set(record.attributeName, oldValue);
      attributes.set(target, known);
    } else {
      for (const node of record.addedNodes) if (!homes.has(node)) homes.set(node, null);
      for (const node of record.removedNodes) if (!homes.has(node)) homes.set(node, target);
      if (lists.has(target)) lists.get(target).unshift(record); else lists.set(target, [record]);
    }
  }
  function kidsNow(node) {
    const kids = [];
    for (let kid = firstChildOf(node); kid; kid = nextSiblingOf(kid)) kids.push(kid);
    return kids;
  }
  function kidsThen(node) {
    if (before.has(node)) return before.get(node);
    let kids = kidsNow(node);
    for (const { addedNodes, removedNodes, nextSibling } of lists.get(node) || []) {
      const added = new Set(addedNodes);
      kids = kids.filter((kid) => !added.has(kid));
      const at = nextSibling ? kids.indexOf(nextSibling) : kids.length;
      if (at < 0) left = -1;
      kids.splice(at, 0, ...removedNodes);
    }
    before.set(node, kids);
    return kids;
  }
  const kidsOfNode = (node, then) => (then ? kidsThen(node) : kidsNow(node));
  const elementsOf = (node, then) => kidsOfNode(node, then).filter(isElement);
  const above = (node) => parentNodeOf(node) || (node instanceof ShadowRoot ? hostOf(node) : null);
  const homeThen = (node) => (homes.has(node) ? homes.get(node) : above(node));
  function stayed(node) {
    if (!connectedOf(node)) return false;
    for (let up = node; up; up = above(up)) if (homes.get(up) === null) return false;
    return true;
  }

  // All that a part of the page is and holds, or only what it says to a person.
  function read(top, then, spoken = false) {
    let out = "";
    const stack = [top];
    while (stack.length && left-- > 0) {
      const node = stack.pop();
      const type = node ? typeOf(node) : 0;
      if (type === 3) out += clean(then && texts.has(node) ? texts.get(node) : dataOf(node));
      else if (!type) out += "</>";
      if (type !== 1 && type !== 11) continue;
      if (type === 1) out += `<${tagOf(node)}${markOf(node, then, spoken)}>`;
      stack.push(null);
      const kids = kidsOfNode(node, then);
      for (let i = kids.length - 1; i >= 0; i--) stack.push(kids[i]);
      const root = type === 1 && shadowOf(node);
      if (root) stack.push(root);
    }
    return out;
  }
  function markOf(el, then, spoken) {
    const known = (then && attributes.get(el)) || new Map();
    let out = "";
    for (const name of [...new Set([...attributesOf(el), ...known.keys()])].sort()) {
      const value = known.has(name) ? known.get(name) : attr(el, name);
      if (value !== null && (!spoken || SPOKEN.has(name))) out += ` ${name}=${quote(value)}`;
    }
    return isField(tagOf(el)) ? `${out} ="${(then ? heldThen : heldNow)(el)}"` : out;
  }
  function isMute(node) {
    const tag = isElement(node) ? tagOf(node) : "title";
    return tag !== "title" && (closest(node, "head") !== null || (SILENT.has(tag) && tag !== "style"));
  }
  // What is put at the end of a page and says nothing is a tool of the page's own.
  function told(kid, then, atEnd) {
    if (isMute(kid) || (atEnd && isElement(kid) && !/>[^<]|=|<(button|a|img|svg|canvas|video|iframe)\b/.test(read(kid, then, true)))) return "";
    return read(kid, then);
  }
  const isWord = (one) => typeof one === "string" && !one.startsWith("<");
  function sameKids(parent, mayMove) {
    const old = kidsThen(parent), now = kidsNow(parent);
    const atEnd = isElement(parent) && /^(body|html)$/.test(tagOf(parent));
    const both = new Set(now);
    for (const kid of now) if (!old.includes(kid)) both.delete(kid);
    const [was, is] = [old, now].map((kids) => kids.map((kid) => (both.has(kid) ? kid : told(kid, kids === old, atEnd))).filter(Boolean));
    if (was.length !== is.length) return false;
    if (was.every((one, i) => one === is[i] || (isWord(one) && isWord(is[i]) && hasTicked(one, is[i], seconds)))) return true;
    const rest = new Map();
    for (const one of is) rest.set(one, (rest.get(one) || 0) + 1);
    return mayMove && was.every((one) => { const count = rest.get(one); rest.set(one, count - 1); return count > 0; });
  }
  function tells(el, name, was) {
    const tag = tagOf(el);
    if (QUIET.has(name) || tag === "body" || tag === "html") return false;
    if (name === "style") return String((was || "").match(SHOWS)) !== String((attr(el, name) || "").match(SHOWS));
    return el instanceof HTMLElement || /href|class|aria/.test(name);
  }
  function isAllTheSame(home, mayMove) {
    for (const parent of lists.keys()) if (stayed(parent) && !isMute(parent) && !sameKids(parent, parent === home && mayMove)) return false;
    for (const [node, was] of texts) if (stayed(node) && !isMute(parentNodeOf(node)) && !hasTicked(clean(was), clean(dataOf(node)), seconds)) return false;
    for (const [el, known] of attributes) {
      for (const [name, was] of known) if (attr(el, name) !== was && stayed(el) && tells(el, name, was)) return false;
    }
    return true;
  }

  // Where it stood, the one part that is what the part around it was: in that, what stands at its place. Whoever stands
  // beside one that says the same, at any step, has no twin. Rows may change places, if their words tell whose they are.
  return (old) => {
    const path = [];
    let part = old, home, said;
    for (;; part = home) {
      home = homeThen(part);
      if (!home) return null;
      const kids = elementsOf(home, true);
      said = isElement(part) && read(part, true, true);
      if (said && kids.some((kid) => kid !== part && tagOf(kid) === tagOf(part) && read(kid, true, true) === said)) return null;
      if (connectedOf(home)) break;
      path.unshift(said ? kids.indexOf(part) : -1);
    }
    const [heir, ...others] = elementsOf(home, false).filter((kid) => read(kid, false, true) === said);
    if (!heir || others.length || homes.get(heir) !== null || read(heir, false) !== read(part, true)) return null;
    const rows = [...elementsOf(home, true), ...elementsOf(home, false)].every((kid) => ROWS.has(tagOf(kid)));
    if (!isAllTheSame(home, rows && textIn(said) !== textIn(read(old, true, true))) || left < 0) return null;
    return path.reduce((el, step) => (step < 0 ? shadowOf(el) : elementsOf(el, false)[step]), heir);
  };
}
