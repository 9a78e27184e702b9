// Extract: values by selector, records, and tables, as plain data.
// Above: the daemon (browser/extract.py). Below: locate.js, text.js, states.js, roles.js.

const VALUE_MAX = 20000;
const COLUMNS_MAX = 200;
const ADDRESSES = words("href src action poster cite data formaction");
const WITH_ATTRIBUTE = /^([\s\S]*?)@([\w:.-]+)$/;

// "selector", "selector@attribute", "@attribute" or "." (the record itself).
function wantOf(spec) {
  const parts = WITH_ATTRIBUTE.exec(spec.trim());
  const selector = (parts ? parts[1] : spec).trim();
  return { selector: selector === "." ? "" : selector, attribute: parts ? parts[2] : "" };
}
function withinScope(scope, selector) {
  if (!selector) return [scope];
  if (RESERVED.test(selector)) return elementsFor(selector).filter((el) => composedContains(scope, el));
  const found = [...queryIn(scope, selector)];
  if (found.length) return found;
  return [shadowOf(scope), ...shadowRootsIn(scope)].filter(Boolean).flatMap((root) => [...queryFragment(root, selector)]);
}
function dataOfElement(el, attribute) {
  if (!attribute) return contentOf(el);
  if (attribute === "text") return contentOf(el);
  if (attribute === "value" && isSecret(el)) return MASK;
  const value = attribute === "value" && !hasAttr(el, "value") ? valueOf(el, roleOf(el)) || null : attr(el, attribute);
  if (value === null || !ADDRESSES.has(attribute)) return value === null ? null : cut(value, VALUE_MAX);
  try { return new URL(value, baseOf(document)).href; } catch { return cut(value, VALUE_MAX); }
}
function contentOf(el) {
  const tag = tagOf(el);
  if (el instanceof HTMLInputElement && (inputTypeOf(el) === "checkbox" || inputTypeOf(el) === "radio")) return checkedOf(el);
  if (tag === "input" || tag === "textarea" || tag === "select") return cut(valueOf(el, roleOf(el)) || "", VALUE_MAX);
  return cut(readText(el, VALUE_MAX) || clean(textContentOf(el).slice(0, VALUE_MAX)), VALUE_MAX);
}
function recordOf(scope, fields) {
  return Object.fromEntries(fields.map(([name, { selector, attribute }]) => {
    const el = scope ? withinScope(scope, selector)[0] : elementsFor(selector || "html")[0];
    return [name, el ? dataOfElement(el, attribute) : null];
  }));
}
ph.extract = ({ fields, each, limit }) => withNames(() => {
  const wanted = fields.map(([name, spec]) => [name, wantOf(spec)]);
  try {
    if (!each) return { records: [recordOf(null, wanted)], total: 1 };
    const scopes = [...new Set(elementsFor(each))];
    return { records: scopes.slice(0, limit).map((scope) => recordOf(scope, wanted)), total: scopes.length };
  } catch (error) {
    return { error: String((error && error.message) || error).slice(0, 200) };
  }
});

// Tables: what HTML or ARIA calls rows and cells, laid out on a grid.
const isTable = (el) => tagOf(el) === "table" || /^(table|grid|treegrid)$/.test(attr(el, "role") || "");
const isRow = (el) => tagOf(el) === "tr" || attr(el, "role") === "row";
const isCell = (el) => /^(td|th)$/.test(tagOf(el)) || /^(cell|gridcell|columnheader|rowheader)$/.test(attr(el, "role") || "");
const isHead = (el) => (tagOf(el) === "th" && attr(el, "scope") !== "row" && attr(el, "role") !== "rowheader") || attr(el, "role") === "columnheader";

function partsIn(root, test, stop) {
  const found = [];
  const stack = [...kidsOf(root)].reverse();
  while (stack.length) {
    const node = stack.pop();
    if (!isElement(node)) continue;
    if (test(node)) { found.push(node); continue; }
    if (!stop(node)) stack.push(...[...kidsOf(node)].reverse());
  }
  return found;
}
const spanOf = (el, name, max) => Math.min(Math.max(parseInt(attr(el, name) || attr(el, `aria-${name}`) || "1", 10) || 1, 1), max);

ph.table = (n, limit) => withNames(() => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return { error: "stale" };
  const table = isTable(el) ? el : partsIn(el, isTable, () => false)[0] || closestComposed(el, isTable);
  if (!table) return { error: "none" };
  const rows = partsIn(table, isRow, isTable).filter(isRendered);
  const cells = rows.map((row) => partsIn(row, isCell, isTable));
  let heads = 0;
  while (heads < rows.length && isHeadRow(rows[heads], cells[heads])) heads++;
  const grid = gridOf(cells.slice(0, heads + limit));
  const names = namesOf(grid.slice(0, heads), grid.reduce((most, row) => Math.max(most, row.length), 0));
  const records = grid.slice(heads).map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? null])));
  return { records, total: rows.length - heads, columns: names };
});
const isHeadRow = (row, cells) => cells.length > 0 && (!!closest(row, "thead") || cells.every(isHead));

function gridOf(rows) {
  const grid = rows.map(() => []);
  rows.forEach((cells, y) => {
    let x = 0;
    for (const cell of cells) {
      while (grid[y][x] !== undefined) x++;
      if (x >= COLUMNS_MAX) break;
      const value = cellText(cell);
      const wide = spanOf(cell, "colspan", COLUMNS_MAX - x);
      const tall = spanOf(cell, "rowspan", rows.length - y);
      for (let down = 0; down < tall; down++) for (let right = 0; right < wide; right++) grid[y + down][x + right] ??= value;
      x += wide;
    }
  });
  return grid;
}
function cellText(cell) {
  const text = cut(readText(cell, 5000), 5000);
  if (text) return text;
  const picture = queryIn(cell, "img[alt],[aria-label]")[0];
  return picture ? clean(attr(picture, "alt") || attr(picture, "aria-label") || "") : "";
}
// Header rows joined from above; each name once.
function namesOf(heads, width) {
  const taken = new Map();
  return Array.from({ length: width }, (_, x) => {
    const parts = [...new Set(heads.map((row) => row[x]).filter(Boolean))];
    const name = parts.join(" / ") || `column ${x + 1}`;
    const count = (taken.get(name) || 0) + 1;
    taken.set(name, count);
    return count > 1 ? `${name} ${count}` : name;
  });
}
