// Pick: a person points at an element, and by what it can be found again; highlight draws a box for them.
// Above: browser/picker.py, the tool `highlight`. Below: locate.js, names.js, refs.js. Drawn in a closed root of its own:
// no style of the page reaches it, and only what a real pointer does counts.

const TEST_IDS = ["data-testid", "data-test-id", "data-test", "data-cy", "data-qa"];
const ODD_ID = /\d{4,}|^[\d:]|[:.[\]]|__|--/;
let endPick = null, pointPick = null;
let shownHost = null;
const showPopover = uncurry(HTMLElement.prototype.showPopover);

// In the top layer, above dialogs and what is full screen. A manual popover takes no focus and closes no other.
function overlay(style) {
  const host = createIn(document, "div");
  host.style.cssText = `all:initial;position:fixed;inset:0;z-index:2147483647;${style}`;
  host.popover = "manual";
  htmlOf(document).append(host);
  const root = host.attachShadow({ mode: "closed" });
  const plain = new CSSStyleSheet();
  plain.replaceSync(":host::backdrop { display: none !important }"); // a page may style all of them
  root.adoptedStyleSheets = [plain];
  showPopover(host);
  return [host, root];
}
// A press beside it would close it; one inside is swallowed on its way, as everywhere where our layer cannot lie (a modal
// dialog leaves nothing else to the pointer).
const closesByPress = (el) => closestComposed(el, (up) => matches(up, ":popover-open") && attr(up, "popover") !== "manual");
function frameAround(root, colour) {
  const box = createIn(document, "div");
  box.style.cssText = `position:fixed;display:none;pointer-events:none;border:2px solid ${colour};border-radius:3px;background:color-mix(in srgb, ${colour} 12%, transparent);box-sizing:border-box`;
  const tag = createIn(document, "span");
  tag.style.cssText = `position:absolute;left:-2px;bottom:100%;max-width:60vw;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font:600 12px/18px system-ui,sans-serif;color:#fff;background:${colour};padding:0 6px;border-radius:3px 3px 0 0`;
  box.append(tag);
  root.append(box);
  return (el, text) => {
    const rect = rectOf(el);
    tag.textContent = cut(text, 100);
    const inside = rect.top < 20 ? "left:-2px;bottom:auto;top:0" : "left:-2px;bottom:100%;top:auto";
    for (const part of inside.split(";")) tag.style.setProperty(...part.split(":"));
    box.style.display = "block";
    Object.assign(box.style, { left: `${rect.left - 3}px`, top: `${rect.top - 3}px`, width: `${rect.width + 6}px`, height: `${rect.height + 6}px` });
  };
}

ph.highlight = (n, label, ms) => withNames(() => {
  ph.endHighlight();
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return { fail: "detached" };
  scrollTo(el, { block: "nearest", inline: "nearest", behavior: "instant" });
  const [host, root] = overlay("pointer-events:none");
  const draw = frameAround(root, "#c2185b");
  const text = label || calledOf(el) || roleOf(el);
  const follow = () => { if (shownHost === host && connectedOf(el)) { draw(el, text); requestAnimationFrame(follow); } };
  shownHost = host;
  follow();
  setTimeout(() => { if (shownHost === host) ph.endHighlight(); }, ms);
  return named(el);
});
ph.endHighlight = () => { if (shownHost) shownHost.remove(); shownHost = null; return true; };

// What a person points at; null when they would not. The press lands on a layer of ours: no element of the page gets it. A
// page that listens at its window may hear of it first, so what counts is what was framed when they pressed.
ph.pick = (prompt, ms) => new Promise((resolve) => {
  ph.endPick();
  const [host, root] = overlay("cursor:crosshair");
  const draw = frameAround(root, "#0b57d0");
  const bar = createIn(document, "div");
  bar.style.cssText = "position:fixed;left:50%;top:12px;transform:translateX(-50%);max-width:80vw;font:14px/20px system-ui,sans-serif;color:#fff;background:#12355b;padding:8px 14px;border-radius:8px;box-shadow:0 4px 16px rgb(0 0 0 / 35%);pointer-events:none";
  bar.textContent = `${cut(prompt, 300)} (click it; Escape: none)`;
  root.append(bar);
  let framed = null, pressed = null;
  const look = (x, y) => {
    host.style.pointerEvents = "none";
    let through = false;
    try {
      framed = { el: deepHit(x, y), x, y };
      through = framed.el && closesByPress(framed.el);
    } finally { if (!through) host.style.pointerEvents = "auto"; }
    if (framed.el) withNames(() => draw(framed.el, `${roleOf(framed.el)} ${calledOf(framed.el)}`.trim()));
  };
  const press = (x, y) => {
    if (!framed || framed.x !== x || framed.y !== y) look(x, y);
    pressed = framed;
  };
  const swallow = (event) => { event.preventDefault(); event.stopImmediatePropagation(); };
  const heard = (event) => {
    if (!event.isTrusted) return;
    if (event.type === "scroll") { if (framed && !pressed) look(framed.x, framed.y); return; }
    swallow(event);
    const { type, clientX: x, clientY: y } = event;
    if (type === "pointermove") { if (!event.buttons) pressed = null; if (!pressed) look(x, y); }
    else if (type === "pointerdown") { if (event.button === 0) press(x, y); }
    else if (type === "pointercancel") pressed = null;
    else if (type === "click") { if (!pressed) press(x, y); finish(foundAt(pressed)); }
    else if (type === "keydown" && event.key === "Escape") finish(null);
  };
  const kinds = ["pointermove", "pointerdown", "pointerup", "pointercancel", "mousedown", "mouseup", "mousemove", "click", "dblclick", "auxclick", "contextmenu", "keydown", "keyup", "scroll"];
  const finish = (answer) => {
    for (const kind of kinds) window.removeEventListener(kind, heard, true);
    clearTimeout(timer);
    host.remove();
    endPick = pointPick = null;
    resolve(answer);
  };
  for (const kind of kinds) window.addEventListener(kind, heard, true);
  const timer = setTimeout(finish, ms, { late: true });
  endPick = () => finish(null);
  pointPick = (x, y, presses) => { if (presses) { press(x, y); finish(foundAt(pressed)); } else look(x, y); };
});
ph.endPick = () => { if (endPick) endPick(); return true; };
// The same by a picture of the page: nothing of it reaches the page. Whether anybody is asked to point at something.
ph.pointAt = (x, y, presses) => { const point = pointPick; if (point) point(x, y, presses); return Boolean(point); };

// What is at a point: an element with all that it can be found by, or the frame to ask further.
ph.pickedAt = (x, y) => foundAt({ el: deepHit(x, y), x, y });
function foundAt({ el, x, y }) {
  return withNames(() => {
    if (!el || !connectedOf(el)) return { gone: true };
    if (holdsFrame(el)) return { frame: refs.of(el), x, y };
    return { ...perhapsIn(el, { x, y }), local: refs.of(el), ...named(el), tag: tagOf(el), text: cut(clean(textContentOf(el) || ""), 200), selectors: selectorsOf(el) };
  });
}

// Each of them leads to this element and to no other.
function selectorsOf(el) {
  const found = [];
  const add = (kind, selector) => { if (selector && leadsOnlyTo(selector, el)) found.push({ kind, selector }); };
  for (const name of TEST_IDS) if (hasAttr(el, name)) { add("test id", `[${name}=${quote(attr(el, name))}]`); break; }
  const role = roleOf(el), name = calledOf(el);
  if (role && role !== "generic" && name && name.length <= 120) add("role and name", `role=${role}[name=${quote(name)}]`);
  if (name && name.length <= 120 && labelsOf(el).length) add("label", `label=${name}`);
  add("css", shortCss(el));
  add("xpath", `xpath=${shortXPath(el)}`);
  return found;
}
function leadsOnlyTo(selector, el) {
  try {
    const all = [...new Set(elementsFor(selector))];
    return all.length === 1 && all[0] === el;
  } catch { return false; }
}
function shortCss(el) {
  const id = attr(el, "id");
  if (id && !ODD_ID.test(id) && leadsOnlyTo(`#${CSS.escape(id)}`, el)) return `#${CSS.escape(id)}`;
  const named = attr(el, "name");
  if (named && leadsOnlyTo(`${tagOf(el)}[name=${quote(named)}]`, el)) return `${tagOf(el)}[name=${quote(named)}]`;
  let path = "";
  for (let at = el, depth = 0; isElement(at) && depth < 12; at = parentNodeOf(at), depth++) {
    const own = attr(at, "id");
    const step = own && at !== el && !ODD_ID.test(own) ? `#${CSS.escape(own)}` : stepOf(at);
    path = path ? `${step} > ${path}` : step;
    if (leadsOnlyTo(path, el)) return path;
  }
  return path;
}
function stepOf(el) {
  const parent = parentNodeOf(el), tag = CSS.escape(tagOf(el));
  const same = parent && (typeOf(parent) === 1 || typeOf(parent) === 11) ? [...query(parent, `:scope > ${tag}`)].filter((one) => parentNodeOf(one) === parent) : [el];
  return same.length > 1 ? `${tag}:nth-of-type(${same.indexOf(el) + 1})` : tag;
}
function shortXPath(el) {
  let path = "";
  for (let at = el; isElement(at); at = parentNodeOf(at)) {
    const id = attr(at, "id");
    if (id && !id.includes('"') && !ODD_ID.test(id)) return `//*[@id="${id}"]${path}`;
    const tag = tagOf(at), parent = parentNodeOf(at);
    const same = isElement(parent) ? kidsNamed(parent, tag) : [at];
    path = `/${/^[\w-]+$/.test(tag) ? tag : "*"}${same.length > 1 ? `[${same.indexOf(at) + 1}]` : ""}${path}`;
  }
  return path;
}
function kidsNamed(parent, tag) {
  const found = [];
  for (let at = firstElementOf(parent); at; at = nextElementOf(at)) if (tagOf(at) === tag) found.push(at);
  return found;
}
