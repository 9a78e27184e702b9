// Items: what one element becomes in the tree (a control, a heading, a box, a row), decided before its children
// are walked and settled after them.
// Above: tree.js. Below: clickable.js, names.js, roles.js, visible.js.

const levelOf = (el, tag) => attr(el, "aria-level") || (/^h[1-6]$/.test(tag) ? tag[1] : "2");

function makeItem(el, tag, style, rect, ctx, inner, walk) {
  if (inner.hush) return null;
  const role = inner.plain ? implicitRole(el) : roleOf(el);
  const at = { el, tag, role, rect, style, ctx, inner, walk };
  if (tag === "label" && el instanceof HTMLLabelElement && controlOf(el)) return labelItem(at, controlOf(el));
  if (WIDGETS.has(role) || tag === "select" || (!inner.plain && isEditingHost(el))) return controlItem(at);
  const strength = pressOf(el, tag, ctx, inner);
  if (inner.spread) return structureItem(at);
  if (strength && !BOXES.has(role) && !NAMED_BOXES.has(role)) return softItem(at, strength);
  const item = structureItem(at);
  if (item && strength === STATED && item.kind === "box") item.ref = true;
  return item;
}

// The dearest thing to ask for: only where somebody needs it.
const boxOf = (at) => at.rect || (at.rect = rectOf(at.el));
const isEmpty = (rect) => rect.width === 0 && rect.height === 0;
const areaOf = (rect) => rect.width * rect.height;
const base = (at, kind, role) => ({
  kind, el: at.el, role, name: "", kids: [], leaf: false, act: false, ref: false, hidden: at.inner.unseen, aria: at.inner.aria,
  covered: false, above: 0, below: 0, before: at.walk.acts,
});

// A label is part of its control; it is a control itself only when the real one is not drawn.
function labelItem(at, control) {
  if (isRendered(control)) { at.inner.said = nameOf(control) || at.inner.said; return null; }
  const item = softItem(at, STATED);
  item.control = control;
  return item;
}

function controlItem(at) {
  const { el, tag, role, inner } = at;
  const item = base(at, "act", WIDGETS.has(role) || tag === "select" ? role : "textbox");
  item.leaf = LEAVES.has(tag) || isEditingHost(el);
  item.name = nameOf(el);
  if (CHECKABLE.has(role) || role === "file") {
    // Drawn by its label: not hidden from a person who sees that label.
    if (item.hidden && labelsOf(el).some((label) => hasBox(label))) item.hidden = false;
  }
  if (!item.leaf) {
    item.long = item.name.length > LONG_NAME && !isNamedByAuthor(el);
    inner.said = item.long ? "" : item.name;
  }
  return asAct(item, at);
}

// Pressable without a widget's role. Its texts are kept until we know whether controls lie inside.
function softItem(at, strength) {
  const { el, role } = at;
  const item = base(at, "act", KEEPS.has(role) ? role : "clickable");
  item.soft = strength;
  item.pointer = at.inner.own === "pointer" && at.ctx.cursor !== "pointer";
  item.leaf = LEAVES.has(at.tag);
  if (item.role === "clickable" && (attr(el, "draggable") === "true" || GRABS.test(at.inner.own))) item.role = "draggable";
  if (role === "heading") item.level = levelOf(el, at.tag);
  if (role === "iframe") at.walk.frames.push(el);
  at.inner.said = "";
  return asAct(item, at);
}
const contentName = (el) => clean(contentText(el, { seen: new Set(), left: 400 }, { top: false, referenced: false, hidden: false }, 0));

function asAct(item, at) {
  const { walk } = at;
  item.act = item.ref = true;
  item.at = at;
  walk.acts++;
  const behind = walk.modal && !at.inner.front;
  if (!behind && !item.hidden) walk.tested.push(item);
  return item;
}

function structureItem(at) {
  const { el, tag, role, inner, walk } = at;
  if (inner.aria || (role === "generic" && !inner.scrolls && !mayHoldPage(tag))) return null;
  if (role === "heading") {
    const item = base(at, "heading", "heading");
    item.name = inner.said = nameOf(el);
    item.level = levelOf(el, tag);
    return item;
  }
  if (role === "iframe") {
    if (boxOf(at).width < 2 || at.rect.height < 2) return null;
    walk.frames.push(el);
    return { ...base(at, "act", "iframe"), name: nameOf(el), leaf: true, ref: true };
  }
  if (role === "img") return pictureItem(at);
  if (role === "progressbar" || role === "meter" || role === "scrollbar") return { ...base(at, "act", role), name: nameOf(el), leaf: true };
  if (tag === "canvas" || tag === "video" || tag === "audio" || mayHoldPage(tag)) return mediaItem(at);
  if (inner.nest > MAX_NEST) return null;
  const item = boxItem(at);
  if (inner.scrolls) return scrollItem(at, item);
  if (item) inner.nest++;
  return item;
}
function pictureItem(at) {
  const name = nameOf(at.el);
  if (at.ctx.said && (!name || at.ctx.said.includes(name))) return null;
  if (!name && (at.tag === "svg" || boxOf(at).width < 40 || at.rect.height < 40)) return null;
  return { ...base(at, "act", "img"), name, leaf: at.tag === "img", size: name ? "" : hintOf(at.el) || "no name" };
}
function mediaItem(at) {
  if (boxOf(at).width < 8 && at.tag !== "audio") return null;
  const media = at.tag === "video" || at.tag === "audio";
  if (mayHoldPage(at.tag)) at.walk.panes.push(refs.of(at.el));
  const item = { ...base(at, "act", at.tag), name: nameOf(at.el), leaf: true };
  item.size = media ? "" : `${Math.round(at.rect.width)}x${Math.round(at.rect.height)}`;
  return media && hasAttr(at.el, "controls") ? asAct(item, at) : item;
}

function boxItem(at) {
  const { el, tag, role } = at;
  if (role === "row") return base(at, "row", rowRole(el));
  if (CELLS.has(role)) return base(at, "cell", role);
  if (role === "table" && isLayoutTable(el)) return null;
  if (ENTRIES.has(role)) return { ...base(at, "entry", role === "listitem" ? "item" : role), name: role === "listitem" ? "" : authorName(el) };
  if (!BOXES.has(role) && !NAMED_BOXES.has(role)) return null;
  const name = tag === "fieldset" || tag === "table" || tag === "figure" ? nameOf(el) : authorName(el);
  if (!name && NAMED_BOXES.has(role)) return null;
  const item = { ...base(at, "box", role), name };
  if (role === "dialog" || role === "alertdialog") {
    item.front = at.inner.front || attr(el, "aria-modal") === "true" || at.style.position === "fixed";
    item.ref = true;
  }
  if (role === "table" || role === "grid" || role === "treegrid") {
    // Those a reader finds: not what a filter has hidden.
    item.rows = [...queryIn(el, tag === "table" && role === "table" ? "tr" : "tr,[role=row]")].filter((row) => rowRole(row) === "row" && isDrawn(row)).length;
  }
  return item;
}
const authorName = (el) => (isNamedByAuthor(el) ? nameOf(el) : "");

// A table that only arranges things: one row or one column, or other tables inside, and nothing that says "data".
function isLayoutTable(el) {
  if (attr(el, "role") || !(el instanceof HTMLTableElement)) return false;
  if (firstIn(el, "th,caption,thead")) return false;
  if (firstIn(el, "table")) return true;
  const rows = queryIn(el, "tr");
  return rows.length < 2 || ![...rows].slice(0, 5).some((row) => queryIn(row, "td").length > 1);
}

function scrollItem(at, item) {
  const box = item || base(at, "box", "scrollable");
  box.scroller = true;
  box.far = at.inner.far;
  at.inner.scroller = box;
  at.inner.nest++;
  return box;
}

function finishItem(item, ctx, out, walk) {
  if (item.soft && !settleSoft(item, walk)) {
    walk.acts--;
    if (!asStructure(item)) { splice(out, item); return; }
  }
  const full = item.kids.some((kid) => kid.kind !== "break" && (kid.kind !== "text" || /\S/.test(kid.text)));
  if (item.act && !item.leaf && !item.name && !full && isEmpty(boxOf(item.at))) { walk.acts--; return; }
  if (item.act && !item.soft && !item.leaf && full) item.kids = withoutEchoes(item.kids, item.name);
  if (item.kind === "heading") { finishHeading(item, full, ctx, out); return; }
  if (item.scroller && item.role === "scrollable") {
    if (!(item.above + item.below) && !walk.full && !item.far) { splice(out, item); return; }
    item.ref = true;
  }
  if (item.above + item.below || item.far) item.ref = true;
  if ((item.kind === "box" || item.kind === "entry") && !full && !item.ref) return;
  if (item.kind === "box" && item.name) item.kids = withoutEchoes(item.kids, item.name);
  out.push(item);
}
// A row or list entry that is no button after all is still a row.
function asStructure(item) {
  const tag = tagOf(item.el);
  if (tag !== "tr" && tag !== "li") return false;
  Object.assign(item, { kind: tag === "tr" ? "row" : "entry", role: tag === "tr" ? rowRole(item.el) : "item", act: false, ref: false, soft: 0, name: "" });
  return true;
}
function rowRole(el) {
  const first = tagOf(el) === "tr" ? firstElementOf(el) : null;
  return first && tagOf(first) !== "td" && !firstIn(el, "td") && firstIn(el, "th") ? "header" : "row";
}
// Keep it as one thing to press, or let it dissolve into what it holds? False: dissolve.
function settleSoft(item, walk) {
  const inside = walk.acts - item.before - 1;
  if (inside > 0 && item.soft === LISTENER && inside < 3 && isTrack(item, walk.screen)) return true;
  if (inside > 0) {
    if (isRowThatListens(item) && !holdsForm(item.el)) return true;
    if (item.soft !== STATED && !(item.soft === LISTENER && item.pointer)) {
      if (item.soft === LISTENER || inside > 3 || !hasOwnText(item.kids)) return false;
    } else if (!hasOwnText(item.kids) && item.soft !== STATED) return false;
    if (item.soft === STATED && inside > 1 && !hasOwnText(item.kids)) return false;
    item.name = authorName(item.el);
    return true;
  }
  // Only now the name: for a whole app's root, which listens for all its content, it is never needed.
  const bare = item.soft === LISTENER && !item.pointer;
  if (bare && areaOf(boxOf(item.at)) > walk.screen.right * walk.screen.bottom * 0.4 && isArranged(item.kids)) return false;
  item.name = nameOf(item.el) || contentName(item.el);
  if (bare && item.name.length > 300) return false;
  if (item.name.length > LONG_NAME && item.kids.length) item.name = "";
  else item.kids = [];
  return true;
}
const isArranged = (kids) => kids.filter((kid) => kid.kind === "text" && /\S/.test(kid.text)).length > 1 ||
  kids.some((kid) => kid.kind === "heading" || kid.kind === "box" || kid.kind === "row" || kid.kind === "entry" || kid.kind === "group");
// Part of a page, with a form's fields or a table in it: who listens there does not mean all of it.
const holdsForm = (el) => firstIn(el, "table") !== null || queryIn(el, "input,select,textarea").length > MOST_FIELDS;
const MOST_FIELDS = 3;
// A small bare area around a handle (a slider's track) can be pressed beside the handle.
function isTrack(item, screen) {
  const area = areaOf(boxOf(item.at));
  if (hasOwnText(item.kids) || area > screen.right * screen.bottom * 0.2) return false;
  let held = 0;
  for (const kid of item.kids) if (kid.act && kid.at) held += areaOf(boxOf(kid.at));
  return held < area / 2;
}
// A mail with its star and its bin: pressed between them, it opens. One that listens itself, not its list for it. A box
// is a row if the one beside it is the same and listens, too.
const nextOf = getter(Element.prototype, "nextElementSibling");
const lastOf = getter(Element.prototype, "previousElementSibling");
function isRowThatListens({ el, kids }) {
  if (!listening.has(el) || !hasOwnText(kids)) return false;
  const tag = tagOf(el), beside = nextOf(el) || lastOf(el);
  if (tag === "tr" || tag === "li" || attr(el, "role") === "row") return true;
  return !!beside && listening.has(beside) && tagOf(beside) === tag && attr(beside, "class") === attr(el, "class");
}
const hasOwnText = (kids) => kids.some((kid) => kid.kind === "text" ? /\S/.test(kid.text) : kid.kind !== "break" && !kid.act && kid.kids && hasOwnText(kid.kids));
function splice(out, item) { for (const kid of item.kids) out.push(kid); }
const withoutEchoes = (kids, name) => kids.filter((kid) =>
  !(kid.kind === "heading" && kid.name === name && !kid.kids.length) && !saysOnly(kid, name));
const saysOnly = (kid, name) => kid.kind === "text" ? !kid.hidden && clean(kid.text) === name
  : kid.kind === "group" && kid.kids.length > 0 && kid.kids.every((one) => one.kind === "break" || saysOnly(one, name));

// <h3><a>Title</a></h3> is one thing to read: the link, with the heading's level.
function finishHeading(item, full, ctx, out) {
  const parts = item.kids.filter((kid) => kid.kind !== "break" && (kid.kind !== "text" || /\S/.test(kid.text)));
  if (parts.length === 1 && parts[0].act && parts[0].name === item.name) {
    parts[0].level = item.level;
    parts[0].block = item.block;
    out.push(parts[0]);
    return;
  }
  if (!full) item.kids = [];
  if (!full && ctx.said.includes(item.name)) return;      // the link around it has said so
  if (item.name || full) out.push(item);
}
