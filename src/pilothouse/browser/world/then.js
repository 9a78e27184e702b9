// Then: a part of the page as it was when somebody looked, read from what has happened since.
// Above: past.js, twin.js. Below: dom.js.

const attributesOf = uncurry(Element.prototype.getAttributeNames);
const SPOKEN = words("alt title placeholder label value aria-label aria-valuetext aria-roledescription");

// `records` are all that is known, the first `early` of them from before that look.
function pageThen(records, early, heldThen, heldNow) {
  const lists = new Map();     // by parent: the changes of its children
  const homes = new Map();     // by node: its parent then; null for what came later
  const texts = new Map();
  const attributes = new Map();
  const before = new Map();
  let left = 100000;           // nodes that may be read: more, and it is not known
  const above = (node) => parentNodeOf(node) || (node instanceof ShadowRoot ? hostOf(node) : null);
  const at = (map, key, empty) => (map.has(key) ? map : map.set(key, empty)).get(key);
  for (const record of records.slice(early)) {
    const { type, target, oldValue, attributeName, addedNodes, removedNodes } = record;
    if (type === "characterData") at(texts, target, oldValue);
    else if (type === "attributes") {
      const known = at(attributes, target, new Map());
      if (!known.has(attributeName)) known.set(attributeName, oldValue);
    } else {
      for (const node of addedNodes) if (!homes.has(node)) homes.set(node, null);
      for (const node of removedNodes) if (!homes.has(node)) homes.set(node, target);
      at(lists, target, []).push(record);
    }
  }
  function kidsNow(node) {
    const kids = [];
    for (let kid = firstChildOf(node); kid; kid = nextSiblingOf(kid)) kids.push(kid);
    return kids;
  }
  // Undone in a chain: however many children there are, a change costs what it has changed.
  function kidsThen(node) {
    if (!lists.has(node)) return kidsNow(node);
    if (before.has(node)) return before.get(node);
    const after = new Map(), ahead = new Map();   // null is the end, and what comes after it the first
    const join = (one, next) => { after.set(one, next); ahead.set(next, one); };
    let last = null;
    for (const kid of [...kidsNow(node), null]) { join(last, kid); last = kid; }
    for (const { addedNodes, removedNodes, nextSibling } of [...lists.get(node)].reverse()) {
      for (const kid of addedNodes) {
        if (after.has(kid)) join(ahead.get(kid), after.get(kid)); else left = -1;
        after.delete(kid);
      }
      if (!after.has(nextSibling)) left = -1;
      else for (const kid of removedNodes) { join(ahead.get(nextSibling), kid); join(kid, nextSibling); }
    }
    const kids = [];
    for (let kid = after.get(null); kid; kid = after.get(kid)) kids.push(kid);
    before.set(node, kids);
    return kids;
  }
  const kids = (node, then) => (then ? kidsThen(node) : kidsNow(node));
  const textOf = (node, then) => clean(then && texts.has(node) ? texts.get(node) : dataOf(node));

  // All that a part of the page is and holds, or only what it says to a person.
  function read(top, then, spoken = false) {
    let out = "";
    const stack = [top];
    while (stack.length && left-- > 0) {
      const node = stack.pop();
      const type = node ? typeOf(node) : 0;
      if (type === 3) out += textOf(node, then);
      else if (!type) out += "</>";
      if (type !== 1 && type !== 11) continue;
      if (type === 1) out += `<${tagOf(node)}${markOf(node, then, spoken)}>`;
      const root = type === 1 && shadowOf(node);
      stack.push(null);
      const inside = kids(node, then);
      for (let i = inside.length - 1; i >= 0; i--) stack.push(inside[i]);
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
  return {
    records, lists, homes, texts, attributes, above, read, kids, text: textOf,
    elements: (node, then) => kids(node, then).filter(isElement),
    home: (node) => (homes.has(node) ? homes.get(node) : above(node)),
    isKnown: () => left > 0,
  };
}
