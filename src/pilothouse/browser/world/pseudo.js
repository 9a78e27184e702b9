// Pseudo-elements: text that exists only in style sheets.
// Above: names.js, tree.js. Below: dom.js.
// Asking for a pseudo-element's style costs more than anything else in a walk, and few elements have one: the page's
// own rules tell which could. Where rules cannot be read (another origin's sheet, a shadow tree, a huge icon font)
// every element is asked.

let pseudoRules = null;              // for one call: a selector, "" for nobody, or ALL
const ALL = Symbol("all");
const sheetRules = new WeakMap();    // sheet -> [number of rules, selectors]
const MOST_SELECTORS = 40;
const sheetsOf = getter(Document.prototype, "styleSheets");
const adoptedOf = getter(Document.prototype, "adoptedStyleSheets");

function mayHavePseudo(el) {
  if (pseudoRules === null || rootOf(el) !== document) return true;
  if (pseudoRules === undefined) pseudoRules = collectPseudo();
  return pseudoRules === ALL || (pseudoRules !== "" && matches(el, pseudoRules));
}
function collectPseudo() {
  const all = [];
  try {
    for (const sheet of [...sheetsOf(document), ...adoptedOf(document)]) {
      const count = sheet.cssRules.length;
      let known = sheetRules.get(sheet);
      if (!known || known[0] !== count) sheetRules.set(sheet, known = [count, selectorsIn(sheet.cssRules, [])]);
      all.push(...known[1]);
      if (all.length > MOST_SELECTORS) return ALL;
    }
    const joined = all.join(",");
    if (joined) matches(htmlOf(document), joined);
    return joined;
  } catch {
    return ALL;
  }
}
function selectorsIn(rules, found) {
  for (const rule of rules) {
    if (found.length > MOST_SELECTORS) break;
    const selector = rule.selectorText;
    if (selector && /:(before|after)/i.test(selector)) {
      if (selector.includes("&")) throw new Error("nested");
      found.push(selector.replace(/(^|[\s>+~,(])::?(before|after)/gi, "$1*").replace(/::?(before|after)/gi, ""));
    }
    if (rule.styleSheet) selectorsIn(rule.styleSheet.cssRules, found);
    else if (rule.cssRules && rule.cssRules.length) selectorsIn(rule.cssRules, found);
  }
  return found;
}

// Text that CSS adds. `content: url(x) / "alt"` speaks its alternative; counters and images say nothing.
const STRINGS = /"((?:[^"\\]|\\.)*)"/g;
function pseudoText(el, which) {
  const style = getComputedStyle(el, which);
  const content = style.content;
  if (content === "none" || content === "normal" || content === "" || style.display === "none") return "";
  let source = content;
  const bare = content.replace(STRINGS, (s) => "x".repeat(s.length));
  const slash = bare.replace(/\([^)]*\)/g, (s) => "x".repeat(s.length)).indexOf(" / ");
  if (slash >= 0) source = content.slice(slash + 3);
  let text = "";
  for (const found of source.matchAll(STRINGS)) text += found[1].replace(/\\(.)/g, "$1");
  return text && style.display !== "inline" ? ` ${text} ` : text;
}
