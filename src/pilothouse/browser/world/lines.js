// Lines: the tree as the text an agent reads. One thing a line; rows, list items and sentences with links fold.
// Above: snapshot.js, locate.js (find). Below: tree.js, states.js.

const TEXT_MAX = 320;
const FOLD_OVER = 60, FOLD_TO = 45;          // like things in a run, and how many of them are kept
const FOLD_CHARS = 2700, FOLD_LEAST = 12;    // a run of rich rows is cut by what it costs to read
const FOLD_LINE = 260;
const WHOLE_CHARS = 500000;                  // of long texts and options that are sent to who searches
const REST = "\u0003", CHOICE = "\u0004", UNSENT = "\u0005";   // browser/excerpt.py reads them
const BRIEF_TEXT = 40;                       // of a cell, where only what can be acted on is asked for

// `whole`: for who searches, with what each line leaves out.
function printTree(walk, { interactive = false, depth = 0, whole = false } = {}) {
  const print = {
    walk, interactive, limit: depth || 1000, lines: [], folds: 0, origin: `${location.origin}/`, here: location.href.split("#")[0],
    rests: whole ? [] : null, left: WHOLE_CHARS, lists: new Map(),
  };
  printAll(walk, print);
  return whole ? print.lines.map(([at, text]) => [at, text.replace(/\u0003(\d+)\u0002/g, (_, n) => `${print.rests[n]}\u0002`)]) : print.lines;
}
function printAll(walk, print) {
  if (walk.front.length) {
    printKids(walk.front, 0, print);
    if (walk.modal && !walk.full) {
      const count = countActs(walk.kids);
      if (count) print.lines.push([0, `(${count} controls of the page behind the dialog cannot be used now; full shows them)`, null]);
      return;
    }
    if (walk.modal) print.lines.push([0, "behind the dialog, not usable now:", null]);
  }
  printKids(walk.kids, walk.modal && walk.front.length ? 1 : 0, print);
}
// What is shown, then all that it is a part of, between marks that no text of a page can hold. Until the lines are
// printed only a number stands for it: they are to fold as they do for who reads.
function withRest(shown, mark, texts, print) {
  if (!print.rests) return shown;
  let rest = "";
  for (const text of texts) {
    if (text.length > print.left) { rest += `${mark}${cut(text, print.left + 1)}${UNSENT}`; print.left = 0; break; }
    rest += mark + text;
    print.left -= text.length;
  }
  return `\u0002${shown}\u0003${print.rests.push(rest) - 1}\u0002`;
}
const quoteCut = (text, max, print, more = "") => (text.length <= max ? quote(text) : withRest(quote(cut(text, max)) + more, REST, [text], print));
function countIf(kids, test) {
  let count = 0;
  const stack = [kids];
  while (stack.length) for (const kid of stack.pop()) { if (test(kid)) count++; if (kid.kids) stack.push(kid.kids); }
  return count;
}
const countActs = (kids) => countIf(kids, (kid) => kid.act);
// What is in a frame is put in later, by the daemon.
const isFrame = (item) => item.role === "iframe";
const mayHoldActs = (item) => item.act || isFrame(item) || countIf(item.kids, (kid) => kid.act || isFrame(kid)) > 0;

// Runs between breaks; neighbouring texts joined, groups opened, empty things gone.
function runsOf(kids, print) {
  const runs = [];
  let run = [];
  const end = () => { if (run.length) { const done = tidy(run); if (done.length) runs.push(done); run = []; } };
  const stack = [[kids, 0]];
  while (stack.length) {
    const top = stack[stack.length - 1];
    if (top[1] >= top[0].length) { stack.pop(); continue; }
    const kid = top[0][top[1]++];
    if (kid.kind === "break") end();
    else if (kid.aria && kid.covered && print.walk.front.length && !print.walk.full) continue;   // behind a dialog twice over
    else if (kid.kind === "group" || (kid.kind === "cell" && !kid.act && print.opened)) stack.push([kid.kids, 0]);
    else if (kid.kind === "text") { if (!print.interactive) run.push(kid); }
    else if (kid.block) { end(); runs.push([kid]); }
    else run.push(kid);
  }
  end();
  return runs;
}
function tidy(run) {
  const out = [];
  let joined = null;                         // a copy: the walk's own parts may be read again
  for (const part of run) {
    const last = out[out.length - 1];
    if (part.kind === "text" && last && last.kind === "text" && (last.hidden === part.hidden || !/\S/.test(part.text))) {
      if (last !== joined) out[out.length - 1] = joined = { ...last, nodes: [...last.nodes] };
      joined.text += part.text;
      joined.nodes.push(...part.nodes);
    } else out.push(part);
  }
  const shown = [];
  for (const part of out) {
    if (part.kind !== "text") { shown.push(part); continue; }
    const text = clean(part.text);
    if (text) shown.push(text === part.text ? part : { ...part, text });
  }
  return shown;
}

// A text that names the control beside it (aria-labelledby) adds nothing where all of it is the name. What says the same
// by itself does: a list that writes below which of its items was pressed.
const bare = (text) => text.replace(/[\s:*]+$/, "");
function echoes({ text, nodes }, item) {
  if (!item || !item.act || !item.name || bare(item.name) !== bare(text)) return false;
  const labels = listedIn(item.el, "aria-labelledby");
  return nodes.length > 0 && nodes.every((node) => labels.some((label) => containsNode(label, node)));
}

function printKids(kids, depth, print) {
  const runs = runsOf(kids, print).filter((run, i, all) => {
    if (run.length !== 1 || run[0].kind !== "text" || run[0].hidden) return true;
    return !echoes(run[0], all[i + 1] && all[i + 1][0]) && !echoes(run[0], all[i - 1] && all[i - 1][all[i - 1].length - 1]);
  });
  let alike = 0, kind = "", folded = 0, start = 0;
  for (const run of runs) {
    const same = run.length === 1 && run[0].kind !== "text" ? `${run[0].kind} ${run[0].role}` : "";
    alike = same && same === kind ? alike + 1 : 0;
    kind = same;
    if (!alike) start = print.lines.length;
    if (alike && !print.walk.full && run[0].kind !== "box" && (folded || mayFold(runs, run, kind, alike, start, print))) { folded++; continue; }
    if (folded) { noteFold(folded, depth, print); folded = 0; }
    printRun(run, depth, print);
  }
  if (folded) noteFold(folded, depth, print);
}
function mayFold(runs, run, kind, alike, start, print) {
  if (alike >= FOLD_TO) return restAlike(runs, run, kind) + alike > FOLD_OVER;
  if (alike < FOLD_LEAST) return false;
  let chars = 0;
  for (let i = start; i < print.lines.length; i++) chars += print.lines[i][1].length;
  return chars > FOLD_CHARS && restAlike(runs, run, kind) > 3;
}
function restAlike(runs, from, kind) {
  let n = 0;
  for (let i = runs.indexOf(from); i < runs.length; i++, n++) {
    if (runs[i].length !== 1 || `${runs[i][0].kind} ${runs[i][0].role}` !== kind) break;
  }
  return n;
}
function noteFold(count, depth, print) {
  print.folds++;
  print.lines.push([depth, `(${count} more like these: find, scope or full)`, null]);
}

function printRun(run, depth, print) {
  if (run.length > 1 && run.some((part) => part.kind === "text")) {
    const line = compactRun(run, print, " ");
    if (line) { print.lines.push([depth, line, run[0].el, run.flatMap((part) => part.nodes || [])]); return; }
  }
  for (let i = 0; i < run.length; i++) {
    const part = run[i];
    if (part.kind === "text") {
      if (!part.hidden && (echoes(part, run[i + 1]) || echoes(part, run[i - 1]))) continue;
      print.lines.push([depth, textLine(part, print), part.el, part.nodes]);
    } else printItem(part, depth, print);
  }
}
function textLine(part, print) {
  if (print.brief) return quote(cut(part.text, BRIEF_TEXT)) + (part.hidden ? " (hidden)" : "");
  const max = print.walk.full ? 2000 : TEXT_MAX;
  const more = part.text.length - max;
  return (more > 40 ? quoteCut(part.text, max, print, ` (+${more} characters)`) : quote(part.text)) + (part.hidden ? " (hidden)" : "");
}

function printItem(item, depth, print) {
  if (print.interactive && !mayHoldActs(item)) return;
  const kids = item.kids;
  const head = itemHead(item, print);
  if (!kids.length) {
    if (item.kind === "row" || item.kind === "cell" || item.kind === "entry") return;
    print.lines.push([depth, head + itemTail(item, print), item.el]);
    return;
  }
  if (item.kind === "row" || item.kind === "entry" || (item.kind === "cell" && !item.act) || item.soft) {
    const line = item.kind === "row" && print.interactive ? briefRow(kids, print) : compactKids(kids, print, " | ");
    if (line !== null) {
      const lone = item.kind !== "row" && !item.act && !item.name && (item.role === "item" || item.kind === "cell") && !line.includes(" | ");
      if (line) print.lines.push([depth, lone ? line + spanPart(item.el) : `${head}${itemTail(item, print)}: ${line}`, item.el]);
      else if (item.act) print.lines.push([depth, head + itemTail(item, print), item.el]);
      return;
    }
  }
  const at = print.lines.length;
  const tail = itemTail(item, print);
  const aside = item.act && !item.soft ? shortText(kids, print) : "";
  print.lines.push([depth, head + tail + (tail.includes(aside.trim()) ? "" : aside), item.el]);
  if (aside) return;
  if (depth + 1 >= print.limit) {
    const inside = countActs(kids);
    const more = isCutOff(item, print.walk) || countIf(kids, isFrame);
    const controls = inside === 1 && !more ? "control" : "controls";
    print.lines[at][1] += `${item.ref ? "" : ` ${refs.mark(refs.of(item.el))}`} (${inside}${more ? "+" : ""} ${controls} inside: scope)`;
    return;
  }
  pushRest(item, "above", depth + 1, print);
  const folds = print.folds;
  printKids(kids, depth + 1, print);
  if (print.folds > folds && !item.ref) print.lines[at][1] += ` ${refs.mark(refs.of(item.el))}`;   // so that scope can reach it
  pushRest(item, "below", depth + 1, print);
  if (print.lines.length === at + 1 && !item.act && item.kind !== "box") print.lines.length = at;
}

// What a box that scrolls has on a side. Where that is more than its rows fill, it may have more of them than it holds.
function pushRest(item, where, depth, print) {
  const count = item[where], more = item.far && item.far[where] > (count || 0.4);
  if (!count && !more) return;
  const rest = count ? `${count}${more ? "+" : ""} more ${where}` : `scrolls on ${where}`;
  print.lines.push([depth, `(${rest}: scroll ${refs.mark(refs.of(item.el))})`, null]);
}

// Whether a part of it lies where the walk did not go, so that what was counted in it is not all.
function isCutOff(item, { full, view }) {
  if (full) return false;
  const { top, bottom } = rectOf(item.el);
  return top < view.top || bottom > view.bottom || item.above + item.below > 0;
}

// Which row a control stands in, only its other cells say.
function briefRow(kids, print) {
  print.interactive = false;
  print.brief = true;
  const line = compactKids(kids, print, " | ");
  print.interactive = true;
  print.brief = false;
  return line;
}

// A badge or price inside a control that has another name: said on the control's own line.
function shortText(kids, print) {
  const runs = runsOf(kids, print);
  if (runs.length !== 1 || runs[0].length !== 1 || runs[0][0].kind !== "text" || runs[0][0].text.length > 80) return "";
  return ` ${textLine(runs[0][0], print)}`;
}

// Parts on one line, or null when they need lines of their own.
function compactKids(kids, print, sep) {
  const parts = [];
  let length = 0;
  for (const run of runsOf(kids, print)) {
    for (const piece of run.length === 1 && run[0].kind === "cell" ? run : [run]) {
      const text = Array.isArray(piece) ? compactRun(piece, print, sep) : compactCell(piece, print);
      if (text === null) return null;
      length += text.length;
      if (length > FOLD_LINE * 2 || parts.length > 40) return null;
      if (text || !Array.isArray(piece)) parts.push(text);
    }
  }
  return parts.join(sep);
}
function compactCell(cell, print) {
  if (cell.act && !cell.kids.length) return itemHead(cell, print) + itemTail(cell, print);
  const text = compactKids(cell.kids, print, " ");
  if (text === null) return null;
  if (cell.act) return `${itemHead(cell, print)}${itemTail(cell, print)}: ${text}`;
  return (text || '""') + (cell.el === print.walk.active ? " active" : "") + spanPart(cell.el);
}
// What stands in a cell that spans rows is said of each of them, and is read in the first only.
const SPANS = [["rowspan", "rows"], ["colspan", "columns"]];
function spanPart(el) {
  let text = "";
  if (!nextOf(el) && !lastOf(el)) return text;   // alone in its row it is a line of its own
  for (const [name, what] of SPANS) { const n = parseInt(attr(el, name), 10); if (n > 1) text += ` (${n} ${what})`; }
  return text;
}
function compactRun(run, print, sep) {
  const parts = [];
  let length = 0;
  for (let i = 0; i < run.length; i++) {
    const part = run[i];
    if (part.kind === "text") {
      if (!part.hidden && (echoes(part, run[i + 1]) || echoes(part, run[i - 1]))) continue;
      if (part.text.length > FOLD_LINE) return null;
      parts.push(textLine(part, print));
    } else if (part.kids.length) {
      if (part.kind === "row" || part.kind === "box" || part.kind === "heading" || part.role === "link" || part.role === "button") return null;
      const inner = compactKids(part.kids, print, " ");
      if (inner === null) return null;
      parts.push(part.act ? `${itemHead(part, print)}${itemTail(part, print)}: ${inner}` : inner);
    } else if (part.role === "iframe" || part.kind === "box") return null;
    else if (part.act || part.name || part.size) parts.push(itemHead(part, print) + itemTail(part, print));
    length += parts.length ? parts[parts.length - 1].length : 0;
    if (length > FOLD_LINE * 1.5) return null;
  }
  return parts.join(sep);
}

function itemHead(item, print) {
  const { el, role } = item;
  let text = role;
  if (item.name) text += ` ${quoteCut(item.name, LONG_NAME + 20, print)}${item.act ? saidOfSign(el, item.name) : ""}`;
  else if (item.act && !item.kids.length) {
    const hint = hintOf(el);
    const shape = el instanceof SVGElement && role === "clickable" || (!hint && item.soft) ? shapeHint(el, boxOf(item.at)) : "";
    if (shape || hint) text += ` <${[hint, shape].filter(Boolean).join(" ")}>`;
  }
  if (item.size) text += ` <${item.size}>`;
  if (item.level) text += ` h${item.level}`;
  if (item.rows !== undefined) text += ` ${item.rows} ${item.rows === 1 ? "row" : "rows"}`;
  if (item.ref) text += ` ${refs.mark(refs.of(el))}`;
  return text;
}

// A name that is only a sign ("✕") or a single letter says little: its tooltip says the rest.
function saidOfSign(el, name) {
  if (name.length > 3 || (name.length > 1 && /[\p{L}\p{N}]/u.test(name))) return "";
  const title = clean(attr(el, "title") || "");
  return title && title !== name ? ` (${cut(title, 60)})` : "";
}

const CELL_TAGS = words("td th");
const RANGED = words("slider spinbutton scrollbar");
function itemTail(item, print) {
  const { el, role } = item;
  let text = "";
  if (item.act || item.leaf) {
    if (VALUED.has(role) || role === "file" || role === "color") text += valuePart(el, role, item, print);
    for (const state of statesOf(el, role, print.walk)) text += ` ${state}`;
    if (role === "combobox" || role === "listbox") text += optionsPart(el, print);
    if (role === "link") text += targetPart(el, print);
    if (item.control) text += ` for ${roleOf(item.control)} ${checkedState(item.control, roleOf(item.control))}`.trimEnd();
  } else if (item.kind === "box" || item.kind === "row") {
    for (const state of statesOf(el, role, print.walk)) text += ` ${state}`;
  }
  if (item.aria) text += " (aria-hidden)";
  else if (item.hidden && (item.act || item.leaf)) text += " (hidden)";
  if (item.covered) text += ` ${item.covered}`;
  return item.kind === "cell" || (item.soft && CELL_TAGS.has(item.at.tag)) ? text + spanPart(el) : text;
}
function valuePart(el, role, item, print) {
  const value = clean(valueOf(el, role));
  let text = value && value !== item.name ? ` =${quoteCut(value, 200, print)}` : "";
  if (RANGED.has(role)) {
    const low = attr(el, "min") || attr(el, "aria-valuemin"), high = attr(el, "max") || attr(el, "aria-valuemax");
    if (low !== null || high !== null) text += ` (${low || ""}..${high || ""})`;
  }
  const ghost = !value && (attr(el, "placeholder") || attr(el, "aria-placeholder"));
  if (ghost && clean(ghost) !== item.name) text += ` placeholder ${quote(cut(clean(ghost), 60))}`;
  return text;
}
function optionsPart(el, print) {
  if (!(el instanceof HTMLSelectElement)) return "";
  if (!print.rests) return choicesPart(el, print);
  if (!print.lists.has(el)) print.lists.set(el, choicesPart(el, print));   // a row may be tried as one line before it is printed
  return print.lists.get(el);
}
function choicesPart(el, print) {
  const all = optionsOf(el);
  const shown = print.walk.full ? 40 : 12;
  const names = [];
  for (let i = 0; i < all.length && i < shown; i++) names.push(optionPart(all[i], 40));
  const text = names.length ? ` options(${names.join(" | ")}${all.length > shown ? ` | …${all.length - shown} more` : ""})` : "";
  return all.length > shown || text.includes("…") ? withRest(text, CHOICE, optionParts(all), print) : text;
}
const optionPart = (option, max) => cut(optionText(option), max) + (matches(option, ":disabled") ? " (disabled)" : "");
function* optionParts(all) { for (const option of all) yield optionPart(option, 200); }
const hrefOf = getter(HTMLAnchorElement.prototype, "href");
function targetPart(el, { origin, here }) {
  if (!(el instanceof HTMLAnchorElement)) return "";
  const href = hrefOf(el);
  if (!href || href.startsWith("javascript:")) return "";
  let text = href;
  // A place on this page: the name says as much. Else the address stands there wherever one is: a page that moves on by
  // script keeps its links.
  if (href.startsWith(`${here}#`) && attr(el, "href").trim()[0] === "#") return "";
  else if (href.startsWith(origin)) text = href.slice(origin.length - 1);
  else text = href.replace(/^https?:\/\//, "").replace(/\/$/, "");
  return text ? ` -> ${clean(cut(text, 60))}` : "";
}
