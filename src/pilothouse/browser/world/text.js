// Text: a page or element as plain reading text, through shadow roots and slots, tables as rows with " | ".
// Above: get_page_text, states.js (what an editor holds), describe. Below: visible.js, states.js.
// No recursion: a page may nest as deep as it likes.


// `marks`: what nobody can see stands in [hidden: …].
ph.text = ({ scope = 0, marks = false } = {}) => withNames(() => {
  const root = scope ? refs.get(scope) : bodyOf(document) || htmlOf(document);
  return root && connectedOf(root) ? readText(root, 4000000, { lines: true, marks }) : scope ? { error: "stale" } : "";
});

// Drawn, but not for eyes: a box that hides what it holds, or text that cannot be told from what is behind it.
function isOutOfSight(el, style, backdrops) {
  const moved = style.position === "absolute" || style.position === "fixed";
  if (style.opacity === "0" || ((moved || style.overflow !== "visible") && isUnseen(style, rectOf(el), style.position, style.overflow))) return true;
  for (let kid = firstChildOf(el); kid; kid = nextSiblingOf(kid)) {
    if (typeOf(kid) === 3 && /\S/.test(dataOf(kid).slice(0, 1000))) return isUnreadable(el, style, backdrops);
  }
  return false;
}

// `values`: what fields hold is part of it.
function readText(root, max, { lines = false, marks = false, values = true } = {}) {
  let out = "";
  let hidden = 0;                            // how many of the elements around hide what they hold
  let marked = false;
  const backdrops = new Map();
  let gap = "";                              // what to put before the next text: "", " ", "\n", "\n\n" or " | "
  const want = (kind) => { if (GAPS.indexOf(kind) > GAPS.indexOf(gap)) gap = kind; };
  const say = (text) => {
    if (!text) return;
    if (out) out += gap;
    gap = "";
    if (hidden && !marked) { out += "[hidden: "; marked = true; }
    out += hidden ? text.replaceAll("]", ")") : text;
  };
  const appear = () => {
    if (--hidden || !marked) return;
    out += "]";
    marked = false;
  };
  if (marks) {
    const above = parentOf(root);
    if (above && closestComposed(above, (up) => isOutOfSight(up, getComputedStyle(up), backdrops))) hidden = 1;
  }
  const stack = [{ node: root, close: "" }];
  while (stack.length && out.length < max) {
    const { node, close, keep, shows, spans, from } = stack.pop();
    if (shows) { appear(); continue; }
    if (close) {
      if (spans && out.length > from) out += spans;
      want(close);
      continue;
    }
    const type = typeOf(node);
    if (type === 3) { sayText(dataOf(node), keep, say, want); continue; }
    if (type !== 1) continue;
    const tag = tagOf(node);
    if (tag === "br") { want("\n"); continue; }
    if (SILENT.has(tag) && !(tag === "title" && node === root)) continue;
    const style = getComputedStyle(node);
    if (style.display === "none" || style.contentVisibility === "hidden") continue;
    if (marks && isOutOfSight(node, style, backdrops)) { hidden++; stack.push({ node: null, close: "", shows: true }); }
    const field = !values && kindOf(node) ? "" : fieldText(node, tag);
    if (field !== null) { want(" "); say(clean(field)); want(" "); continue; }
    const kind = gapOf(style.display, tag);
    if (kind) { want(kind === " | " ? "" : kind); stack.push({ node: null, close: kind, spans: marks && CELL_TAGS.has(tag) ? spanPart(node) : "", from: out.length }); }
    const hush = style.visibility !== "visible";
    const pre = style.whiteSpaceCollapse === "preserve" || style.whiteSpaceCollapse === "preserve-breaks" || /^pre/.test(style.whiteSpace);
    const shut = tag === "details" && !openDetailsOf(node);
    const kids = kidsOf(node);
    for (let i = kids.length - 1; i >= 0; i--) {
      const kid = kids[i];
      if (typeOf(kid) === 3 ? !hush && !shut : !shut || (isElement(kid) && tagOf(kid) === "summary")) stack.push({ node: kid, close: "", keep: pre });
    }
  }
  if (marked) out += "]";
  const text = out.slice(0, max);
  return lines ? text : clean(text);
}
const GAPS = ["", " ", " | ", "\n", "\n\n"];

function sayText(data, keep, say, want) {
  if (keep) {
    const text = HAS_ODD.test(data) ? data.replace(ODD, "") : data;
    if (text.trim()) say(text.replace(/^\n/, "")); else if (text) want(/\n/.test(text) ? "\n" : " ");
    return;
  }
  const text = clean(data);
  if (/^\s/.test(data)) want(" ");
  say(text);
  if (text && /\s$/.test(data)) want(" ");
}
function gapOf(display, tag) {
  if (display === "table-cell") return " | ";
  if (tag === "p" || /^h[1-6]$/.test(tag) || tag === "table" || tag === "ul" || tag === "ol") return "\n\n";
  return display.startsWith("inline") || display === "contents" ? (display === "inline-block" ? " " : "") : "\n";
}
// What a control shows, or null when it is none (buttons speak by their content).
function fieldText(el, tag) {
  if (tag === "input") {
    const type = inputTypeOf(el);
    if (type === "hidden" || type === "image") return attr(el, "alt") || "";
    if (type === "checkbox" || type === "radio") return checkedOf(el) ? "[x]" : "[ ]";
    if (type === "submit" || type === "reset" || type === "button") return nameOf(el);
    return valueOf(el, "textbox") ? `[${valueOf(el, "textbox")}]` : "";
  }
  if (tag === "textarea") return areaValueOf(el) ? `[${isSecret(el) ? MASK : areaValueOf(el)}]` : "";
  if (tag === "select") return `[${valueOf(el, "combobox")}]`;
  if (tag === "img") return attr(el, "alt") || "";
  return tag === "iframe" || tag === "canvas" || tag === "video" || tag === "audio" || tag === "object" || tag === "svg" && !textContentOf(el).trim() ? "" : null;
}
