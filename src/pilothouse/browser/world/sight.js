// Sight: how much of an element can be seen where the page stands now, for the picture that a person is shown.
// Above: browser/sighting.py. Below: dom.js, refs.js, visible.js. Nothing is scrolled.

const clientLeftOf = getter(Element.prototype, "clientLeft");
const clientTopOf = getter(Element.prototype, "clientTop");

// Whether what stands in it, fixed or absolute, is placed by it.
const holdsFixed = (style) => style.transform !== "none" || style.filter !== "none" || style.perspective !== "none" || /paint|layout|strict|content/.test(style.contain);
const holds = (style, position) => position === "fixed" ? holdsFixed(style) : position === "absolute" ? style.position !== "static" || holdsFixed(style) : true;
// What the window itself scrolls hides nothing: the picture may reach further than the window.
function isWindows(el) {
  const html = htmlOf(document);
  return el === html || (el === bodyOf(document) && getComputedStyle(html).overflow === "visible");
}
const clipsX = (style) => style.overflowX !== "visible" || /paint|strict|content/.test(style.contain);
const clipsY = (style) => style.overflowY !== "visible" || /paint|strict|content/.test(style.contain);

// A box without its border and scroll bars.
function innerOf(el) {
  const rect = rectOf(el);
  if (!(el instanceof HTMLElement)) return rect;
  const scaleX = rect.width / (offsetWidthOf(el) || rect.width || 1), scaleY = rect.height / (offsetHeightOf(el) || rect.height || 1);
  return { x: rect.x + clientLeftOf(el) * scaleX, y: rect.y + clientTopOf(el) * scaleY, width: clientWidthOf(el) * scaleX, height: clientHeightOf(el) * scaleY };
}

// The part of an element's box, or of one inside it, that the boxes around it leave; null when there is none. `framed`: the
// window is a frame of a page, and hides what lies outside.
ph.inSight = (n, box, framed) => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return null;
  const rect = box || rectOf(el);
  let left = rect.x, top = rect.y, right = rect.x + rect.width, bottom = rect.y + rect.height;
  let position = getComputedStyle(el).position;
  for (let up = parentOf(el), i = 0; isElement(up) && i < 20000; up = parentOf(up), i++) {
    const style = getComputedStyle(up);
    if (isWindows(up) || /^(inline|contents)$/.test(style.display) || !holds(style, position)) continue;
    position = style.position;
    if (!clipsX(style) && !clipsY(style)) continue;
    const edge = innerOf(up);
    if (clipsX(style)) { left = Math.max(left, edge.x); right = Math.min(right, edge.x + edge.width); }
    if (clipsY(style)) { top = Math.max(top, edge.y); bottom = Math.min(bottom, edge.y + edge.height); }
  }
  if (framed) { left = Math.max(left, 0); top = Math.max(top, 0); right = Math.min(right, innerWidth); bottom = Math.min(bottom, innerHeight); }
  return right - left > 0 && bottom - top > 0 ? { x: left, y: top, width: right - left, height: bottom - top } : null;
};
