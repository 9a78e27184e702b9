// A registered secret goes straight into one field of one document. Typing would send it to whatever has the focus, and
// a page around a frame may move that between any two commands.
// Above: browser/confide.py. Below: dom.js, states.js, act.js, fill.js, aim.js.

const setArea = uncurry(Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set);
const hides = (el) => el instanceof HTMLInputElement && inputTypeOf(el) === "password";

// Who would get it: the origin is the document's own (about:srcdoc has its parent's, a sandboxed frame none).
ph.receiver = (n, { seal = "" } = {}) => {
  const found = living(n, seal);
  if (found.fail) return found;
  if (!isAsJudged(seal, fillSights(found.el))) return { fail: "changed", ...named(found.el) };
  const el = fieldOf(found.el);
  const kind = kindOf(el);
  const written = el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement;
  const fail = unfit(el, kind) || (kind === "text" && written ? undefined : "no_secret");
  return { origin: self.origin, hides: hides(el), ref: refs.of(el), twin: found.twin, fail, ...named(el) };
};

ph.confide = (n, value, { clear, anywhere, origin, seal = "" }) => {
  const el = refs.get(n);
  if (!el || !connectedOf(el)) return { fail: "detached" };
  if (!isAsJudged(seal, fillSights(el))) return { fail: "changed", ...named(el) };
  begin(el);
  if (!insideView(rectOf(el))) toMiddle(el);
  focusOn(el, { preventScroll: true });
  // The page has heard of the focus and may have changed the field: what counts is what it is now.
  if (self.origin !== origin || !connectedOf(el) || unfit(el, "text")) return { fail: "detached" };
  if (!hides(el) && !anywhere) return { fail: "plain" };
  secrets.add(el);
  const area = el instanceof HTMLTextAreaElement;
  const before = clear ? "" : area ? areaValueOf(el) : inputValueOf(el);
  (area ? setArea : setInput)(el, before + value);
  // As Chrome does when it fills in a password: pages that only listen to keys hear of it.
  const key = (type) => el.dispatchEvent(new KeyboardEvent(type, { key: "Unidentified", bubbles: true, composed: true }));
  key("keydown");
  announce(el, "input");
  key("keyup");
  announce(el, "change");
  const now = area ? areaValueOf(el) : inputValueOf(el);
  return { same: now === before + value, length: now.length };
};
