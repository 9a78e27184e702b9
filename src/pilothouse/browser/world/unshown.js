// Unshown: what a text would find if it were drawn, and what a person would press to see it.
// Above: the daemon (nothing matches). Below: locate.js, visible.js, act.js.

const UNSHOWN_MAX = 10;
const NEVER = "input[type=hidden],iframe,frame,head *,noscript *";   // nobody can open these
const SPEAKING = ["aria-label", "title", "placeholder", "alt"];
ph.unshown = (target) => withNames(() => {
  const want = clean(wordsIn(target)).toLowerCase();
  if (!want) return [];
  const has = (text) => isWordsOf(clean(text).toLowerCase(), want, true);
  const said = smallestWith((text) => clean(text).toLowerCase().includes(want)).filter((el) => has(textContentOf(el)));
  const called = allRoots().flatMap((root) => [...query(root, SPEAKING.map((name) => `[${name}]`).join())])
    .filter((el) => SPEAKING.some((name) => has(attr(el, name) || "")));
  return [...said, ...called].filter((el) => !isRendered(el) && !matches(el, NEVER) && !SILENT.has(tagOf(el))).slice(0, UNSHOWN_MAX)
    .map((el) => ({ n: refs.of(el), opener: asOpener(openerOf(el)) }));
});
function wordsIn(target) {
  const role = /^\s*role=(.*)$/s.exec(target);
  const named = role && ROLE_TARGET.exec(role[1].trim());
  const spec = role ? (named && (named[2] ?? named[3] ?? named[6])) || "" : target.trim().replace(/^(text|label)=/, "");
  return spec.trim().replace(/^"([\s\S]*)"$/, "$1");
}

// Of each part that is not drawn: its summary, the tab that names it, or what says that it controls it.
function openerOf(el) {
  const select = closestComposed(el, (up) => tagOf(up) === "select");
  if (select && isRendered(select)) return select;
  for (let up = el; up && !isRendered(up); up = parentOf(up)) {
    const around = parentOf(up);
    const summary = around && tagOf(around) === "details" && kidsOf(around).find((kid) => tagOf(kid) === "summary");
    const found = [summary, ...listedIn(up, "aria-labelledby"), ...controllersOf(up)].find((one) => one && isRendered(one) && isActionable(one));
    if (found) return found;
  }
  return null;
}
const POINTS_AT = ["aria-controls", "popovertarget", "commandfor", "aria-details"];
const AIMS_AT = ["href", "data-target", "data-bs-target"];
function controllersOf(el) {
  const id = attr(el, "id");
  if (!id) return [];
  const quoted = CSS.escape(id);
  const css = [...POINTS_AT.map((name) => `[${name}~="${quoted}"]`), ...AIMS_AT.map((name) => `[${name}="#${quoted}"]`)];
  return [...query(rootOf(el), css.join())].slice(0, 5);
}
const asOpener = (el) => (el ? { ref: refs.mark(refs.of(el)), ...named(el) } : null);
