// Source: the page as it is written: start tags, an outline, a bounded piece of HTML. Passwords are never written out.
// Above: the daemon (browser/markup.py, browser/axtree.py). Below: dom.js, states.js, refs.js.
// No recursion: a page may nest as deep as it likes.

const ATTRIBUTE_MAX = 120;
const ATTRIBUTES_MAX = 30;
const VOID = words("area base br col embed hr img input link meta source track wbr");
const UNREAD = words("script style template noscript svg");
const attributeNamesOf = uncurry(Element.prototype.getAttributeNames);

// Only what the walker itself would number: elements.
ph.refsOf = (...nodes) => withNames(() => nodes.map((node) => (typeOf(node) === 1 ? refs.of(node) : 0)));

function startTag(el, most = ATTRIBUTE_MAX) {
  const secret = isSecret(el);
  const names = attributeNamesOf(el);
  const said = names.slice(0, ATTRIBUTES_MAX).map((name) => {
    const value = secret && name === "value" ? MASK : attr(el, name) || "";
    return value ? ` ${name}=${quote(cut(clean(value), most))}` : ` ${name}`;
  });
  return `<${tagOf(el)}${said.join("")}${names.length > ATTRIBUTES_MAX ? " …" : ""}>`;
}
const neighbour = (el) => `${startTag(el)} ${cut(readText(el, 200), 80)}`.trim();

function besides(el, max) {
  const parent = parentOf(el);
  const all = parent ? kidsOf(parent).filter(isElement) : [];
  const at = all.indexOf(el);
  return { before: all.slice(Math.max(at - max, 0), Math.max(at, 0)).map(neighbour), after: at < 0 ? [] : all.slice(at + 1, at + 1 + max).map(neighbour) };
}

ph.markup = (n, { maxChars = 4000 } = {}) => withNames(() => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return null;
  const ancestors = [];
  for (let up = parentOf(el); up && ancestors.length < 50; up = parentOf(up)) ancestors.unshift(startTag(up));
  const { before, after } = besides(el, 5);
  return { tag: startTag(el), ancestors, before, after, ...htmlOfElement(el, maxChars) };
});

// The element's HTML as far as there is room, shadow roots in place.
function htmlOfElement(el, maxChars) {
  let html = "";
  const stack = [el];
  while (stack.length && html.length < maxChars) {
    const node = stack.pop();
    if (typeof node === "string") { html += node; continue; }
    const type = typeOf(node);
    if (type === 3) html += dataOf(node).slice(0, maxChars);
    if (type !== 1) continue;
    const tag = tagOf(node);
    html += startTag(node, 1000);
    if (VOID.has(tag)) continue;
    stack.push(`</${tag}>`);
    const own = [];
    for (let kid = firstChildOf(node); kid; kid = nextSiblingOf(kid)) own.push(kid);
    const root = shadowOf(node);
    const inner = [];
    if (root) {
      inner.push("<template shadowrootmode>");
      for (let kid = firstChildOf(root); kid; kid = nextSiblingOf(kid)) inner.push(kid);
      inner.push("</template>");
    }
    const all = [...inner, ...own];
    for (let i = all.length - 1; i >= 0; i--) stack.push(all[i]);
  }
  return { html: html.slice(0, maxChars).replace(/[\ud800-\udbff]$/, ""), cut: stack.length > 0 || html.length > maxChars };
}

// One element a line, with its own text; what is never shown is named and not opened.
ph.outline = ({ maxNodes = 200 } = {}) => {
  const lines = [];
  let total = 0;
  const stack = [[htmlOf(document), 0]];
  while (stack.length && total < 200000) {
    const [el, depth] = stack.pop();
    if (!el) continue;
    total++;
    const root = shadowOf(el);
    if (lines.length < maxNodes) lines.push([depth, `${startTag(el, 80)} ${UNREAD.has(tagOf(el)) ? "" : ownText(el)}${root ? " #shadow" : ""}`.trimEnd()]);
    if (UNREAD.has(tagOf(el))) continue;
    const kids = [];
    if (root) for (let kid = firstChildOf(root); kid; kid = nextSiblingOf(kid)) if (isElement(kid)) kids.push(kid);
    for (let kid = firstChildOf(el); kid; kid = nextSiblingOf(kid)) if (isElement(kid)) kids.push(kid);
    for (let i = kids.length - 1; i >= 0; i--) stack.push([kids[i], depth + 1]);
  }
  return { lines, total };
};
function ownText(el) {
  let text = "";
  for (let kid = firstChildOf(el); kid && text.length < 200; kid = nextSiblingOf(kid)) if (typeOf(kid) === 3) text += dataOf(kid).slice(0, 200);
  text = clean(text);
  return text ? quote(cut(text, 80)) : "";
}
