// Filling: put a value into a control the way its page notices.
// Above: browser/fill.py. Below: dom.js, states.js, act.js.
// Text is typed by the browser (Input.insertText) into what is focused and selected here; controls that cannot be
// typed into get their value through the prototype's setter, which frameworks watch, and then input and change.

const setInput = uncurry(Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set);
const setOptionOn = uncurry(Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, "selected").set);
const optionValueOf = getter(HTMLOptionElement.prototype, "value");
const optionOnOf = getter(HTMLOptionElement.prototype, "selected");
const selectInput = uncurry(HTMLInputElement.prototype.select);
const selectArea = uncurry(HTMLTextAreaElement.prototype.select);
const multipleOf = getter(HTMLSelectElement.prototype, "multiple");
const readOnlyOf = getter(HTMLInputElement.prototype, "readOnly");
const areaReadOnlyOf = getter(HTMLTextAreaElement.prototype, "readOnly");

const maxLengthOf = getter(HTMLInputElement.prototype, "maxLength");
const suggestionsOf = getter(HTMLInputElement.prototype, "list");
const listOf = (el) => (el instanceof HTMLInputElement ? suggestionsOf(el) : null);

const TYPED = words("text search url tel email password number");

// The control itself, when a label, a wrapper or a custom element with one field was named.
function fieldOf(el) {
  if (el instanceof HTMLLabelElement && controlOf(el)) return controlOf(el);
  if (kindOf(el) || el === bodyOf(document)) return el;
  const inside = [...queryIn(el, "input, textarea, select, [contenteditable]")];
  const root = shadowOf(el);
  if (root) inside.push(...queryFragment(root, "input, textarea, select, [contenteditable]"));
  const fields = inside.filter((one) => kindOf(one) && isVisible(one));
  return fields.length === 1 ? fields[0] : el;
}

function kindOf(el) {
  if (el instanceof HTMLSelectElement) return "select";
  if (el instanceof HTMLTextAreaElement) return "text";
  if (el instanceof HTMLInputElement) {
    const type = inputTypeOf(el);
    if (type === "checkbox" || type === "radio") return "check";
    if (type === "file") return "file";
    if (["button", "submit", "reset", "image", "hidden"].includes(type)) return "";
    return TYPED.has(type) ? "text" : "set";
  }
  if (el instanceof HTMLElement && editableOf(el)) return "text";
  const role = roleOf(el);
  return role === "checkbox" || role === "switch" || role === "radio" ? "check" : "";
}

// What kind of field this is, focused and (to replace its text) selected, or why it cannot be filled.
// `keys`: it was named as what has the focus, and gets keys whatever it is.
// `guards`: the last key comes right behind the text, if this is a field whose caret stays where it was put.
ph.enter = async (n, { clear = true, value = "", waitMs = 1000, seal = "", keys = false, guards = false } = {}) => {
  const end = performance.now() + waitMs;
  for (;;) {
    const found = living(n, seal);
    if (found.fail) return found;
    const el = fieldOf(found.el);
    const kind = kindOf(el) || (keys ? "keys" : "");
    const answer = { kind, ref: refs.of(el), twin: found.twin, ...named(el) };
    if (seal && !isAsJudged(seal, fillSights(found.el))) return { ...answer, fail: "changed" };
    const fail = kind === "keys" ? (takesKeys(el) ? "" : "no_focus") : unfit(el, kind);
    if (!fail) {
      const counts = el instanceof HTMLInputElement && inputTypeOf(el) === "number";
      if (clear && counts && !acceptable(el, value.trim())) return { ...answer, fail: "refused", type: "number" };
      begin(el);
      if (kind === "text") {
        select(el, clear);
        // Keys go to the focus, and a page may have moved it on: into a frame, or a field that nobody judged.
        if (!takesKeys(el)) return { ...answer, fail: "no_focus" };
      }
      const stays = guards && (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) && !longestOf(el);
      if (stays) guardKey(el);
      // A part of an editor is written as a whole: where its own text ends is not where the new one does.
      const isPart = el instanceof HTMLElement && editableOf(el) && !isEditingHost(el);
      const check = kind === "check" ? { checked: checkedState(el, roleOf(el)) === "checked", once: isOnce(el) } : {};
      return { ...answer, guarded: stays, isPart, longest: longestOf(el), listed: !!listOf(el), ...check };
    }
    if (fail === "not_editable" || performance.now() >= end) return { ...answer, fail };
    await nextChange(Math.min(100, end - performance.now()));
  }
};

// Chosen once, only the choice of another takes it back.
const isOnce = (el) => roleOf(el) === "radio" || (el instanceof HTMLInputElement && inputTypeOf(el) === "radio");

// Of a text that is edited in place, the focus is at the whole of it.
function takesKeys(el) {
  const held = focusedElement() || bodyOf(document);   // which may be what is edited
  if (!held) return false;
  return composedContains(el, held) || (held instanceof HTMLElement && editableOf(held) && composedContains(held, el));
}

// A page may draw a field anew with each input. What has the focus then is the field, if it says the same of itself, and holds
// the same where it says nothing.
const SAYS = ["id", "name", "type", "aria-label", "placeholder", "autocomplete"];
function redrawn(el) {
  const now = focusedElement();
  if (!el || connectedOf(el) || !now || tagOf(now) !== tagOf(el) || kindOf(now) !== "text" || unfit(now, "text")) return null;
  if (!SAYS.every((name) => attr(now, name) === attr(el, name))) return null;
  const held = rawValueOf(el), holds = rawValueOf(now);   // the next step of a form may have a field of the same name, still empty
  return holds === held || (holds && (attr(now, "id") || attr(now, "name"))) ? now : null;
}
const rawValueOf = (el) => (el instanceof HTMLInputElement ? inputValueOf(el) : el instanceof HTMLTextAreaElement ? areaValueOf(el) : readText(el, 2000));

// Before the last key of a text: a page may have moved the focus on, to where the key would press or write something else.
// And what is edited in place has its caret a character before the end for each line break (M).
ph.goOn = (n) => {
  const known = refs.get(n), el = redrawn(known) || known;
  if (!el || !connectedOf(el)) return "gone";
  if (el !== known) select(el, false);
  const moved = !takesKeys(el);
  if (moved || (el instanceof HTMLElement && editableOf(el))) select(el, false);
  return moved ? (takesKeys(el) ? "moved" : "gone") : "";
};

// A key that is on its way behind a text: if the text has made the page move the focus on, whatever has it now is not
// given the key. In a frame nobody would see it: where there are any, the page is asked between the two.
let guarded = null;   // { el, pressed, kept }: for one key, however long a dialog holds it up
const keepKey = (event) => {
  if (!guarded || !event.isTrusted) return;
  if (event.type === "keydown") {
    if (guarded.pressed) { unguard(); return; }
    const now = redrawn(guarded.el);
    if (now) select(guarded.el = now, false);
    guarded.pressed = true;
    guarded.kept = !takesKeys(guarded.el);
  }
  if (!guarded.kept) return;
  event.preventDefault();
  event.stopImmediatePropagation();
};
const listens = (change) => { for (const kind of ["keydown", "keyup"]) change(kind, keepKey, true); };
function guardKey(el) {
  guarded = { el, pressed: false, kept: false };
  listens(addEventListener);
}
function unguard() {
  const kept = !!guarded && guarded.kept;
  if (guarded) listens(removeEventListener);
  guarded = null;
  return kept;
}
// What the field holds now, and whether the last key was kept from elsewhere.
ph.typed = (n) => ({ kept: unguard(), ...ph.value(n) });

const longestOf = (el) => (el instanceof HTMLInputElement && maxLengthOf(el) > 0 ? maxLengthOf(el) : undefined);

// Whether the next character of a row has a place: a field that the page has moved on to, whose text it replaces
// (`clear`), or the same one if the page has emptied it.
const MOVES_ON_MS = 100;
let lastOfRow = null;
ph.takeOver = async (done, clear) => {
  const end = performance.now() + MOVES_ON_MS;
  for (;;) {
    const el = focusedElement(), isField = el && longestOf(el) === 1;
    if (!done || el !== lastOfRow || !isField || !inputValueOf(el)) {
      if (done && clear && isField) selectInput(el);
      lastOfRow = el;
      return true;
    }
    if (performance.now() > end) return false;
    await later(4);
  }
};

function unfit(el, kind) {
  if (!kind) return "not_editable";
  if (kind !== "file" && kind !== "check" && !isVisible(el)) return "hidden";
  if (isOff(el)) return "disabled";
  const locked = el instanceof HTMLInputElement ? readOnlyOf(el) : el instanceof HTMLTextAreaElement && areaReadOnlyOf(el);
  return locked && kind === "text" ? "readonly" : "";
}

function select(el, clear) {
  if (!insideView(rectOf(el))) scrollTo(el, { block: "center", behavior: "instant" });
  focusOn(el, { preventScroll: true });
  if (el instanceof HTMLInputElement) {
    if (clear) selectInput(el);
    else if (inputTypeOf(el) !== "number" && inputTypeOf(el) !== "email") el.setSelectionRange(inputValueOf(el).length, inputValueOf(el).length);
  } else if (el instanceof HTMLTextAreaElement) {
    if (clear) selectArea(el);
    else el.setSelectionRange(areaValueOf(el).length, areaValueOf(el).length);
  } else {
    const range = createRangeIn(document);
    range.selectNodeContents(el);
    if (!clear) range.collapse(false);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }
}

ph.fileField = (n, { seal = "" } = {}) => {
  const { el, fail } = living(n, seal);
  if (fail) return { fail };
  if (seal && !isAsJudged(seal, fillSights(el))) return { fail: "changed", ...named(el) };
  const field = fieldOf(el);
  if (kindOf(field) !== "file") return { fail: "no_files", ...named(el) };
  return { ref: refs.of(field), multiple: hasAttr(field, "multiple"), accept: attr(field, "accept") || "", fail: isOff(field) ? "disabled" : undefined, ...named(field) };
};

const announce = (el, ...types) => types.forEach((type) => el.dispatchEvent(new Event(type, { bubbles: true, composed: true })));

// What a field of this type would make of a value, found out without touching the field: "" when it does not take it.
function tried(el, value) {
  const type = inputTypeOf(el);
  if (type === "color") return hexOf(value);
  if (type === "range") return value.trim() && Number.isFinite(Number(value)) ? value : "";
  const probe = createIn(document, "input");
  probe.type = type;
  setInput(probe, value);
  return inputValueOf(probe);
}
const acceptable = (el, value) => value === "" || tried(el, value) !== "";

// Any opaque CSS colour as #rrggbb. A canvas keeps the colour it has when it is given none: two begun differently agree.
function hexOf(value) {
  const [one, other] = ["#000000", "#ffffff"].map((start) => {
    const brush = new OffscreenCanvas(1, 1).getContext("2d");
    brush.fillStyle = start;
    brush.fillStyle = value;
    return brush.fillStyle;
  });
  return one === other && /^#[0-9a-f]{6}$/.test(one) ? one : "";
}

// Date, time, colour, range: no keys lead to a value reliably, so it is set and announced.
ph.put = (n, value) => {
  const el = refs.get(n);
  const type = inputTypeOf(el);
  if (!acceptable(el, value)) return { fail: "refused", type };
  focusOn(el, { preventScroll: true });
  setInput(el, value === "" ? "" : tried(el, value));
  announce(el, "input", "change");
  const now = inputValueOf(el);
  const same = now === value || (type === "range" && Number(now) === Number(value)) || (type === "color" && now === hexOf(value));
  return { value: now, same: same || value === "" };
};

// A select that nobody sees, though it is there: a widget shows something of its own in its place.
function isTucked(el) {
  const box = rectOf(el), style = getComputedStyle(el);
  return box.width <= 2 || box.height <= 2 || attr(el, "aria-hidden") === "true" ||
    !checkVisible(el, { opacityProperty: true }) ||
    /^rect\(([01]px,? ?){4}\)$/.test(style.clip) || /^inset\((5\d|100)%/.test(style.clipPath);
}

// Choose by value or label; every wanted option has to exist.
ph.choose = (n, wanted) => {
  const el = refs.get(n);
  if (!(el instanceof HTMLSelectElement)) return { fail: "not_select", ...named(el) };
  const options = [...optionsOf(el)];
  const labels = options.map((one) => optionText(one));
  if (!multipleOf(el) && wanted.length !== 1) return { fail: "single" };
  const tucked = isTucked(el);   // before the page has heard of the choice
  const chosen = [];
  for (const want of wanted) {
    const text = clean(String(want));
    let index = options.findIndex((one) => optionValueOf(one) === String(want));
    if (index < 0) index = labels.indexOf(text);
    if (index < 0) index = labels.findIndex((label) => label.toLowerCase() === text.toLowerCase());
    if (index < 0) return { fail: "no_option", wanted: text, options: toCompare(labels) };
    if (options[index].matches(":disabled")) return { fail: "option_disabled", wanted: text };
    chosen.push(index);
  }
  focusOn(el, { preventScroll: true });
  const before = options.map((one) => optionOnOf(one));
  const was = [...pickedOf(el)].map((one) => optionValueOf(one));
  options.forEach((one, index) => {
    if (multipleOf(el)) setOptionOn(one, chosen.includes(index));
    else if (chosen[0] === index) setOptionOn(one, true);
  });
  if (options.some((one, index) => optionOnOf(one) !== before[index])) announce(el, "input", "change");
  const meant = [...new Set(chosen)].sort((one, other) => one - other);
  return { names: meant.map((index) => labels[index]), values: meant.map((index) => optionValueOf(options[index])), was, tucked };
};

// Choose what a field's datalist suggests, by value or label.
ph.chooseListed = (n, wanted) => {
  const el = refs.get(n), want = clean(wanted), low = want.toLowerCase();
  const list = listOf(el);
  const all = [...(list ? queryIn(list, "option") : [])].filter((one) => optionValueOf(one));
  const found = all.find((one) => optionValueOf(one) === wanted) || all.find((one) => optionText(one) === want) ||
    all.find((one) => optionText(one).toLowerCase() === low || clean(optionValueOf(one)).toLowerCase() === low);
  if (!found) return { fail: "no_option", wanted: want, options: toCompare(all.map((one) => optionText(one) || clean(optionValueOf(one)))) };
  if (matches(found, ":disabled")) return { fail: "option_disabled", wanted: want };
  const chosen = optionValueOf(found);
  return { chosen, ...ph.put(n, chosen) };
};

// What the field holds now, for the result: pages may format, cut or refuse what was typed.
ph.value = (n) => {
  const known = refs.get(n), el = redrawn(known) || known;
  if (!el || !connectedOf(el)) return { gone: true };
  if (el instanceof HTMLSelectElement) return { value: valueOf(el, ""), picked: [...pickedOf(el)].map((one) => optionValueOf(one)) };
  if (kindOf(el) === "check") return { value: { checked: "true", mixed: "mixed" }[checkedState(el, roleOf(el))] || "false" };
  const raw = rawValueOf(el);
  return isSecret(el) ? { secret: true, length: raw.length } : { value: raw };
};
