// Tree: one walk over the page as it is drawn, into a small tree of what matters: texts, controls, structure.
// Above: lines.js prints it. Below: every other room.
// In viewport mode a subtree whose box lies outside is not entered, only counted: that is what makes it fast.

const BREAK = { kind: "break" };
const MAX_LEVEL = 500;    // of recursion; deeper content waits in a queue, so no page overflows the stack
const MAX_NEST = 40;      // of printed structure
const MAX_NODES = 300000;
const MOST_SCROLLERS = 10;  // whose edges are looked at
const DRY_NODES = 150;
const LONG_NAME = 140;    // a control whose content is longer is printed with its content beneath
const LEAVES = words("input select textarea iframe frame canvas video audio progress meter img object embed");
const BOXES = words("banner complementary contentinfo main navigation search form region dialog alertdialog table grid treegrid menu tree listbox feed application");
const NAMED_BOXES = words("list group radiogroup tablist toolbar menubar tabpanel figure article");
const ENTRIES = words("listitem alert status log article timer");
const CELLS = words("cell gridcell columnheader rowheader");
// Roles that keep their word when they can be pressed; everything else without a widget's role is "clickable".
const KEEPS = words("img heading gridcell row columnheader rowheader canvas video audio iframe");
const COUNTED = "a[href],button,input:not([type=hidden]),select,textarea,summary,h1,h2,h3,h4,h5,h6,p,li,td,[role=button],[role=link],[role=tab],[role=option],[role=menuitem],[onclick],[tabindex]";

function buildTree({ root, full, margin, dry = false }) {
  const m = full ? 1e9 : margin;
  // Asked for once: each time the window tells its size it looks whether the page has to be laid out anew.
  const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const view = { left: -m, top: -m, right: screen.right + m, bottom: screen.bottom + m };
  const focused = focusedElement();
  const walk = {
    full, dry, most: dry ? DRY_NODES : MAX_NODES, margin: m, screen, view, must: full ? null : hitElements(), focused, active: activeIn(focused), backdrops: new Map(),
    above: 0, below: 0, acts: 0, nodes: 0, frames: [], hosts: [], front: [], queue: [], layers: [], tested: [], bars: 0, panes: [], modal: modalDialog(),
  };
  const kids = [];
  const ctx = { clip: view, outer: view, soft: true, said: "", cursor: "auto", unseen: false, aria: false, scroller: null, nest: 0, tall: false, front: false, spread: 0, inside: false };
  walk.queue.push([root, ctx, kids]);
  for (let i = 0; i < walk.queue.length; i++) {
    const [node, at, out] = walk.queue[i];
    visit(node, at, out, 0, walk);
    walk.queue[i] = null;
  }
  if (walk.layers.length) for (const item of walk.tested) item.covered = isCovered(item, walk);
  walk.kids = kids;
  return walk;
}

// Only a positioned box can lie over what is not its own: without one at the same place no hit test is paid.
function isCovered({ el, at }, { layers, screen }) {
  const rect = boxOf(at);
  if (isEmpty(rect) || outside(rect, screen) || outside(rect, at.ctx.clip)) return false;
  const x = (Math.max(rect.left, 0) + Math.min(rect.right, screen.right)) / 2;
  const y = (Math.max(rect.top, 0) + Math.min(rect.bottom, screen.bottom)) / 2;
  for (const [layer, box] of layers) {
    if (x < box.left || x > box.right || y < box.top || y > box.bottom || layer === el || containsNode(layer, el)) continue;
    return coverOf(el, rect) && (takesPointer(el) ? "covered" : "pointerless");
  }
  return false;
}

// What is under a few points of the viewport, with all ancestors. These are entered even where their parent's box
// is elsewhere (fixed and absolute boxes, negative offsets).
function hitElements() {
  const found = new Set();
  const width = innerWidth, height = innerHeight;
  for (let row = 0; row < 4; row++) {
    for (let col = 0; col < 4; col++) addHit(((col + 0.5) * width) / 4, ((row + 0.5) * height) / 4, found);
  }
  for (const x of [CORNER, width - CORNER]) addHit(x, height - CORNER, found);
  const page = scrollingOf(document);
  if (page) addBars(page, { left: 0, right: width, top: 0, bottom: height }, found);
  return found;
}
const CORNER = 44;      // where round buttons float
const MOST_BARS = 4;
function addHit(x, y, found) {
  const hit = deepHit(x, y);
  for (let el = hit, i = 0; el && !found.has(el) && i < 20000; i++) { found.add(el); el = parentOf(el); }
  return hit;
}
// What keeps its place while things scroll past it lies along the edges, bar below bar; the row or the section that it
// belongs to may have left.
function addBars(el, box, found) {
  const left = scrollTopOf(el) + clientHeightOf(el) < scrollHeightOf(el) - 1;
  for (const x of [box.left + 24, (box.left + box.right) / 2, box.left + (box.right - box.left) / 6, box.right - (box.right - box.left) / 6]) {
    const bar = (y) => {
      const hit = addHit(x, y, found);
      const one = hit && closestComposed(hit, (up) => up === el || STAYS.test(getComputedStyle(up).position));
      return one && one !== el ? rectOf(one) : null;
    };
    for (let y = box.top + 2, i = 0; scrollTopOf(el) > 0 && y < box.bottom && i < MOST_BARS; i++) y = (bar(y) || FAR).bottom + 2;
    for (let y = box.bottom - 2, i = 0; left && y > box.top && i < MOST_BARS; i++) y = (bar(y) || FAR).top - 2;
  }
}
const STAYS = /^(fixed|sticky)$/;
const FAR = { top: -1e9, bottom: 1e9 };
function modalDialog() {
  const open = queryDoc(document, "dialog:modal");
  if (open.length) return open[open.length - 1];
  const hit = deepHit(innerWidth / 2, innerHeight / 2);
  return hit ? closestComposed(hit, (el) => tagOf(el) === "dialog" && matches(el, ":modal")) : null;
}

const outside = (rect, clip) => rect.bottom <= clip.top || rect.top >= clip.bottom || rect.right <= clip.left || rect.left >= clip.right;
function meet(clip, rect, aside, along) {
  return {
    left: Math.max(clip.left, rect.left - aside), right: Math.min(clip.right, rect.right + aside),
    top: Math.max(clip.top, rect.top - along), bottom: Math.min(clip.bottom, rect.bottom + along),
  };
}

// A box outside the clip whose overflow reaches back in is not skipped (a 100vh wrapper of a long page).
function isElsewhere(el, rect, clip, height) {
  if (!outside(rect, clip)) return false;
  if (rect.height < height * 0.4) return true;
  const reach = {
    left: rect.left, top: rect.top, right: Math.max(rect.right, rect.left + scrollWidthOf(el)),
    bottom: Math.max(rect.bottom, rect.top + scrollHeightOf(el)),
  };
  return outside(reach, clip);
}
// A table's head and foot can stay in view, or their rows, or only the cells: each is a box of its own.
const KEPT = words("thead tfoot");
const lastElementOf = getter(Element.prototype, "lastElementChild");
function mayKeep(el, tag, ctx) {
  if (KEPT.has(tag)) return true;
  if (tag !== "tr" || !ctx.el || !KEPT.has(tagOf(ctx.el))) return false;
  return [firstElementOf(el), lastElementOf(el)].some((cell) => cell && !outside(rectOf(cell), ctx.clip));
}
// About as many as there would be lines: a row is one, whatever is in it.
function countIn(el) {
  const tag = tagOf(el);
  if (tag === "tr") return 1;
  return countDrawn(queryIn(el, tag === "table" || tag === "tbody" ? "tr" : COUNTED));
}
// Each is asked only if one of a few is not drawn (rows that a filter hides, a menu that is closed).
function countDrawn(list) {
  if (list.length <= 20) return list.length;
  for (let i = 0; i < 8; i++) {
    if (!isDrawn(list[(i * (list.length - 1)) / 7 | 0])) return [...list].filter(isDrawn).length;
  }
  return list.length;
}
function leaveOut(el, rect, ctx, walk) {
  let count = countIn(el) + (matches(el, COUNTED) ? 1 : 0);
  if (!count) count = textContentOf(el).trim() || shadowOf(el) ? 1 : 0;
  const whose = ctx.scroller || walk;
  if (rect.bottom <= ctx.clip.top || rect.right <= ctx.clip.left) whose.above += count; else whose.below += count;
}

function visit(node, ctx, out, level, walk) {
  const type = typeOf(node);
  if (type === 3) { addText(node, ctx, out, walk); return; }
  if (type !== 1 || walk.nodes++ > walk.most) return;
  const tag = tagOf(node);
  if (SILENT.has(tag)) return;
  if (tag === "br") { out.push(blank()); return; }
  if (level > MAX_LEVEL) {
    const group = { kind: "group", kids: [] };
    out.push(group);
    walk.queue.push([node, ctx, group.kids]);
    return;
  }
  visitElement(node, tag, ctx, out, level, walk);
}

// Boxes are the costly part: they are asked for only where they decide something. Inside an element that lies
// wholly in view nothing has to be left out, so its descendants' boxes are read only if they are acted on, placed
// or clipped.
function visitElement(el, tag, ctx, out, level, walk) {
  let rect = null;
  if (!walk.full && !ctx.inside && tag !== "body" && tag !== "html") {
    rect = rectOf(el);
    if (rect.width > 0 && rect.height > 0 && !mayKeep(el, tag, ctx) && !walk.must.has(el) && isElsewhere(el, rect, ctx.clip, walk.screen.bottom)) {
      const lost = rect.right + scrollX <= 0 || rect.bottom + scrollY <= 0;
      if (!lost || ctx.scroller) { leaveOut(el, rect, ctx, walk); return; }
    }
  }
  if (tag === "map") { visitAreas(el, ctx, out, walk); return; }
  const style = getComputedStyle(el);
  const display = style.display;
  const plain = !hasAttrs(el);
  if (display === "none" || (!plain && hasAttr(el, "inert"))) return;
  const inner = insideOf(el, tag, style, display, plain, rect, ctx, walk);
  const inline = display.startsWith("inline") || display === "contents";
  if (!inline) out.push(BREAK);
  const item = makeItem(el, tag, style, inner.rect, ctx, inner, walk);
  if (item && item.front && !ctx.front) { out = walk.front; inner.front = true; }
  if (item) item.block = !inline;
  const kids = item ? item.kids : out;
  if (!item || !item.leaf) {
    if (!mayHideKids(display) || style.contentVisibility !== "hidden") visitKids(el, tag, inner, kids, level, walk);
    if (inner.mayHost || tag.includes("-")) mayHide(el, tag, style, inner.rect, walk);
  }
  if (item) finishItem(item, ctx, out, walk);
  if (!inline) out.push(BREAK);
}

// Only boxes that can be sized without their content can hide it by content-visibility.
const mayHideKids = (display) => display !== "inline" && !display.startsWith("table-row");

function visitKids(el, tag, inner, kids, level, walk) {
  const shut = tag === "details" && !openDetailsOf(el);
  const root = shadowOf(el);
  const list = kidsOf(el, root);
  if (root) watchRoot(root);
  let own = list.length === 0;
  for (const kid of list) if (typeOf(kid) === 3) { own = true; break; }
  own = own && mayHavePseudo(el);
  if (own) addPseudo(el, "::before", inner, kids);
  const [from, to] = !walk.full && list.length > 40 ? nearPart(list, inner, walk) : [0, list.length];
  for (let i = 0; i < list.length; i++) {
    const kid = list[i];
    if ((i < from || i >= to) && !walk.must.has(kid)) continue;
    if (!shut || (isElement(kid) && tagOf(kid) === "summary")) visit(kid, inner, kids, level + 1, walk);
  }
  if (own) addPseudo(el, "::after", inner, kids);
  inner.mayHost = list.length === 0;
}

// Of a long list of children that run downwards, the stretch near the clip; the rest is counted by samples.
// So a list of ten thousand rows costs a dozen boxes, not ten thousand.
function nearPart(list, ctx, walk) {
  const rows = [];
  for (let i = 0; i < list.length; i++) if (typeOf(list[i]) === 1 && !SILENT.has(tagOf(list[i]))) rows.push(i);
  if (rows.length < 30) return [0, list.length];
  const tops = new Map();
  const top = (k) => { let v = tops.get(k); if (v === undefined) { const r = rectOf(list[rows[k]]); tops.set(k, v = r.width || r.height ? r.top : NaN); } return v; };
  // One that is not drawn lies where the next one does.
  const place = (k) => { while (k < rows.length - 1 && Number.isNaN(top(k))) k++; return top(k); };
  for (let k = 0, last = -Infinity; k < rows.length; k += Math.max(1, rows.length >> 4)) {
    if (!(top(k) >= last)) return [0, list.length];
    last = top(k);
  }
  const find = (limit) => {
    let low = 0, high = rows.length;
    while (low < high) { const mid = (low + high) >> 1; if (place(mid) < limit) low = mid + 1; else high = mid; }
    return low;
  };
  const first = Math.max(0, find(ctx.clip.top) - 3), end = Math.min(rows.length, find(ctx.clip.bottom) + 3);
  const whose = ctx.scroller || walk;
  const count = (k) => Math.max(1, countIn(list[rows[k]]));
  if (first > 0) whose.above += first * count(first - 1);
  if (end < rows.length) whose.below += (rows.length - end) * count(end);
  return [first > 0 ? rows[first] : 0, end < rows.length ? rows[end] : list.length];
}

// Of a box that scrolls far only what it shows is in view: what else there is, and how much, its rows may not tell, for
// lists draw few of theirs. Told as heights of the box.
const isFar = (el) => scrollHeightOf(el) > 2 * clientHeightOf(el);
function reachOf(el, style) {
  const height = clientHeightOf(el) || 1, room = scrollHeightOf(el) - height;
  const top = scrollTopOf(el) + (style.flexDirection === "column-reverse" ? room : 0);
  return { above: top / height, below: (room - top) / height };
}

// What children inherit from this element.
function insideOf(el, tag, style, display, plain, rect, ctx, walk) {
  const position = style.position;
  const overflow = display === "inline" ? "visible" : style.overflowY;
  const cursor = style.cursor;
  const height = walk.screen.bottom;
  const page = tag === "body" || tag === "html";
  let clip = ctx.clip, outer = ctx.outer, scroller = ctx.scroller, inside = ctx.inside, scrolls = false, far = null, soft = ctx.soft;
  if (position !== "static" || (overflow !== "visible" && !page)) rect = rect || rectOf(el);
  const sized = rect !== null && rect.width > 0 && rect.height > 0;
  if (position === "fixed") { clip = outer = walk.view; scroller = null; soft = true; }
  else if (position === "absolute") clip = ctx.outer;
  if (position !== "static" && sized) walk.layers.push([el, rect]);
  if (overflow !== "visible" && !page && sized) {
    scrolls = (overflow === "auto" || overflow === "scroll") &&
      (scrollHeightOf(el) > clientHeightOf(el) + 8 || scrollWidthOf(el) > clientWidthOf(el) + 8);
    if (!walk.full) {
      far = scrolls && isFar(el) ? reachOf(el, style) : null;
      const margin = scrolls ? walk.margin / 2 : 0;
      clip = meet(clip, rect, margin, far ? 0 : margin);   // a row may be a hair wider than its box
      inside = false;
      soft = soft && scrolls;
      const seen = inWindow(rect);
      if (scrolls && hasArea(seen) && walk.bars++ < MOST_SCROLLERS) addBars(el, seen, walk.must);
    }
  }
  if (position !== "static") outer = clip;
  if (sized && !walk.full && !inside && overflow === "visible" && rect.height < height / 2) {
    // Where the clip ends by our choice, what is small and reaches in is taken as a whole: no row without its button.
    const small = soft && rect.height < height / 4 && rect.bottom > clip.top && rect.top < clip.bottom;
    inside = (small || (rect.top >= clip.top && rect.bottom <= clip.bottom)) && rect.left >= clip.left && rect.right <= clip.right;
  }
  return {
    clip, outer, scroller, scrolls, far, soft, inside, rect, said: ctx.said, nest: ctx.nest, hush: style.visibility !== "visible",
    own: cursor, cursor: SPREADS.has(tag) ? ctx.cursor : cursor, unseen: ctx.unseen || isUnseen(style, rect, position, overflow),
    aria: ctx.aria || (!plain && attr(el, "aria-hidden") === "true"), plain, el, style, read: 0,
    tall: !walk.full && !inside && rect !== null && rect.height > height * 1.5, mayHost: false,
    front: ctx.front || el === walk.modal, spread: 0,
  };
}

const blank = () => ({ kind: "text", text: " ", hidden: false, el: null, nodes: [] });
function addText(node, ctx, out, walk) {
  let data = dataOf(node);
  if (!/\S/.test(data)) { if (out.length && out[out.length - 1].kind === "text") out.push(blank()); return; }
  if (ctx.hush || ctx.aria || !ctx.style) return;
  data = transformed(data, ctx.style.textTransform);
  if (ctx.said && ctx.said.includes(clean(data))) return;
  if (ctx.tall) {
    const range = new Range();
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    if (rect.height > 0 && outside(rect, ctx.clip)) {
      const whose = ctx.scroller || walk;
      if (rect.bottom <= ctx.clip.top) whose.above++; else whose.below++;
      return;
    }
  }
  if (!ctx.read) ctx.read = !ctx.unseen && isUnreadable(ctx.el, ctx.style, walk.backdrops) ? 2 : 1;
  out.push({ kind: "text", text: data, hidden: ctx.unseen || ctx.read === 2, el: ctx.el, nodes: [node] });
}
function addPseudo(el, which, ctx, out) {
  if (ctx.hush || ctx.aria) return;
  const text = pseudoText(el, which);
  if (!text || !clean(text) || (ctx.said && ctx.said.includes(clean(text)))) return;
  out.push({ kind: "text", text, hidden: ctx.unseen, el, nodes: [] });
}
function visitAreas(map, ctx, out, walk) {
  for (const area of [...queryIn(map, "area[href]")].slice(0, 200)) {
    walk.acts++;
    out.push({ kind: "leaf", el: area, role: "link", name: nameOf(area), act: true, kids: [], leaf: true, block: true });
  }
}

// A closed shadow root shows itself only by a box that nothing we can see fills. Asked again when the size changes.
// The daemon asks DOM.describeNode(depth 0) for each and hands closed roots to ph.adopt by DOM.resolveNode.
const asked = new WeakMap();
const HOST_TAGS = words("article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span");
function mayHide(el, tag, style, known, walk) {
  if (walk.dry || !(tag.includes("-") || HOST_TAGS.has(tag)) || shadowOf(el)) return;
  const rect = known || rectOf(el);
  if (rect.width === 0 || rect.height === 0) return;
  // An empty plain element with a picture, or of an icon's size, is an icon.
  if (!tag.includes("-") && (rect.width < 30 || rect.height < 14 || style.backgroundImage !== "none")) return;
  const size = `${Math.round(rect.width)}x${Math.round(rect.height)}`;
  if (asked.get(el) === size || walk.hosts.length >= 40) return;
  asked.set(el, size);
  walk.hosts.push(el);
}
