// Locate: a target string to elements, and the search of the whole page.
// Above: the daemon (targets, find), act.js, wait.js. Below: roles.js, names.js, visible.js, lines.js.

const MATCHES_MAX = 10;
const TINY = 4;  // a frame of so many pixels is there for no eye
const BY_MEANING = /^\s*(text|label|role)=/;
const hitsAt = uncurry(Document.prototype.elementsFromPoint);
const hasFocusIn = uncurry(Document.prototype.hasFocus);
const RESERVED = /^(text|label|role|xpath)=/;

// `one`: something will be done to it. If several are called so, they are told apart by what stands around them.
// `fit`: how well they are called so, 0 best; of several frames the one with the better fit is meant.
let fit = 0;
ph.locate = (target, { one = false } = {}) => withNames(() => {
  refs.newMoment();
  fit = 0;
  try {
    const all = elementsFor(target);
    if (!one || !BY_MEANING.test(target)) return asMatches(all);
    const found = asMatches(inFront(all));
    const first = found.visible[0] && Math.min(innerWidth, innerHeight) > TINY ? refs.get(found.matches[0]) : null;
    return { ...found, fit, rivals: rivalsIn(found), seen: first ? { ref: refs.mark(found.matches[0]), ...named(first) } : null };
  } catch (error) {
    return { matches: [], total: 0, visible: [], error: String((error && error.message) || error).slice(0, 200) };
  }
});

function elementsFor(target) {
  const text = target.trim();
  if (text.startsWith("text=")) return byText(text.slice(5));
  if (text.startsWith("label=")) return byLabel(text.slice(6));
  if (text.startsWith("role=")) return byRole(text.slice(5));
  if (text.startsWith("xpath=")) return byXPath(text.slice(6));
  if (text === ":focus") return withFocus();
  return bySelector(text);
}
// What can be seen comes first; no more are looked at than are told.
function asMatches(found) {
  const list = [...new Set(found)], seen = [], unseen = [];
  for (const el of list) {
    if (seen.length === MATCHES_MAX) break;
    (isVisible(el) ? seen : unseen).push(el);
  }
  const first = [...seen, ...unseen].slice(0, MATCHES_MAX);
  return { matches: first.map((el) => refs.of(el)), total: list.length, visible: first.map((_, i) => i < seen.length) };
}

// Where something lies over the whole page, as an open dialog, what is behind it is no choice beside what is in front.
function modalsNow() {
  const isThere = (el) => isVisible(el) && takesPointer(el) && hasArea(inWindow(rectOf(el)));
  return allRoots().flatMap((root) => [...query(root, "dialog:modal,[aria-modal=true]")]).filter(isThere);
}
function inFront(list) {
  if (list.length < 2) return list;
  const modals = modalsNow();
  const front = list.filter((el) => !isBehind(el, modals));
  return front.some(isVisible) ? front : list;
}
// Whether a person sees the frame that an element holds: it is drawn, within the page, and before what lies over the window.
ph.showsFrame = (n) => withNames(() => {
  const el = refs.get(n);
  if (!el || !connectedOf(el) || !isVisible(el)) return false;
  const { right, bottom, width, height } = rectOf(el);
  const isNowhere = right + scrollX <= 0 || bottom + scrollY <= 0 || Math.min(width, height) <= TINY;
  return !isNowhere && !isBehind(el, modalsNow()) && !closestComposed(el, (up) => Number(getComputedStyle(up).opacity) === 0);
});
// Of what a page merely calls modal, and of boxes drawn over the window, the pointer tells: a list may lie before them,
// and a bar that covers a row now has the next one under it when the page is scrolled.
function isBehind(el, modals) {
  const within = modals.some((one) => composedContains(one, el));
  if (closestComposed(el, (up) => hasAttr(up, "inert")) || (!within && modals.some((one) => matches(one, ":modal")))) return true;
  const rect = rectOf(el), outside = !within && modals.length > 0;
  if (!hasArea(inWindow(rect))) return outside;
  const over = hitsAt(document, ...middle(inWindow(rect)));
  const veil = over.slice(0, over.findIndex((hit) => reaches(hit, el))).some((hit) => fillsWindow(rectOf(hit)));
  return veil || (outside && !!coverOf(el, rect));
}
const SCROLLBAR = 20;
const fillsWindow = (box) => box.left <= 0 && box.top <= 0 && box.right >= innerWidth - SCROLLBAR && box.bottom >= innerHeight - SCROLLBAR;

// Those that a person would have to choose from; not of links that lead to the same place.
function rivalsIn({ matches, visible }) {
  const seen = matches.filter((_, i) => visible[i]);
  const links = new Set(seen.map((n) => (refs.get(n) instanceof HTMLAnchorElement ? linkOf(refs.get(n)) : "")));
  if (seen.length < 2 || (links.size === 1 && !links.has(""))) return [];
  const all = seen.map((n) => refs.get(n));
  return seen.map((n, i) => ({ n, ref: refs.mark(n), ...named(all[i]), around: apart(all[i], all) }));
}
// What the largest box says that has only this one of them in it: its row, its card, its part of the page.
function apart(el, rivals) {
  let box = el;
  for (let up = parentOf(el); up && rivals.every((one) => one === el || !composedContains(up, one)); up = parentOf(up)) box = up;
  const text = clean(readText(box, 400));
  return text === clean(readText(el, 400)) ? "" : cut(text, 100);
}

// All that a target by text, label or name may have been compared with.
ph.heard = (n) => withNames(() => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return [];
  const value = el instanceof HTMLSelectElement ? valueOf(el, "combobox") : "";
  return [readText(el, 100000), textContentOf(el).slice(0, 100000), nameOf(el), calledOf(el), attr(el, "title"), attr(el, "placeholder"), value].filter(Boolean);
});

// Where keys go to in this frame, if they go here at all: to the whole page where nothing has the focus.
function withFocus() {
  const el = focusedElement() || bodyOf(document);
  return !el || !hasFocusIn(document) || holdsFrame(el) || mayHoldPage(tagOf(el)) ? [] : [el];
}

// The light tree first, then inside shadow roots; "host >>> inner" steps into a root by hand.
function bySelector(css) {
  const steps = css.split(/\s*>>>\s*/);
  let scopes = [document];
  for (let i = 0; i < steps.length; i++) {
    const found = scopes.flatMap((scope) => [...query(scope, steps[i])]);
    if (i === steps.length - 1) {
      if (found.length || steps.length > 1) return found;
      return shadowRootsIn(document).flatMap((root) => [...queryFragment(root, css)]);
    }
    scopes = found.map((el) => shadowOf(el)).filter(Boolean);
  }
  return [];
}

function byXPath(path) {
  const result = Document.prototype.evaluate.call(document, path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
  const found = [];
  for (let i = 0; i < result.snapshotLength && i < 10000; i++) {
    const node = result.snapshotItem(i);
    const el = isElement(node) ? node : typeOf(node) === 3 ? parentOf(node) : null;
    if (el) found.push(el);
  }
  return found;
}

const allRoots = () => [document, ...shadowRootsIn(document)];
function* everyElement(roots = allRoots()) {
  for (const root of roots) yield* query(root, "*");
}

const ROLE_TARGET = /^([a-z]+)\s*(?:\[\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\/((?:[^/\\]|\\.)+)\/([a-z]*)|([^"'/\]][^\]]*?))\s*\])?$/i;
// Same roles as the snapshot prints; "textbox" also means the typed fields that HTML gives no role.
const ALSO = { textbox: words("date time datetime month week"), button: words("file color"), clickable: words("generic") };
function byRole(spec) {
  const parts = ROLE_TARGET.exec(spec.trim());
  if (!parts) throw new Error('a role target reads role=button or role=button[name="Save"]');
  const role = parts[1].toLowerCase();
  const want = parts[2] ?? parts[3] ?? parts[6];
  const pattern = parts[4] ? new RegExp(parts[4], parts[5].replace(/[gy]/g, "")) : null;
  const found = [];
  for (const el of everyElement()) {
    const own = roleOf(el);
    if (own !== role && !(ALSO[role] && ALSO[role].has(own))) continue;
    if (role === "clickable" && !isActionable(el)) continue;
    if (isRendered(el)) found.push(el);
  }
  if (pattern) return found.filter((el) => pattern.test(calledOf(el)));
  if (want === undefined) return found;
  const name = clean(want.replace(/\\(.)/g, "$1"));
  const exact = found.filter((el) => calledOf(el) === name);
  fit = exact.length ? 0 : 1;
  return exact.length ? exact : found.filter((el) => calledOf(el).toLowerCase() === name.toLowerCase());
}
const calledOf = (el) => nameOf(el) || (WIDGETS.has(roleOf(el)) ? "" : contentName(el));

// Fields by what they are called: exactly so, else but for capitals, else in part. What is quoted is meant exactly.
const FIELDS = words("checkbox combobox listbox radio searchbox slider spinbutton switch textbox date time datetime month week color file");
function byLabel(spec) {
  const quoted = /^"([\s\S]*)"$/.exec(spec.trim());
  const want = clean(quoted ? quoted[1].replace(/\\(.)/g, "$1") : spec);
  if (!want) throw new Error("an empty label");
  const fields = [...everyElement()].filter((el) => FIELDS.has(roleOf(el)) && drawnOf(el));
  const low = want.toLowerCase();
  const called = (test) => fields.filter((el) => test(nameOf(el))).map(drawnOf);
  const tests = [(name) => name === want, (name) => name.toLowerCase() === low,
    (name) => isWordsOf(name.toLowerCase(), low, true), (name) => isWordsOf(name.toLowerCase(), low, false)];
  for (const test of quoted ? tests.slice(0, 1) : tests) {
    const found = called(test);
    if (found.length) { fit = tests.indexOf(test); return found; }
  }
  return [];
}
// A control that is hidden, and drawn by its label, is used by that.
const drawnOf = (el) => (isRendered(el) ? el : labelsOf(el).find((one) => isRendered(one)));

// Whether a text stands in another as `whole` words, or from where one begins: "Unsubscribe" does not say "subscribe". What is
// written without blanks between its words begins one anywhere.
const LETTER = /[\p{L}\p{N}\p{M}_]/u;
const UNDIVIDED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]/u;
const isOneWord = (a, b) => [a, b].every((one) => LETTER.test(one) && !UNDIVIDED.test(one));
function isWordsOf(text, part, whole) {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const end = at + part.length;
    const begins = at === 0 || !isOneWord(text[at - 1], part[0]);
    if (begins && (!whole || end === text.length || !isOneWord(text[end - 1], text[end]))) return true;
  }
  return false;
}

// The smallest elements that show a text; a control is preferred to the span inside it or the label beside it. Whole words
// count before those that only begin so.
function byText(spec) {
  const quoted = /^"([\s\S]*)"$/.exec(spec.trim());
  const want = clean(quoted ? quoted[1].replace(/\\(.)/g, "$1") : spec);
  if (!want) throw new Error("an empty text");
  const fold = (text) => (quoted ? clean(text) : clean(text).toLowerCase());
  const needle = quoted ? want : want.toLowerCase();
  const roots = allRoots();
  const showing = smallestWith((text) => fold(text).includes(needle), roots).filter(isRendered);
  if (quoted) return saidBy(showing, (text) => fold(text) === needle, roots, { want, needle, fold });
  for (const whole of [true, false]) {
    const all = saidBy(showing, (text) => isWordsOf(fold(text), needle, whole), roots, { want, needle, fold });
    if (all.length) { fit += whole ? 0 : POOLS; return all; }
  }
  return [];
}
const POOLS = 6;
function saidBy(showing, has, roots, { want, needle, fold }) {
  const found = [...new Set(showing.map((el) => closestSaying(el, has, 2000 + want.length)).filter(Boolean))];
  const named = [];
  for (const root of roots) {
    for (const el of query(root, "input,textarea,select,button,a[href],img,[aria-label],[aria-labelledby],[title],[role]")) {
      if (!isRendered(el)) continue;
      if (has(nameOf(el)) || has(attr(el, "title") || "") || has(attr(el, "placeholder") || "")) named.push(el);
      else if (el instanceof HTMLSelectElement && has(valueOf(el, "combobox"))) named.push(el);
    }
  }
  const meant = new Set();  // pressed at their own words, for what listens around them has more than these
  const lifted = found.map((el) => {
    const up = closestComposed(el, (one) => isActionable(one) && tagOf(one) !== "body");
    if (!up || up === el) return el;
    if (!isOneOfMany(el, up)) return readText(up, 600).length <= 200 + want.length ? up : el;
    if (!takesPointer(el)) return up;
    meant.add(el);
    return el;
  });
  const either = new Set([...lifted, ...named]);
  const all = [...everyElement(roots)].filter((el) => either.has(el));
  const acting = all.filter((el) => isActionable(el) && !(tagOf(el) === "label" && either.has(controlOf(el))));
  const listed = all.filter((el) => meant.has(el));
  const isExact = (el) => fold(nameOf(el)) === needle || fold(readText(el, 2000)) === needle;
  // POOLS of them. What acts by itself comes before the words of a list, and what is called just so before what holds more.
  const pools = [acting.filter(isExact), listed.filter(isExact), acting, listed, all.filter(isExact), all];
  fit = pools.findIndex((pool) => pool.length);
  return innermost(pools[fit] || []);
}
// A word may stand beside a longer one that begins or ends like it ("Name [Rename]"): then what is around both says it.
const AROUND = 6;
function closestSaying(el, has, most) {
  for (let up = el, left = AROUND; up && left && tagOf(up) !== "body"; up = parentOf(up), left--) {
    const text = readText(up, most);
    if (has(text)) return up;
    if (text.length >= most) return null;
  }
  return null;
}
// Whether what listens, or is pointed at, around an element is a list of like things of which this is in one: who presses the
// middle of the list presses another one.
function isOneOfMany(el, up) {
  if (WIDGETS.has(roleOf(up)) || tagOf(up) === "label" || tagOf(up) === "summary") return false;
  for (let one = el; one && one !== up; one = parentOf(one)) if (hasLike(one, nextOf) || hasLike(one, lastOf)) return true;
  return false;
}
const NEAR = 8;
function hasLike(el, step) {
  for (let kid = step(el), left = NEAR; kid && left; kid = step(kid), left--) {
    if (tagOf(kid) === tagOf(el) && clean(textContentOf(kid))) return true;
  }
  return false;
}
// An outer match that merely holds an inner one is not meant.
function innermost(list) {
  const outer = new Set();
  for (const el of list) for (let up = parentOf(el); up && !outer.has(up); up = parentOf(up)) outer.add(up);
  return list.filter((el) => !outer.has(el));
}

// What elements say, as it stands in the page: neither the source of scripts nor what they hold in store. Only those that
// have such a thing in them are read piece by piece, the inner ones first, so that each piece is read once.
const UNSAID = "script,style,noscript,datalist";
function saying(roots) {
  const depths = new Map();
  for (const root of roots) {
    for (const el of query(root, UNSAID)) {
      const path = [];
      let up = parentNodeOf(el);
      for (; up && isElement(up) && !depths.has(up); up = parentNodeOf(up)) path.push(up);
      let depth = depths.get(up) || 0;
      for (const one of path.reverse()) depths.set(one, ++depth);
    }
  }
  const texts = new Map();
  const said = (node) => texts.get(node) ?? (typeOf(node) === 1 && matches(node, UNSAID) ? "" : textContentOf(node));
  for (const [el] of [...depths].sort((a, b) => b[1] - a[1])) {
    let text = "";
    for (let kid = firstChildOf(el); kid; kid = nextSiblingOf(kid)) if (typeOf(kid) === 1 || typeOf(kid) === 3) text += said(kid);
    texts.set(el, text);
  }
  return said;
}
// The smallest elements whose text passes; a larger one passes whenever one in it does.
function smallestWith(test, roots = allRoots()) {
  const said = saying(roots);
  const shadowed = aroundShadows(roots);
  const known = new Map();
  const holds = (el) => {
    if (!known.has(el)) known.set(el, test(said(el)));
    return known.get(el);
  };
  const found = [];
  const stack = [bodyOf(document) || htmlOf(document)];
  while (stack.length && found.length < 2000) {
    const el = stack.pop();
    if (!el || SILENT.has(tagOf(el))) continue;
    const here = holds(el);
    if (!here && !shadowed.has(el)) continue;
    const kids = kidsOf(el).filter((kid) => isElement(kid) && !SILENT.has(tagOf(kid)));
    const inner = kids.filter((kid) => holds(kid) || shadowed.has(kid));
    if (here && !inner.some(holds) && tagOf(el) !== "select" && tagOf(el) !== "textarea") found.push(el);
    for (let i = inner.length - 1; i >= 0; i--) stack.push(inner[i]);
  }
  return found;
}
// Elements that have a shadow root, and all that these are in.
function aroundShadows(roots) {
  const around = new Set();
  for (const root of roots.slice(1)) for (let el = root.host; el && !around.has(el); el = parentOf(el)) around.add(el);
  return around;
}

// Candidates for "not found": names, ids and classes that share letters with what was asked for.
ph.nearest = (target, limit = 5) => withNames(() => {
  const want = target.replace(RESERVED, "").replace(/\[name=/, " ").toLowerCase();
  const grams = gramsOf(want);
  const scored = [];
  let looked = 0;
  for (const el of everyElement()) {
    if (looked++ > 20000 || !isActionable(el) || !isRendered(el)) continue;
    const own = `${calledOf(el)} ${attr(el, "id") || ""} ${attr(el, "class") || ""} ${attr(el, "name") || ""} ${roleOf(el)} ${tagOf(el)}`.toLowerCase();
    const score = likeness(grams, gramsOf(own.slice(0, 300)));
    if (score > 0.15) scored.push([score, el]);
  }
  scored.sort((a, b) => b[0] - a[0]);
  return scored.slice(0, Math.min(limit, 5)).map(([, el]) => {
    const role = roleOf(el);
    const name = calledOf(el) || hintOf(el);
    return { role: WIDGETS.has(role) ? role : "clickable", name: cut(name, 80), ref: refs.mark(refs.of(el)) };
  });
});
function gramsOf(text) {
  const grams = new Set();
  for (const word of text.split(/[^\p{L}\p{N}]+/u)) for (let i = 0; i < word.length; i++) grams.add(word.slice(i, i + 3));
  return grams;
}
function likeness(want, have) {
  let shared = 0;
  for (const gram of want) if (have.has(gram)) shared++;
  return want.size ? shared / want.size : 0;
}
