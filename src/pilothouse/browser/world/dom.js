// The DOM, read through accessors captured once from the prototypes.
// Above: every other room of this world. Below: nothing.
// Why: a form lets its controls shadow its own properties (<input name="parentNode">), and a document lets
// named images and forms do the same. A getter taken from the prototype cannot be shadowed.
// What runs while the rooms are loaded calls function declarations only (`uncurry`, `getter`, `words`, `tellBy`), and
// those need no constant of another room yet: so the order in which the files are joined does not matter. It may run
// twice: a page may break it off on its way in.

function uncurry(f) { return Function.prototype.call.bind(f); }
function getter(proto, name) { return uncurry(Object.getOwnPropertyDescriptor(proto, name).get); }

const typeOf = getter(Node.prototype, "nodeType");
const parentNodeOf = getter(Node.prototype, "parentNode");
const firstChildOf = getter(Node.prototype, "firstChild");
const nextSiblingOf = getter(Node.prototype, "nextSibling");
const previousSiblingOf = getter(Node.prototype, "previousSibling");
const textContentOf = getter(Node.prototype, "textContent");
const connectedOf = getter(Node.prototype, "isConnected");
const rootOf = uncurry(Node.prototype.getRootNode);
const containsNode = uncurry(Node.prototype.contains);
const dataOf = getter(CharacterData.prototype, "data");
const tagOf = getter(Element.prototype, "localName");
const openRootOf = getter(Element.prototype, "shadowRoot");
const slotOf = getter(Element.prototype, "assignedSlot");
const textSlotOf = getter(Text.prototype, "assignedSlot");
const scrollWidthOf = getter(Element.prototype, "scrollWidth");
const scrollHeightOf = getter(Element.prototype, "scrollHeight");
const clientWidthOf = getter(Element.prototype, "clientWidth");
const clientHeightOf = getter(Element.prototype, "clientHeight");
const scrollTopOf = getter(Element.prototype, "scrollTop");
const firstElementOf = getter(Element.prototype, "firstElementChild");
const attr = uncurry(Element.prototype.getAttribute);
const hasAttr = uncurry(Element.prototype.hasAttribute);
const hasAttrs = uncurry(Element.prototype.hasAttributes);
const matches = uncurry(Element.prototype.matches);
const closest = uncurry(Element.prototype.closest);
const rectOf = uncurry(Element.prototype.getBoundingClientRect);
const rectsOf = uncurry(Element.prototype.getClientRects);
const checkVisible = uncurry(Element.prototype.checkVisibility);
const queryIn = uncurry(Element.prototype.querySelectorAll);
const firstIn = uncurry(Element.prototype.querySelector);
const queryDoc = uncurry(Document.prototype.querySelectorAll);
const queryFragment = uncurry(DocumentFragment.prototype.querySelectorAll);
const htmlOf = getter(Document.prototype, "documentElement");
const bodyOf = getter(Document.prototype, "body");
const titleOf = getter(Document.prototype, "title");
const activeOf = getter(Document.prototype, "activeElement");
const scrollingOf = getter(Document.prototype, "scrollingElement");
const baseOf = getter(Node.prototype, "baseURI");
const createIn = uncurry(Document.prototype.createElement);
const createRangeIn = uncurry(Document.prototype.createRange);
const activeInRoot = getter(ShadowRoot.prototype, "activeElement");
const hitDoc = uncurry(Document.prototype.elementFromPoint);
const hitRoot = uncurry(ShadowRoot.prototype.elementFromPoint);
const byIdInDoc = uncurry(Document.prototype.getElementById);
const byIdInRoot = uncurry(DocumentFragment.prototype.getElementById);
const assignedNodesOf = uncurry(HTMLSlotElement.prototype.assignedNodes);
const controlOf = getter(HTMLLabelElement.prototype, "control");
const editableOf = getter(HTMLElement.prototype, "isContentEditable");

// A node that was handed to another frame of the process first has that frame's prototypes (M): what it is, its name says.
const namespaceOf = getter(Element.prototype, "namespaceURI");
const XHTML = "http://www.w3.org/1999/xhtml";
function tellBy(kind, test) {
  const value = function (node) {
    if (this !== kind) throw new TypeError(`${this.name} is not told by its name`);
    return node !== null && node !== undefined && test(node);
  };
  Object.defineProperty(kind, Symbol.hasInstance, { value, configurable: true });
}
tellBy(HTMLElement, (node) => typeOf(node) === 1 && namespaceOf(node) === XHTML);
tellBy(SVGElement, (node) => typeOf(node) === 1 && namespaceOf(node) === "http://www.w3.org/2000/svg");
tellBy(ShadowRoot, (node) => { try { return Boolean(hostOf(node)); } catch { return false; } });
for (const [kind, name] of [
  [HTMLAnchorElement, "a"], [HTMLAreaElement, "area"], [HTMLButtonElement, "button"], [HTMLFieldSetElement, "fieldset"],
  [HTMLFormElement, "form"], [HTMLInputElement, "input"], [HTMLLabelElement, "label"], [HTMLOptionElement, "option"],
  [HTMLOutputElement, "output"], [HTMLSelectElement, "select"], [HTMLSlotElement, "slot"], [HTMLTableElement, "table"],
  [HTMLTextAreaElement, "textarea"], [HTMLObjectElement, "object"],
]) tellBy(kind, (node) => typeOf(node) === 1 && tagOf(node) === name && namespaceOf(node) === XHTML);

// Closed shadow roots that the daemon has handed over: host -> root, and which node is in which slot.
const closedRoots = new WeakMap();
let anyClosed = false;
ph.adopt = (host, root) => { anyClosed = true; closedRoots.set(host, root); watchRoot(root); return true; };

const shadowOf = (el) => openRootOf(el) || (anyClosed && closedRoots.get(el)) || null;
const isElement = (node) => node !== null && node !== undefined && typeOf(node) === 1;
const query = (root, css) =>
  typeOf(root) === 9 ? queryDoc(root, css) : typeOf(root) === 11 ? queryFragment(root, css) : queryIn(root, css);

// Children as they are drawn: a shadow root instead of the host's own children, a slot's assigned nodes.
function kidsOf(el, root = shadowOf(el)) {
  if (!root && tagOf(el) === "slot" && el instanceof HTMLSlotElement) {
    const nodes = assignedNodesOf(el);
    if (nodes.length) return nodes;
  }
  const kids = [];
  for (let kid = firstChildOf(root || el); kid; kid = nextSiblingOf(kid)) kids.push(kid);
  return kids;
}

// Frames, and what shows a page as they do. An object or an embed may as well show a picture, and of an embed nothing in
// the page says which: the browser knows, and the daemon has it told to us (browser/owners.py).
let holders = new WeakSet();
const mayHoldPage = (tag) => tag === "object" || tag === "embed";
const holdsFrame = (el, tag = tagOf(el)) => tag === "iframe" || tag === "frame" || (mayHoldPage(tag) && holders.has(el));

// The parent as it is drawn: slot, then shadow host.
function parentOf(node) {
  const type = typeOf(node);
  const slot = type === 1 ? slotOf(node) : type === 3 ? textSlotOf(node) : null;
  if (slot) return slot;
  const parent = parentNodeOf(node);
  if (!parent) return null;
  if (typeOf(parent) === 11) return parent instanceof ShadowRoot ? hostOf(parent) : null;
  if (typeOf(parent) !== 1) return null;
  const closed = anyClosed && closedRoots.get(parent);
  if (closed) {
    for (const inner of queryFragment(closed, "slot")) if (assignedNodesOf(inner).includes(node)) return inner;
  }
  return parent;
}
const hostOf = getter(ShadowRoot.prototype, "host");

function composedContains(outer, inner) {
  for (let node = inner, i = 0; node && i < 20000; node = parentOf(node), i++) if (node === outer) return true;
  return false;
}

function closestComposed(el, test) {
  for (let node = el, i = 0; node && i < 20000; node = parentOf(node), i++) if (test(node)) return node;
  return null;
}

function byId(el, id) {
  const root = rootOf(el);
  return typeOf(root) === 9 ? byIdInDoc(root, id) : root instanceof ShadowRoot ? byIdInRoot(root, id) : null;
}

// Every shadow root below a root, outermost first.
function shadowRootsIn(root) {
  const found = [];
  const queue = [root];
  for (let i = 0; i < queue.length && i < 5000; i++) {
    for (const el of query(queue[i], "*")) {
      const inner = shadowOf(el);
      if (inner) { found.push(inner); queue.push(inner); }
    }
  }
  return found;
}

// The focused element, through shadow roots.
function focusedElement() {
  let el = activeOf(document);
  for (let i = 0; el && i < 100; i++) {
    const root = shadowOf(el);
    const inner = root && activeInRoot(root);
    if (!inner) break;
    el = inner;
  }
  return el === bodyOf(document) ? null : el;
}

// The option, cell or item that the focused element says its keys go to; it keeps the focus itself.
const activeIn = (focused) => focused && byId(focused, attr(focused, "aria-activedescendant") || "");

// Page text for printing: no control characters (our own marks are made of them), no invisible or private-use
// characters (icon fonts), white space as one blank.
const ODD = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffc]|\udb40[\udc00-\udc7f]|[\udb80-\udbff][\udc00-\udfff]/g;
const HAS_ODD = /[^\u0020-\u007e\u00a0-\u00ac\u00ae-\u1fff\u3000-\ud7ff]/;
function clean(text) {
  if (HAS_ODD.test(text)) text = text.replace(ODD, "");
  return text.replace(/\s+/g, " ").trim();
}
// A backslash is doubled only where it could be taken for a sign's: a Windows path reads as it is.
const quote = (text) => `"${text.includes('"') || text.endsWith("\\") ? text.replace(/["\\]/g, "\\$&") : text}"`;
const cut = (text, max) => (text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`);
