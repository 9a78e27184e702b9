// Acting: may this element be acted on now, and where does a press have to land?
// Above: browser/input.py and browser/fill.py. Below: dom.js, refs.js, visible.js, states.js.
// Each check answers {x, y, …} or {fail, …}; the daemon turns a failure into an error a person understands.

const finished = (animation) => animation.finished.catch(() => null);
const animationsOf = uncurry(Element.prototype.getAnimations);
const scrollTo = uncurry(Element.prototype.scrollIntoView);
const focusOn = uncurry(HTMLElement.prototype.focus);

// The element a ref names: itself, or after a re-render the single one that took its place. What was judged has none.
function living(n, seal = "") {
  const el = refs.get(n);
  if (el && connectedOf(el)) return { el };
  const twin = seal ? null : refs.twin(n);
  return twin ? { el: twin, twin: refs.of(twin) } : { fail: "detached", ...ph.describe(n) };
}

function insideView(rect) {
  const [x, y] = middle(rect);
  return x >= 0 && x <= innerWidth && y >= 0 && y <= innerHeight;
}

// Points worth trying: the middle first, then the middles of an inline element's lines, then nearer the edges, and at last
// its own words.
function* pointsOf(el, rect) {
  for (const box of [rect, ...[...rectsOf(el)].slice(0, 8)].map(inWindow)) if (hasArea(box)) yield middle(box);
  const box = inWindow(rect);
  for (const [fx, fy] of [[0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.08, 0.5], [0.92, 0.5]]) {
    yield [box.left + (box.right - box.left) * fx, box.top + (box.bottom - box.top) * fy];
  }
  for (const line of ownWords(el)) if (hasArea(inWindow(line))) yield middle(inWindow(line));
}
// Where the first of an element's words are drawn that are not those of a control in it.
function* ownWords(el, left = { nodes: 200 }) {
  for (const kid of kidsOf(el)) {
    if (left.nodes-- <= 0) return;
    if (typeOf(kid) === 3 && /\S/.test(dataOf(kid))) {
      const range = new Range();
      range.selectNodeContents(kid);
      yield* [...range.getClientRects()].slice(0, 2);
    } else if (isElement(kid) && !SILENT.has(tagOf(kid)) && !isActionable(kid)) yield* ownWords(kid, left);
  }
}

// A finite animation on the element or around it has to end first; an endless one never will.
async function stillness(el) {
  const running = [];
  for (let node = el, i = 0; node && i < 200; node = parentOf(node), i++) {
    for (const animation of animationsOf(node)) {
      const timing = animation.effect && animation.effect.getComputedTiming();
      if (animation.playState === "running" && timing && Number.isFinite(timing.endTime)) running.push(finished(animation));
    }
  }
  if (running.length) await Promise.race([Promise.all(running), later(1000)]);
}

const toMiddle = (el) => scrollTo(el, { block: "center", inline: "center", behavior: "instant" });

// A bar that stays where it is (a sticky header) may lie over what is in view: the middle of the window is free.
function place(el) {
  if (!isVisible(el)) return { fail: "hidden" };
  if (!insideView(rectOf(el))) toMiddle(el);
  const spot = pressable(el);
  if (spot.fail !== "covered" && spot.fail !== "clipped") return spot;
  toMiddle(el);
  return pressable(el);
}
// A point of the element itself comes before one where another control lies in it: a row is not its "Delete".
function pressable(el) {
  let over = null, near = null, second = null, stranger = null;
  const inside = new Set();
  for (const [x, y] of pointsOf(el, rectOf(el))) {
    const hit = deepHit(x, y);
    const other = hit && strangerAt(hit, el);
    if (other) stranger = stranger || { x, y, by: brief(other) };
    else if (hit && lands(hit, el)) {
      const control = controlAt(hit, el);
      if (control === el) return { x, y };
      if (hasEffect(control)) { inside.add(control); second = second || { x, y }; } else near = near || { x, y };
    }
    over = over || hit;
  }
  const [control] = inside;
  if (near || (control && standsFor(control, inside.size, el))) return near || second;
  if (stranger) return pointInLabel(el) || { fail: "linked", ...stranger };
  if (!over) return { fail: "outside" };
  return { fail: whyMissed(el, over), by: brief(control || over) };
}
// What lies over it is no reason where the page has switched it off, or cuts it off at the edge of what it is in.
function whyMissed(el, over) {
  if (closestComposed(el, (up) => hasAttr(up, "inert"))) return "inert";
  if (!takesPointer(el)) return "pointerless";
  return over && over !== el && composedContains(over, el) ? "clipped" : "covered";
}
// What a press that hits something in an element is for: a control in there, or the element.
const controlAt = (hit, el) => (composedContains(el, hit) ? closestComposed(hit, (up) => up === el || isActionable(up)) : el);
// Is a press on an element one on the control in it? If that is all it does; or if the control is the only one and no words
// stand beside it, or a link that is drawn over all of it.
function standsFor(control, count, el) {
  if (WIDGETS.has(roleOf(el)) || tagOf(el) === "label" || !isActionable(el)) return true;
  return count === 1 && (ownWords(el).next().done || (isLink(control) && areaOf(rectOf(control)) >= areaOf(rectOf(el)) * 0.9));
}

function brief(el) {
  const id = attr(el, "id");
  const name = cut(nameOf(el) || clean(textContentOf(el) || ""), 40);
  return `<${tagOf(el)}${id ? ` id=${quote(cut(clean(id), 30))}` : ""}>${name ? ` ${quote(name)}` : ""}`;
}

// Ready for the pointer. Tries again while the page is still changing, until `waitMs` is over. What need not be `enabled` is
// not pressed.
ph.check = async (n, { enabled = true, waitMs = 1000, seal = "" } = {}) => {
  const end = performance.now() + waitMs;
  for (;;) {
    const found = living(n, seal);
    if (found.fail) return found;
    const { el, twin } = found;
    await stillness(el);
    const spot = enabled && isOff(el) ? { fail: "disabled" } : place(el);
    if (spot.fail === "linked" && !enabled) delete spot.fail;
    if (!spot.fail && seal && !isAsJudged(seal, pressSights(el, spot))) return { fail: "changed", ...named(el) };
    if (!spot.fail) { begin(el); if (enabled) expectPress(el, spot); return { ...spot, twin, ...named(el) }; }
    if (spot.fail === "linked" || performance.now() >= end) return { ...spot, ...named(el) };
    await nextChange(Math.min(100, end - performance.now()));
  }
};

// As the snapshot calls it: what has no widget's role is something to press or drag, and named by its text; what nobody has
// named has a hint.
function named(el) {
  const role = roleOf(el);
  if (WIDGETS.has(role) || BOXES.has(role) || NAMED_BOXES.has(role) || (role !== "generic" && LEAVES.has(tagOf(el)))) return withHint(el, role, nameOf(el));
  if (isEditingHost(el)) return withHint(el, "textbox", nameOf(el));
  const grabs = attr(el, "draggable") === "true" || GRABS.test(getComputedStyle(el).cursor);
  const soft = grabs ? "draggable" : isActionable(el) ? "clickable" : "";
  return withHint(el, KEEPS.has(role) || !soft ? (role === "generic" ? "element" : role) : soft, nameOf(el) || contentName(el));
}
const withHint = (el, role, name) => ({ role, name: cut(name, 80), hint: name ? "" : cut(hintOf(el), 40) });

// Where a frame's content begins in its parent and how large it is drawn there, for positions inside it.
const offsetWidthOf = getter(HTMLElement.prototype, "offsetWidth");
const offsetHeightOf = getter(HTMLElement.prototype, "offsetHeight");
ph.frameOrigin = (n) => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return null;
  const rect = rectOf(el);
  const style = getComputedStyle(el);
  const scaleX = rect.width / (offsetWidthOf(el) || rect.width || 1);
  const scaleY = rect.height / (offsetHeightOf(el) || rect.height || 1);
  return {
    x: rect.left + (parseFloat(style.borderLeftWidth) + parseFloat(style.paddingLeft)) * scaleX,
    y: rect.top + (parseFloat(style.borderTopWidth) + parseFloat(style.paddingTop)) * scaleY,
    scaleX, scaleY,
  };
};
// Does a press at this point of the parent reach the frame?
ph.frameHit = (n, x, y) => {
  const el = refs.get(n);
  const hit = deepHit(x, y);
  return !el || !hit || lands(hit, el) ? { ok: true } : { fail: "covered", by: brief(hit) };
};
ph.refOf = (el) => refs.of(el);
// What lies at a point of the window, for a press that names no element.
ph.at = (x, y) => {
  const hit = deepHit(x, y);
  begin();
  return { inside: x >= 0 && y >= 0 && x < innerWidth && y < innerHeight, width: innerWidth, height: innerHeight, scale: visualViewport.scale, ...(hit ? named(hit) : { role: "", name: "", hint: "" }) };
};
ph.focus = (n, { seal = "" } = {}) => {
  const found = living(n, seal);
  if (found.fail) return found;
  const { el, twin } = found;
  if (seal && !isAsJudged(seal, fillSights(el))) return { fail: "changed", ...named(el) };
  const field = el instanceof HTMLLabelElement && controlOf(el) ? controlOf(el) : el;
  if (!isVisible(field)) return { fail: "hidden", ...named(field) };
  if (isOff(field)) return { fail: "disabled", ...named(field) };
  begin();
  if (!insideView(rectOf(field))) toMiddle(field);
  focusOn(field, { preventScroll: true });
  const held = focusedElement();
  return { twin, fail: held && composedContains(field, held) ? undefined : "no_focus", ...named(field) };
};
ph.box = (n) => {
  const { el, fail } = living(n);
  if (fail) return { fail };
  if (!isVisible(el)) return { fail: "hidden", ...named(el) };
  if (!insideView(rectOf(el))) toMiddle(el);
  const rect = rectOf(el);
  return { x: rect.left, y: rect.top, width: rect.width, height: rect.height, ...named(el) };
};
