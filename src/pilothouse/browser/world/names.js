// Names: what an element is called, after the accessible-name computation (accname 1.2, HTML-AAM), in the reading
// that Chromium gives it; the ground-truth test compares each with Chrome's own accessibility tree.
// Above: tree.js, locate.js, refs.js. Below: dom.js, roles.js, states.js.
// Bounded: each computation visits at most 3,000 nodes, 80 levels deep, and no element's content twice.

const NAME_NODES = 3000;
const NAME_DEPTH = 80;
let nameCache = null;
let calls = 0;

// One call of the daemon = one cache: nothing on the page can change meanwhile.
function withNames(work) {
  if (nameCache) return work();
  calls++;
  roleCache = new Map();
  nameCache = new Map();
  labelMaps = new Map();
  pseudoRules = undefined;
  try { return work(); } finally { nameCache = roleCache = labelMaps = pseudoRules = null; }
}

function nameOf(el) {
  const known = nameCache && nameCache.get(el);
  if (known !== undefined && known !== null) return known;
  const trip = { seen: new Set(), left: NAME_NODES };
  const name = clean(nameStep(el, trip, { top: true, referenced: false, hidden: false }, 0));
  if (nameCache) nameCache.set(el, name);
  return name;
}

function nameStep(el, trip, mode, depth, style) {
  if (trip.left-- <= 0) return "";
  if (!mode.referenced) {
    const labelled = namesOfIds(el, trip, depth);
    if (labelled) return labelled;
  }
  const role = roleOf(el);
  const label = (attr(el, "aria-label") || "").trim();
  if (!mode.top && !(mode.referenced && label)) {
    const value = embeddedValue(el, role, trip);
    if (value !== null && !label) return value;
  }
  if (label) return label;
  const native = nativeName(el, role, trip, mode, depth);
  if (native.trim()) return native;
  if (!mode.top || NAMED_BY_CONTENT.has(role)) {
    const content = contentText(el, trip, mode, depth, style);
    if (content.trim()) return content;
  }
  if (role === "none" && mode.top) return "";
  return tooltipName(el, role);
}

// The elements whose ids an attribute lists.
function listedIn(el, attribute) {
  const ids = attr(el, attribute);
  return ids ? ids.trim().split(/\s+/).slice(0, 50).map((id) => byId(el, id)).filter(Boolean) : [];
}
function namesOfIds(el, trip, depth) {
  if (depth > 4) return "";
  const parts = [];
  for (const target of listedIn(el, "aria-labelledby")) {
    const part = nameStep(target, trip, { top: false, referenced: true, hidden: !isRendered(target), from: el }, depth + 5);
    if (part.trim()) parts.push(part.trim());
    trip.seen.delete(target);
  }
  return parts.join(" ");
}

const VALUED = words("textbox searchbox slider spinbutton scrollbar meter progressbar combobox listbox date time datetime month week");
// A control inside another's label counts with its value ("every [5] minutes"); null when it is none.
function embeddedValue(el, role, trip) {
  if (trip.seen.has(el)) return "";
  return VALUED.has(role) && (WIDGETS.has(role) || role === "listbox" || hasAttr(el, "aria-valuenow")) ? valueOf(el, role) : null;
}

const LABELABLE = words("input button select textarea meter output progress");
let labelMaps = null;
// Which labels a control has. The native `labels` list walks the whole tree for each control; one pass over the
// labels of a root serves all its controls.
function labelsOf(el) {
  const root = rootOf(el);
  let map = labelMaps && labelMaps.get(root);
  if (!map) {
    map = new Map();
    for (const label of typeOf(root) === 1 ? [] : query(root, "label")) {
      const control = label instanceof HTMLLabelElement && controlOf(label);
      if (!control) continue;
      const known = map.get(control);
      if (known) known.push(label); else map.set(control, [label]);
    }
    if (labelMaps) labelMaps.set(root, map);
  }
  return map.get(el) || [];
}

function nativeName(el, role, trip, mode, depth) {
  const tag = tagOf(el);
  if (!(el instanceof HTMLElement)) return tag === "svg" || role !== "generic" ? svgTitle(el) : "";
  if (mode.top && LABELABLE.has(tag)) {
    trip.seen.add(el);
    const parts = [];
    for (const label of labelsOf(el)) {
      if (!isRendered(label)) continue;      // Chromium does not read a label that is not drawn
      const part = nameStep(label, trip, { top: false, referenced: true, hidden: false }, depth + 1).trim();
      if (part) parts.push(part);
    }
    trip.seen.delete(el);
    if (parts.length) return parts.join(" ");
  }
  switch (tag) {
    case "input": {
      const type = inputTypeOf(el);
      if (type === "image") return attr(el, "alt") || attr(el, "value") || attr(el, "title") || "Submit";
      if (type === "submit") return attr(el, "value") || attr(el, "title") || "Submit";
      if (type === "reset") return attr(el, "value") || attr(el, "title") || "Reset";
      return type === "button" ? attr(el, "value") || "" : "";
    }
    case "img": case "area": return attr(el, "alt") || "";
    case "fieldset": return partName(el, "legend", trip, depth);
    case "table": return partName(el, "caption", trip, depth);
    case "figure": return partName(el, "figcaption", trip, depth);
    case "optgroup": case "track": return attr(el, "label") || "";
    case "option": return attr(el, "label") || textContentOf(el);
    default: return "";
  }
}
function partName(el, tag, trip, depth) {
  for (let kid = firstElementOf(el); kid; kid = nextElementOf(kid)) {
    if (tagOf(kid) === tag) return nameStep(kid, trip, { top: false, referenced: true, hidden: !isRendered(kid) }, depth + 1);
  }
  return "";
}

function tooltipName(el, role) {
  const title = (attr(el, "title") || "").trim();
  if (title) return title;
  const tag = tagOf(el);
  const field = role === "textbox" || role === "searchbox" || role === "combobox" || role === "spinbutton";
  if (field || tag === "input" || tag === "textarea") {
    return (tag === "input" || tag === "textarea" ? attr(el, "placeholder") : "") || attr(el, "aria-placeholder") || "";
  }
  return "";
}

// The text of an element's content as a name: generated text too, hidden parts not, blanks where boxes end.
function contentText(el, trip, mode, depth, own = getComputedStyle(el)) {
  if (trip.seen.has(el)) return "";
  if (depth > NAME_DEPTH) return textContentOf(el).slice(0, 500);
  trip.seen.add(el);
  const open = tagOf(el) !== "details" || hasAttr(el, "open");
  const tree = attr(el, "role") === "treeitem";
  const within = { top: false, referenced: mode.referenced, hidden: mode.hidden };
  const pseudo = mayHavePseudo(el);
  let drawn = "";                            // how its own texts are, once there is one
  let out = pseudo ? pseudoText(el, "::before") : "";
  const kids = kidsOf(el);
  for (const owned of ownedBy(el)) kids.push(owned);
  for (const kid of kids) {
    if (trip.left-- <= 0) break;
    const type = typeOf(kid);
    if (type === 3) {
      drawn = drawn || (!mode.hidden && own.visibility !== "visible" ? "muted" : own.textTransform);
      if (drawn !== "muted") out += transformed(dataOf(kid), drawn);
      continue;
    }
    if (type !== 1) continue;
    const tag = tagOf(kid);
    if (tag === "br") { out += " "; continue; }
    if (SILENT.has(tag) || (!open && tag !== "summary")) continue;
    if (tree && attr(kid, "role") === "group") continue;   // a branch is not called by its leaves
    const style = getComputedStyle(kid);
    const display = style.display;
    if (!mode.hidden && (display === "none" || attr(kid, "aria-hidden") === "true")) continue;
    const piece = nameStep(kid, trip, within, depth + 1, style);
    const apart = !(display === "inline" || display === "contents" || display === "none") || tag === "img" || WIDGETS.has(roleOf(kid)) && tag !== "a";
    out += apart ? ` ${piece} ` : piece;
  }
  return pseudo ? out + pseudoText(el, "::after") : out;
}
// As it is drawn, and as Chromium tells assistive technology.
function transformed(text, how) {
  if (how === "none") return text;
  if (how === "uppercase") return text.toUpperCase();
  if (how === "lowercase") return text.toLowerCase();
  return how === "capitalize" ? text.replace(/(^|[\s"'(\[-])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase()) : text;
}
const ownedBy = (el) => listedIn(el, "aria-owns").filter((x) => !composedContains(x, el) && parentOf(x) !== el);

// A short hint from the page's own vocabulary for controls that nobody named: <icon-trash>.
const DULL = /^(btn|button|icon|icons|svg|img|image|link|item|active|disabled|primary|secondary|default|small|large|sm|md|lg|xs|fa|fas|far|fab|bi|material-icons|glyphicon|clearfix|container|wrapper|row|col|flex|inline|block|relative|absolute)$|^(css|sc|jss|_)[-_]?[a-z0-9]{4,}$|^[\d_-]+$|[:[\]/]/i;
// A hint stands between < and >, and holds none.
const hinted = (text) => clean(text.replace(/[<>]/g, ""));
function hintOf(el) {
  const kids = [el, ...[...queryIn(el, "i,svg,img,use,span")].slice(0, 4)];
  for (const node of kids) {
    for (const name of ["data-testid", "data-test", "data-icon", "data-action", "aria-roledescription", "name", "id"]) {
      const value = attr(node, name);
      if (value && value.length < 40 && !/^[\d:_-]+$/.test(value)) return hinted(value);
    }
    const found = (attr(node, "class") || "").split(/\s+/).filter((word) => word && !DULL.test(word));
    if (found.length) return hinted(found.slice(0, 2).join(" "));
    const source = attr(node, "href") || attr(node, "src") || attr(node, "xlink:href");
    if (source && !source.startsWith("data:") && !source.startsWith("javascript:")) {
      const tail = source.split(/[?#]/)[0].split("/").filter(Boolean).pop() || source.split("#").pop();
      if (tail) return hinted(cut(tail, 30));
    }
  }
  return "";
}
