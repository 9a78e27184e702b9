// Rows: whose control is this? Pages keep the nodes of a row and put another record's words into them.
// Above: past.js. Below: then.js, dom.js.
// A row is known by its title: the first words in it that no other row of its list had. Without them it is another's. With
// them it is the same one, whatever else has changed in it, unless other rows have lost theirs or it was moved. What is a
// row by itself may be called anything ("Like (4)"), unless its neighbours have lost theirs, too.

const ROW = "li,tr,article,[role=row],[role=listitem],[role=option],[role=article],[role=treeitem]";
const PLACING = /^(id|style|data-.*|aria-(rowindex|posinset))$/;

const MOST_ROWS = 200;
const SPELT = /^[^<]*\p{L}/u;
const uncounted = (piece) => piece.replace(/\d+/g, "#");

// What a part says, piece by piece: texts, and tags with what they say.
const piecesOf = (page, part, then, except = null) =>
  [...new Set(page.read(part, then, true, except).match(/<\w[^>]*|[^<>]+/g))].filter((piece) => !/^(<[^=]*|<.* ="[^"]*"|\/)$/.test(piece));

// The rows of a list as they were, read once: how many of them say a piece, and which have lost their title.
function listAround(page, row, home) {
  const all = page.elements(home, true).filter((one) => tagOf(one) === tagOf(row));
  const from = Math.max(Math.floor(all.indexOf(row) / MOST_ROWS) * MOST_ROWS - MOST_ROWS / 2, 0);
  const near = all.slice(from, from + MOST_ROWS * 2);
  if (page.known.has(near[0])) return page.known.get(near[0]);
  const told = near.map((one) => piecesOf(page, one, true)), count = new Map();
  for (const pieces of told) for (const piece of [...pieces, ...new Set(pieces.map((one) => `\n${uncounted(one)}`))]) count.set(piece, (count.get(piece) || 0) + 1);
  const titleIn = (pieces) => {
    const own = pieces.filter((piece) => count.get(piece) === 1);
    return own.find((piece) => SPELT.test(piece)) || own[0];
  };
  const lost = new Set(near.filter((one, i) => { const title = titleIn(told[i]); return title && connectedOf(one) && !piecesOf(page, one, false).includes(title); }));
  const list = { count, titleIn, lost, size: near.length };
  page.known.set(near[0], list);
  return list;
}

// What has become of one among its neighbours, without the words of `except`.
function compared(page, row, home, except) {
  const was = piecesOf(page, row, true, except), is = piecesOf(page, row, false, except);
  const isKept = (piece) => is.includes(piece);
  const fate = { was: was.join(" "), is: is.join(" "), changed: !was.every(isKept), lost: false, less: false, drawn: false };
  if (!fate.changed) return fate;
  const { count, titleIn, lost, size } = listAround(page, row, home);
  const title = titleIn(was), drawn = lost.size > (lost.has(row) ? 1 : 0);
  // A number in words that no other row has counts something; in words that all have it tells one row from the other.
  const counts = title && SPELT.test(title) && size > 1 && count.get(`\n${uncounted(title)}`) === 1 && is.some((piece) => uncounted(piece) === uncounted(title));
  const moved = [...(page.attributes.get(row) || [])].some(([name, old]) => PLACING.test(name) && attr(row, name) !== old);
  return { ...fate, drawn, lost: !title || !(isKept(title) || counts), less: (drawn || moved) && was.some((piece) => count.get(piece) === 1 && !isKept(piece)) };
}

// Where an element stands in a part of the page, step by step; and what stands there in another.
function pathTo(page, el, part) {
  const path = [];
  for (let node = el, home; node !== part; node = home) {
    home = page.home(node);
    path.unshift(isElement(node) ? page.elements(home, true).indexOf(node) : -1);
  }
  return path;
}
function standsAlike(page, one, row, el, path) {
  if (one === row || tagOf(one) !== tagOf(row)) return false;
  const peer = path.reduce((inner, step) => inner && (step < 0 ? shadowOf(inner) : page.elements(inner, true)[step]), one);
  return Boolean(peer) && isElement(peer) && tagOf(peer) === tagOf(el);
}
function isOneOfMany(page, row, home, el) {
  if (matches(row, ROW)) return true;
  const path = row === el ? null : pathTo(page, el, row);
  return path !== null && page.elements(home, true).slice(0, 50).some((one) => standsAlike(page, one, row, el, path));
}

// The rows around an element, from within: whether one is another record's now, or what has become of the nearest.
function rowIn(page, el) {
  let nearest = null;
  for (let row = el, home; (home = page.home(row)) && !(isElement(row) && tagOf(row) === "body"); row = home) {
    if (!isElement(row) || !page.touched.has(row) || !isOneOfMany(page, row, home, el)) continue;
    const beside = compared(page, row, home, el);
    const fate = beside.was ? beside : matches(row, ROW) && compared(page, row, home, null);
    if (fate && (fate.lost || fate.less) && (fate === beside || fate.drawn)) return { ...fate, another: true };
    nearest = nearest || fate;
  }
  return nearest;
}
