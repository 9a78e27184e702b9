// Clickable: which elements without a widget's role a person can nevertheless press, and how sure we are.
// Above: tree.js, locate.js. Below: dom.js, roles.js, visible.js.

// Elements with click-like listeners; the daemon finds them (listeners cannot be seen from script) and hands them in:
// DOMDebugger.getEventListeners on the document, then DOM.resolveNode for the nodes not handed in before.
// The document's handle must come from the page's own world: with one of an isolated world the renderer of
// Chromium 156 crashes at a later collection (measured, each time).
const listening = new WeakSet();
ph.markClickable = (...elements) => {
  let fresh = 0;
  for (const el of elements) if (isElement(el) && !listening.has(el)) { listening.add(el); fresh++; }
  if (fresh) bump();
  return fresh;
};

const NONE = 0, CURSOR = 1, LISTENER = 2, STATED = 3;
const ON = /^on(click|mousedown|mouseup|pointerdown|pointerup|dblclick|touchstart|touchend|contextmenu)$/;
const attributeNames = uncurry(Element.prototype.getAttributeNames);
// A cursor on a whole list or table speaks of its items.
const SPREADS = words("ul ol menu dl table tbody thead tfoot body html main form section nav header footer");
const ITEMS = 1, ALIKE = 2;
const MIN_ALIKE = 3, MAX_COMPARED = 50, MAX_IN_ROW = 100;
const elementsIn = uncurry(Element.prototype.getElementsByTagName);
const READS = "h1,h2,h3,h4,h5,h6,p,section,article,main,header,footer,nav,aside,table,ul,ol,dl,form,fieldset";

// How surely an element of a walk is one to press: by itself, or because what is around it listens for its rows.
function pressOf(el, tag, ctx, inner) {
  const own = strengthOf(el, tag, inner.own, ctx, inner.plain);
  const meant = ctx.spread === ALIKE || (ctx.spread === ITEMS && (tag === "li" || tag === "tr" || tag === "tbody"));
  const strength = meant ? Math.max(own, LISTENER) : own;
  if (strength === LISTENER) inner.spread = spreadOf(el, tag, ctx, inner);
  return strength;
}
// So does a listener; and one on a box of like boxes, rows that somebody drew without a list, speaks of each of them.
// Not so if the pointer calls the box one thing, or it is such a row itself.
function spreadOf(el, tag, ctx, inner) {
  if (SPREADS.has(tag)) return ITEMS;
  const one = inner.own === "pointer" && ctx.cursor !== "pointer";
  return tag === "div" && !one && ctx.spread !== ALIKE && isRunOfBoxes(kidsOf(el)) ? ALIKE : 0;
}
// What is written to be read (a heading, a paragraph, a list), or much of anything, makes a box part of a page, and no row.
// Of a long run its beginning tells.
function isRunOfBoxes(list) {
  let first = null, count = 0;
  for (const kid of list) {
    const type = typeOf(kid);
    if (type === 3 && /\S/.test(dataOf(kid))) return false;
    if (type !== 1) continue;
    first = first || kid;
    if (tagOf(kid) !== "div" || attr(kid, "class") !== attr(first, "class")) return false;
    if (elementsIn(kid, "*")[MAX_IN_ROW] || firstIn(kid, READS)) return false;
    if (++count === MAX_COMPARED) break;
  }
  return count >= MIN_ALIKE;
}
const GRABS = /^(grab|grabbing|move|all-scroll)$|-resize$/;

// In composite widgets the focus roves: tabindex=-1 there means "reached by arrow keys or the pointer".
const ROVING = /^(gridcell|row|columnheader|rowheader)$/;

// ctx.cursor is the parent's: a cursor is inherited, so only where it changes does somebody mean this element.
function strengthOf(el, tag, cursor, ctx, plain = false) {
  if (tag === "body" || tag === "html") return NONE;
  for (const name of plain ? [] : attributeNames(el)) {
    if (name === "tabindex") { if (parseInt(attr(el, "tabindex"), 10) >= 0 || ROVING.test(attr(el, "role"))) return STATED; }
    else if (name === "draggable") { if (attr(el, "draggable") === "true") return STATED; }
    else if (name.startsWith("on") && ON.test(name)) return STATED;
  }
  if (listening.has(el)) return LISTENER;
  return isPointedAt(tag, cursor, ctx.cursor) ? CURSOR : NONE;
}
const isPointedAt = (tag, cursor, around) => cursor !== around && !SPREADS.has(tag) && (cursor === "pointer" || GRABS.test(cursor));

// The same of one element alone, outside a walk: does it do something when it is pressed, or look as if it did?
function hasEffect(el) {
  const tag = tagOf(el);
  if (WIDGETS.has(roleOf(el)) || isEditingHost(el) || tag === "select" || tag === "summary") return true;
  return (tag === "label" && !!controlOf(el)) || strengthOf(el, tag, "", { cursor: "" }) !== NONE;
}
function isActionable(el) {
  if (hasEffect(el)) return true;
  const up = parentOf(el);
  return isPointedAt(tagOf(el), getComputedStyle(el).cursor, up ? getComputedStyle(up).cursor : "auto");
}

// Shapes have no names; say what a person sees.
const COLORS = { "255,0,0": "red", "0,128,0": "green", "0,0,255": "blue", "255,255,0": "yellow", "0,0,0": "black", "255,255,255": "white", "255,165,0": "orange", "128,0,128": "purple", "255,192,203": "pink", "128,128,128": "gray", "0,255,255": "cyan", "255,0,255": "magenta", "0,255,0": "lime", "165,42,42": "brown" };
function shapeHint(el, rect) {
  const tag = tagOf(el);
  const style = getComputedStyle(el);
  const paint = parseColor(el instanceof SVGElement ? (style.fill === "none" ? style.stroke : style.fill) : style.backgroundColor);
  const color = paint && paint[3] > 0 ? COLORS[paint.slice(0, 3).join(",")] || "#" + paint.slice(0, 3).map((n) => n.toString(16).padStart(2, "0")).join("") : "";
  const size = `${Math.round(rect.width)}x${Math.round(rect.height)}`;
  return [color, tag, size, `at ${middle(rect).map(Math.round)}`].filter(Boolean).join(" ");
}
