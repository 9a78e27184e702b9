// Roles: what an element is, by its role attribute or by HTML's own mapping (ARIA 1.2, HTML-AAM).
// Above: names.js, tree.js, locate.js. Below: dom.js.

function words(text) { return new Set(text.split(" ")); }
const ROLES = words("alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox comment complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img image insertion link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox timer toolbar tooltip tree treegrid treeitem");
// What a person acts on by its role alone.
const WIDGETS = words("button checkbox combobox link menuitem menuitemcheckbox menuitemradio option radio searchbox slider spinbutton switch tab textbox treeitem date time datetime month week color file");
const NAMED_BY_CONTENT = words("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio rowheader switch tab tooltip treeitem");
const SECTIONS = "article,aside,main,nav,section,[role=article],[role=complementary],[role=main],[role=navigation],[role=region]";
const INPUTS = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio",
  range: "slider", number: "spinbutton", search: "searchbox", date: "date", time: "time",
  "datetime-local": "datetime", month: "month", week: "week", color: "color", file: "file", hidden: "none",
};
const TAGS = {
  article: "article", blockquote: "blockquote", button: "button", canvas: "canvas", caption: "caption", code: "code",
  dd: "definition", del: "deletion", details: "group", dialog: "dialog", dt: "term", em: "emphasis",
  fieldset: "group", figure: "figure", frame: "iframe", h1: "heading", h2: "heading", h3: "heading", h4: "heading",
  h5: "heading", h6: "heading", hr: "separator", iframe: "iframe", ins: "insertion", main: "main", mark: "mark",
  math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option",
  output: "status", p: "paragraph", progress: "progressbar", search: "search", strong: "strong", sub: "subscript",
  sup: "superscript", table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup",
  thead: "rowgroup", ul: "list", video: "video", audio: "audio", datalist: "listbox",
};
const GLOBAL_ARIA = ["aria-label", "aria-labelledby", "aria-describedby", "aria-live", "aria-controls", "aria-owns", "aria-details", "aria-atomic", "aria-busy", "aria-flowto", "aria-relevant", "aria-roledescription", "aria-current", "aria-keyshortcuts"];

const inputTypeOf = getter(HTMLInputElement.prototype, "type");
const manyOf = getter(HTMLSelectElement.prototype, "multiple");
const sizeOf = getter(HTMLSelectElement.prototype, "size");
const isDisabled = (el) => matches(el, ":disabled");

function hasTabindex(el) {
  const value = attr(el, "tabindex");
  return value !== null && /^\s*[+-]?\d/.test(value);
}
function isFocusable(el) {
  const tag = tagOf(el);
  if (tag === "input" || tag === "select" || tag === "textarea" || tag === "button") return !isDisabled(el);
  if ((tag === "a" || tag === "area") && hasAttr(el, "href")) return true;
  return tag === "iframe" || tag === "summary" || hasTabindex(el) || isEditingHost(el);
}
// The element that holds contenteditable itself, not what lies within.
function isEditingHost(el) {
  const value = attr(el, "contenteditable");
  return value !== null && value.toLowerCase() !== "false" && el instanceof HTMLElement && editableOf(el);
}
const isNamedByAuthor = (el) =>
  (hasAttr(el, "aria-label") && attr(el, "aria-label").trim() !== "") || hasAttr(el, "aria-labelledby") || !!(attr(el, "title") || "").trim();

let roleCache = null;
function roleOf(el) {
  if (roleCache === null) return readRole(el);
  let role = roleCache.get(el);
  if (role === undefined) roleCache.set(el, role = readRole(el));
  return role;
}
function readRole(el) {
  const given = attr(el, "role");
  if (given) {
    for (const word of given.toLowerCase().split(/\s+/)) {
      if (!ROLES.has(word)) continue;
      if (word === "none" || word === "presentation") {
        // ARIA: what can take focus, or says something about itself, cannot be presentational.
        if (isFocusable(el) || GLOBAL_ARIA.some((name) => hasAttr(el, name))) break;
        return "none";
      }
      // A region, or a form, is one only when it has a name.
      if ((word === "region" || word === "form") && !isNamedByAuthor(el)) break;
      return word === "image" ? "img" : word === "directory" ? "list" : word;
    }
  }
  return implicitRole(el);
}

function implicitRole(el) {
  const tag = tagOf(el);
  if (!(el instanceof HTMLElement)) {
    if (tag === "svg") return svgTitle(el) || isNamedByAuthor(el) ? "img" : "svg";
    return tag === "a" && (hasAttr(el, "href") || hasAttr(el, "xlink:href")) ? "link" : "generic";
  }
  const fixed = TAGS[tag];
  if (typeof fixed === "string") return fixed;
  switch (tag) {
    case "a": case "area": return hasAttr(el, "href") ? "link" : "generic";
    case "input": return hasList(el) ? "combobox" : INPUTS[inputTypeOf(el)] || "textbox";
    case "select": return manyOf(el) || sizeOf(el) > 1 ? "listbox" : "combobox";
    case "img": return attr(el, "alt") === "" && !isNamedByAuthor(el) ? "none" : "img";
    case "summary": return isSummary(el) ? "button" : "generic";
    case "section": return isNamedByAuthor(el) ? "region" : "generic";
    case "form": return isNamedByAuthor(el) ? "form" : "generic";
    case "aside": return !inSection(el) || isNamedByAuthor(el) ? "complementary" : "generic";
    case "header": return inSection(el) ? "generic" : "banner";
    case "footer": return inSection(el) ? "generic" : "contentinfo";
    case "li": return isListItem(el) ? "listitem" : "generic";
    case "tr": return tablePart(el, "row", "row");
    case "td": return tablePart(el, "cell", "gridcell");
    case "th": return headerRole(el);
    case "object": case "embed": return holders.has(el) ? "iframe" : "generic";
    default: return isEditingHost(el) ? "textbox" : "generic";
  }
}

const LISTED = words("text search tel url email ");
function hasList(el) {
  const id = attr(el, "list");
  if (!id || !LISTED.has(inputTypeOf(el))) return false;
  const list = byId(el, id);
  return !!list && tagOf(list) === "datalist";
}
const inSection = (el) => { const up = parentOf(el); return !!up && !!closest(up, SECTIONS); };
function isListItem(el) {
  const up = parentOf(el);
  if (!up) return false;
  const given = attr(up, "role");
  return given ? given === "list" : true;
}
function isSummary(el) {
  const up = parentNodeOf(el);
  if (!isElement(up) || tagOf(up) !== "details") return false;
  for (let kid = firstElementOf(up); kid; kid = nextElementOf(kid)) if (tagOf(kid) === "summary") return kid === el;
  return false;
}
const nextElementOf = getter(Element.prototype, "nextElementSibling");

// A cell is a cell of the nearest table, unless that table was declared to be something else.
const TABLES = "table,[role=grid],[role=treegrid],[role=table]";
function tablePart(el, plain, inGrid) {
  const table = closest(el, TABLES);
  if (!table) return "generic";
  const role = (attr(table, "role") || "").trim();
  if (role === "grid" || role === "treegrid") return inGrid;
  if (role === "none" || role === "presentation") return "generic";
  return role && role !== "table" && ROLES.has(role) ? "generic" : plain;
}
function headerRole(el) {
  if (tablePart(el, "cell", "gridcell") === "generic") return "generic";
  const scope = (attr(el, "scope") || "").toLowerCase();
  if (scope === "row" || scope === "rowgroup") return "rowheader";
  if (scope === "col" || scope === "colgroup") return "columnheader";
  const row = parentNodeOf(el);
  if (closest(el, "thead")) return "columnheader";
  // No scope: a header beside data cells heads its row, one among headers its column.
  for (let kid = firstElementOf(row); kid; kid = nextElementOf(kid)) if (tagOf(kid) === "td") return "rowheader";
  return "columnheader";
}
function svgTitle(el) {
  for (let kid = firstElementOf(el); kid; kid = nextElementOf(kid)) {
    if (tagOf(kid) === "title") return clean(textContentOf(kid));
  }
  return "";
}
