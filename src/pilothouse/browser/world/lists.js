// Lists that a page has drawn itself (comboboxes, listboxes, menus): what can be chosen in them once they are open.
// Above: browser/lists.py. Below: dom.js, roles.js, visible.js, states.js, act.js, fill.js.

const CHOICES = "[role=option],[role=menuitemradio],[role=menuitemcheckbox],[role=menuitem],[role=treeitem]";
const POPUPS = /^(listbox|menu|tree|grid|true)$/;
const opensList = (el) => /^(combobox|listbox)$/.test(roleOf(el)) || POPUPS.test(attr(el, "aria-haspopup") || "");
const isChosen = (el) => attr(el, "aria-selected") === "true" || checkedState(el, roleOf(el)) === "checked";
let stoodBefore = new WeakSet();

// Who opens the list: the element itself, or the one in it that says so.
function keeperOf(el) {
  if (opensList(el)) return el;
  const inside = [...queryIn(el, "[role=combobox],[role=listbox],[aria-haspopup]")].filter((one) => opensList(one) && isVisible(one));
  return inside.length === 1 ? inside[0] : el;
}
const choicesIn = (root) => [...queryIn(root, CHOICES)].filter(isVisible);
// Those in itself, in the list that it names, or that have come into sight since it was opened.
function choicesOf(keeper) {
  const own = choicesIn(keeper);
  if (own.length) return own;
  const ids = `${attr(keeper, "aria-controls") || ""} ${attr(keeper, "aria-owns") || ""}`.split(/\s+/).filter(Boolean);
  const named = ids.map((id) => byId(keeper, id)).filter(Boolean).flatMap(choicesIn);
  if (named.length) return named;
  return [...everyElement()].filter((el) => matches(el, CHOICES) && !stoodBefore.has(el) && isVisible(el));
}
// A list without roles: what came into sight since it was opened and says just this.
function newlySaid(want) {
  const holders = smallestWith((text) => clean(text).includes(want));
  return holders.filter((el) => clean(textContentOf(el)) === want && !stoodBefore.has(el) && isVisible(el));
}

ph.keepsList = (n, { seal = "" } = {}) => {
  const found = living(n, seal);
  if (found.fail) return found;
  if (seal && !isAsJudged(seal, fillSights(found.el))) return { fail: "changed", ...named(found.el) };
  const el = keeperOf(found.el);
  const open = roleOf(el) === "listbox" || attr(el, "aria-expanded") === "true";
  stoodBefore = new WeakSet(open ? [] : [...everyElement()].filter(isVisible));
  return {
    ref: refs.of(el), twin: found.twin, fail: isOff(el) ? "disabled" : undefined, opens: opensList(el), writes: kindOf(el) === "text",
    open, ...named(el),
  };
};
// The option that is called so, as soon as it is there; and all that could be chosen instead.
ph.choiceIn = async (n, wanted, waitMs) => {
  const want = clean(wanted), low = want.toLowerCase(), end = performance.now() + waitMs;
  for (;;) {
    const keeper = refs.get(n);
    if (!keeper || !connectedOf(keeper)) return { fail: "detached" };
    const all = choicesOf(keeper);
    const called = all.map((el) => clean(nameOf(el) || textContentOf(el)));
    let at = all.findIndex((el) => attr(el, "data-value") === wanted || attr(el, "value") === wanted);
    if (at < 0) at = called.indexOf(want);
    if (at < 0) at = called.findIndex((name) => name.toLowerCase() === low);
    const el = at >= 0 ? all[at] : all.length ? null : newlySaid(want)[0];
    if (el) return { ref: refs.of(el), name: called[at] || want, chosen: isChosen(el), off: isOff(el) };
    if (performance.now() >= end) return { ref: 0, options: called.slice(0, 50), total: called.length };
    await nextChange(Math.min(100, end - performance.now()));
  }
};
// Options of a list that takes several, which are chosen and not wanted any more.
ph.chosenIn = (n) => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return { many: false, chosen: [], open: false };
  const all = choicesOf(el);
  const many = all.some((one) => roleOf(one) === "menuitemcheckbox" || closestComposed(one, (up) => attr(up, "aria-multiselectable") === "true"));
  return { many, chosen: all.filter(isChosen).map((one) => ({ ref: refs.of(one), name: clean(nameOf(one) || textContentOf(one)) })), open: attr(el, "aria-expanded") === "true" };
};
