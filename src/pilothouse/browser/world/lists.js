// Lists that a page has drawn itself (comboboxes, listboxes, menus): what can be chosen in them once they are open.
// Above: browser/lists.py. Below: dom.js, roles.js, visible.js, states.js, act.js, fill.js.

const CHOICES = "[role=option],[role=menuitemradio],[role=menuitemcheckbox],[role=menuitem],[role=treeitem]";
const POPUPS = /^(listbox|menu|tree|grid|true)$/;
// One that has a value of its own, which a menu has not: its items do something.
const holdsValue = (el) => /^(combobox|listbox)$/.test(roleOf(el)) || attr(el, "aria-haspopup") === "listbox";
const opensList = (el) => holdsValue(el) || POPUPS.test(attr(el, "aria-haspopup") || "");
const isOpen = (el) => attr(el, "aria-expanded") === "true";
const isMarked = (el) => attr(el, "aria-selected") === "true" || checkedState(el, roleOf(el)) === "checked";
const isMany = (all) => all.some((one) => roleOf(one) === "menuitemcheckbox" || closestComposed(one, (up) => attr(up, "aria-multiselectable") === "true"));
let stoodBefore = null;  // what was in sight before we opened the list; null if we have not opened it

// Who opens the list: the element itself, or the one in it that says so.
function keeperOf(el) {
  if (opensList(el)) return el;
  const inside = [...queryIn(el, "[role=combobox],[role=listbox],[aria-haspopup]")].filter((one) => opensList(one) && isVisible(one));
  return inside.length === 1 ? inside[0] : el;
}
const choicesIn = (root) => [...queryIn(root, CHOICES)].filter(isVisible);
// Where its choices are if it says so: in itself, or in the lists that it names.
function listsOf(keeper) {
  const named = ["aria-controls", "aria-owns"].flatMap((name) => listedIn(keeper, name)).filter((el) => !composedContains(el, keeper));
  return roleOf(keeper) === "listbox" ? [keeper, ...named] : named;
}
const hasCome = (el) => stoodBefore && !stoodBefore.has(el) && isVisible(el);
// Those in itself, in the lists that it names, or that have come into sight since we opened it. Of one that was open
// already nobody can tell which others are its own.
function choicesOf(keeper) {
  const own = choicesIn(keeper);
  if (own.length) return own;
  const named = listsOf(keeper).flatMap(choicesIn);
  return named.length || !stoodBefore ? named : [...everyElement()].filter((el) => matches(el, CHOICES) && hasCome(el));
}
// A list without roles: what is in it, or came into sight since we opened it, and says just this.
function saidIn(keeper, want) {
  const lists = listsOf(keeper);
  const holders = lists.length || stoodBefore ? smallestWith((text) => clean(text).includes(want)) : [];
  return holders.find((el) => clean(textContentOf(el)) === want && (hasCome(el) || (isVisible(el) && lists.some((one) => one !== el && composedContains(one, el)))));
}

const calledIn = (el) => clean(nameOf(el) || textContentOf(el));
// In a list of one value the option is marked, too, that the keys have come to: which one is chosen its keeper says.
function isChosen(el, keeper, all) {
  if (!isMarked(el)) return false;
  const value = clean(valueOf(keeper, roleOf(keeper)) || textContentOf(keeper));
  return isMany(all) || roleOf(keeper) === "listbox" || value === calledIn(el);
}

ph.keepsList = (n, { seal = "" } = {}) => {
  const found = living(n, seal);
  if (found.fail) return found;
  if (seal && !isAsJudged(seal, fillSights(found.el))) return { fail: "changed", ...named(found.el) };
  const el = keeperOf(found.el);
  const open = isOpen(el) || (roleOf(el) === "listbox" && attr(el, "aria-expanded") !== "false");
  stoodBefore = open || !opensList(el) ? null : new WeakSet([...everyElement()].filter(isVisible));
  return {
    ref: refs.of(el), twin: found.twin, fail: isOff(el) ? "disabled" : undefined, opens: opensList(el), writes: kindOf(el) === "text",
    holds: holdsValue(el), open, known: listsOf(el).length > 0 || choicesIn(el).length > 0, ...named(el),
  };
};
// The option that is called so, as soon as it is there; and all that could be chosen instead.
ph.choiceIn = async (n, wanted, waitMs) => {
  const end = performance.now() + waitMs;
  for (;;) {
    const keeper = refs.get(n), began = performance.now();
    if (!keeper || !connectedOf(keeper)) return { fail: "detached" };
    const found = withNames(() => choiceNow(keeper, wanted));
    const cost = performance.now() - began;
    if (found.ref || performance.now() >= end) return found;
    if (cost > 4) await later(cost);  // a restless page must not spend all its time being looked at
    await nextChange(Math.min(100, end - performance.now()));
  }
};
function choiceNow(keeper, wanted) {
  const want = clean(wanted), low = want.toLowerCase();
  const all = choicesOf(keeper), called = all.map(calledIn);
  const valueIn = (el) => attr(el, "data-value") || attr(el, "value");
  let fit = all.filter((el) => valueIn(el) === wanted);
  if (!fit.length) fit = all.filter((el, at) => called[at] === want);
  if (!fit.length) fit = all.filter((el, at) => called[at].toLowerCase() === low);
  fit = innermost(fit);
  if (fit.some((el) => !isOff(el))) fit = fit.filter((el) => !isOff(el));
  const el = fit[0] || (all.length ? null : saidIn(keeper, want));
  if (!el) return { ref: 0, options: toCompare(called), total: all.length };
  const isOne = fit.every((one) => valueIn(one) ? valueIn(one) === valueIn(el) : one === el);  // shown twice, as among the latest ones
  return { ref: refs.of(el), name: fit.length ? calledIn(el) : want, chosen: isChosen(el, keeper, all), off: isOff(el), alike: isOne ? 1 : fit.length };
}
const saysChosen = (el) => hasAttr(el, "aria-selected") || hasAttr(el, "aria-checked");
// What is chosen in it now, and what is `marked` so if its options tell that at all; whether it takes several (`many`), or by what it says of its options just one (`one`).
ph.chosenIn = (n) => withNames(() => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return { many: false, one: false, chosen: [], marked: null, open: false };
  const all = choicesOf(el), many = isMany(all);
  const chosen = many ? all.filter(isMarked).map((one) => ({ ref: refs.of(one), name: calledIn(one) })) : [];
  return { many, one: !many && all.some((each) => roleOf(each) === "option"), chosen, marked: all.some(saysChosen) ? all.filter(isMarked).map(calledIn) : null, open: isOpen(el) };
});
