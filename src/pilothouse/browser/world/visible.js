// Visibility: what is drawn, what is drawn but unseen, and what lies on top.
// Above: tree.js, locate.js, act.js. Below: dom.js.

// Never read and never acted on.
const SILENT = words("script style template noscript head meta link title base defs desc metadata symbol clippath clipPath mask pattern lineargradient linearGradient radialgradient radialGradient filter datalist param source track colgroup col rp");

// In the layout at all (no display:none above, not in a closed <details> or content-visibility:hidden).
function isRendered(el) {
  if (!connectedOf(el)) return false;
  if (checkVisible(el)) return true;
  for (let node = el, i = 0; node && i < 20000; node = parentOf(node), i++) {
    if (getComputedStyle(node).display !== "contents") return node !== el && checkVisible(node);
  }
  return false;
}

const VISIBLE = { visibilityProperty: true };
const isDrawn = (el) => checkVisible(el, VISIBLE);

const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
const inWindow = (box) => ({
  left: Math.max(box.left, 0), right: Math.min(box.right, innerWidth),
  top: Math.max(box.top, 0), bottom: Math.min(box.bottom, innerHeight),
});
const hasArea = (box) => box.right > box.left && box.bottom > box.top;

const hasBox = (el) => hasArea(rectOf(el)) || [...rectsOf(el)].some(hasArea);

// A person could see it after scrolling: drawn, visible, with an area. (display:contents: by what it holds.)
function isVisible(el) {
  if (!isRendered(el)) return false;
  const style = getComputedStyle(el);
  if (style.visibility !== "visible") return false;
  if (hasBox(el)) return true;
  if (tagOf(el) === "area") return true;
  if (style.overflow !== "visible" && style.display !== "contents") return false;
  return [...queryIn(el, "*")].slice(0, 200).some((kid) => isDrawn(kid) && hasBox(kid)) ||
    !!shadowOf(el);
}

// The innermost element at a point, through shadow roots.
function deepHit(x, y) {
  let el = hitDoc(document, x, y);
  for (let i = 0; el && i < 100; i++) {
    const root = shadowOf(el);
    const inner = root && hitRoot(root, x, y);
    if (!inner || inner === el || rootOf(inner) !== root) break;
    el = inner;
  }
  return el;
}

// A press on `hit` counts as a press on `el`: its own content, its label, or the control of a label.
function lands(hit, el) {
  if (composedContains(el, hit)) return true;
  if (labelAt(hit, el)) return !strangerAt(hit, el);
  return el instanceof HTMLLabelElement && controlOf(el) === hit;
}
function labelAt(hit, el) {
  const label = closestComposed(hit, (up) => tagOf(up) === "label");
  return label instanceof HTMLLabelElement && controlOf(label) === el ? label : null;
}

const takesPointer = (el) => getComputedStyle(el).pointerEvents !== "none";
// Would a press on `hit` reach `el`? As one that lands on it, or through an ancestor's empty area.
const reaches = (hit, el) => lands(hit, el) || !!labelAt(hit, el) || composedContains(hit, el);

// What lies over an element at every point tried, or null. Only for what is inside the viewport.
function coverOf(el, rect) {
  const { left, right, top, bottom } = inWindow(rect);
  if (right - left < 1 || bottom - top < 1) return null;
  let cover = null;
  for (const [fx, fy] of COVER_POINTS) {
    const hit = deepHit(left + (right - left) * fx, top + (bottom - top) * fy);
    if (!hit || reaches(hit, el)) return null;
    cover = hit;
  }
  return cover;
}
const COVER_POINTS = [[0.5, 0.5], [0.2, 0.3], [0.8, 0.7]];

const colors = new Map();
const parseColor = (text) => {
  const known = colors.get(text);
  if (known !== undefined) return known;
  const parsed = readColor(text);
  if (colors.size < 1000) colors.set(text, parsed);
  return parsed;
};
const readColor = (text) => {
  const found = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(text);
  return found ? [+found[1], +found[2], +found[3], found[4] === undefined ? 1 : +found[4]] : null;
};
// The colour behind an element's text: the nearest opaque background; null when a picture or blend makes it unknown.
function backdropOf(el, memo) {
  const path = [];
  let result = [255, 255, 255, 1];
  for (let node = el, i = 0; node && i < 20000; node = parentOf(node), i++) {
    const known = memo.get(node);
    if (known !== undefined) { result = known; break; }
    path.push(node);
    const style = getComputedStyle(node);
    const color = style.backgroundColor;
    if (style.backgroundImage !== "none" || (i > 0 && style.position !== "static" && color === "rgba(0, 0, 0, 0)")) { result = null; break; }
    if (color === "rgba(0, 0, 0, 0)") continue;
    const parsed = parseColor(color);
    result = parsed && parsed[3] === 1 ? parsed : null;
    break;
  }
  for (const node of path) memo.set(node, result);
  return result;
}

// Text drawn so that nobody can read it: no size, no colour, the colour of what is behind it.
function isUnreadable(el, style, memo) {
  if (parseFloat(style.fontSize) < 1) return true;
  const color = parseColor(style.color);
  if (!color) return false;
  if (color[3] < 0.05) return style.textShadow === "none" && !/text/.test(style.webkitBackgroundClip);
  const behind = backdropOf(el, memo);
  if (!behind) return false;
  return Math.abs(color[0] - behind[0]) + Math.abs(color[1] - behind[1]) + Math.abs(color[2] - behind[2]) < 12;
}

// A box that hides its content from sight while assistive technology still reads it.
function isUnseen(style, rect, position, overflow) {
  if (style.opacity === "0") return true;
  if (overflow !== "visible" && rect && (rect.width <= 1 || rect.height <= 1) && style.display !== "inline") return true;
  if (position === "absolute" || position === "fixed") {
    if (/^rect\((0px|1px|auto)?,? ?(0px|1px|auto),? ?(0px|1px|auto),? ?(0px|1px|auto)\)$/.test(style.clip)) return true;
    if (/^inset\((50|100)%/.test(style.clipPath)) return true;
    if (rect.width > 0 && (rect.right + scrollX <= 0 || rect.bottom + scrollY <= 0)) return true;
  }
  return false;
}
