// Values and states: what a control holds and how it stands. Passwords are never read out.
// Above: names.js, lines.js, text.js, locate.js. Below: dom.js, roles.js.

const MASK = "••••";
const inputValueOf = getter(HTMLInputElement.prototype, "value");
const areaValueOf = getter(HTMLTextAreaElement.prototype, "value");
const filesOf = getter(HTMLInputElement.prototype, "files");
const checkedOf = getter(HTMLInputElement.prototype, "checked");
const mixedOf = getter(HTMLInputElement.prototype, "indeterminate");
const optionsOf = getter(HTMLSelectElement.prototype, "options");
const pickedOf = getter(HTMLSelectElement.prototype, "selectedOptions");
const openDetailsOf = getter(HTMLDetailsElement.prototype, "open");

// Once a password, always one: "show password" turns the field into a plain one while the secret is in it.
const secrets = new WeakSet();
function isSecret(el) {
  if (secrets.has(el)) return true;
  if (!(el instanceof HTMLInputElement)) return false;
  const auto = attr(el, "autocomplete") || "";
  if (inputTypeOf(el) !== "password" && !/(current|new)-password|one-time-code|cc-csc/.test(auto)) return false;
  secrets.add(el);
  return true;
}

const optionText = (option) => clean(attr(option, "label") || textContentOf(option));
// Names of options among which the daemon looks for what was meant.
const toCompare = (names) => names.slice(0, 1000).map((name) => cut(name, 200));

function valueOf(el, role) {
  const tag = tagOf(el);
  if (el instanceof HTMLInputElement) {
    const type = inputTypeOf(el);
    if (type === "file") return [...(filesOf(el) || [])].map((file) => file.name).join(", ");
    const value = inputValueOf(el);
    return value && isSecret(el) ? MASK : value;
  }
  if (el instanceof HTMLTextAreaElement) return areaValueOf(el) && isSecret(el) ? MASK : areaValueOf(el);
  if (el instanceof HTMLSelectElement) return [...pickedOf(el)].slice(0, 20).map(optionText).join(", ");
  const spoken = attr(el, "aria-valuetext") || attr(el, "aria-valuenow");
  if (spoken) return spoken;
  if (tag === "progress" || tag === "meter") return hasAttr(el, "value") ? String(el.value) : "";
  if (role === "combobox" || role === "listbox") {
    const chosen = queryIn(el, '[role=option][aria-selected="true"]');
    if (chosen.length) return [...chosen].slice(0, 20).map((option) => clean(textContentOf(option))).join(", ");
    const inner = queryIn(el, "input")[0];
    return inner ? valueOf(inner, "textbox") : role === "combobox" ? readText(el, 200) : "";
  }
  return role === "textbox" || role === "searchbox" ? readText(el, 2000) : "";
}

const CHECKABLE = words("checkbox radio switch menuitemcheckbox menuitemradio");
// checked | mixed | "" for whatever can be checked.
function checkedState(el, role) {
  if (el instanceof HTMLInputElement && CHECKABLE.has(INPUTS[inputTypeOf(el)])) {
    return mixedOf(el) ? "mixed" : checkedOf(el) ? "checked" : "";
  }
  const value = attr(el, "aria-checked");
  if (value === "mixed") return role === "radio" || role === "switch" ? "" : "mixed";
  return value === "true" ? "checked" : "";
}

function isOff(el) {
  return isDisabled(el) || closestComposed(el, (up) => attr(up, "aria-disabled") === "true") !== null;
}

function statesOf(el, role, { focused, active }) {
  const out = [];
  const kind = kindOfField(el);
  if (kind) out.push(kind);
  const checked = checkedState(el, role);
  if (checked) out.push(checked);
  if (attr(el, "aria-selected") === "true") out.push("selected");
  const pressed = attr(el, "aria-pressed");
  if (pressed === "true") out.push("pressed");
  else if (pressed === "mixed") out.push("mixed");
  const summary = role === "button" && tagOf(el) === "summary";
  const expanded = summary ? String(openDetailsOf(parentNodeOf(el))) : attr(el, "aria-expanded");
  if (expanded === "true") out.push("expanded");
  else if (expanded === "false") out.push("collapsed");
  const current = attr(el, "aria-current");
  if (current && current !== "false") out.push("current");
  if (isDisabled(el) || attr(el, "aria-disabled") === "true") out.push("disabled");
  if (hasAttr(el, "required") || attr(el, "aria-required") === "true") out.push("required");
  const invalid = attr(el, "aria-invalid");
  if ((invalid && invalid !== "false") || (invalid !== "false" && LABELLED_FIELD.has(tagOf(el)) && matches(el, ":user-invalid"))) out.push("invalid");
  if (((role === "textbox" || role === "spinbutton" || role === "searchbox") && hasAttr(el, "readonly")) || attr(el, "aria-readonly") === "true") out.push("readonly");
  if (attr(el, "aria-busy") === "true") out.push("busy");
  if (el === focused) out.push("focused");
  if (el === active) out.push("active");
  return out;
}
// What the role does not say of a field, and who fills it has to know.
function kindOfField(el) {
  if (el instanceof HTMLTextAreaElement) return "multiline";
  if (el instanceof HTMLSelectElement) return hasAttr(el, "multiple") ? "multiple" : "";
  if (!(el instanceof HTMLInputElement)) return attr(el, "aria-multiline") === "true" ? "multiline" : "";
  const type = inputTypeOf(el);
  if (type === "password") return "password";
  return (type === "file" || type === "email") && hasAttr(el, "multiple") ? "multiple" : "";
}
const LABELLED_FIELD = words("input select textarea");
