// Aim: what an action points at, as the policy judges it; and its seal, by which the same thing is known again.
// Above: browser/aim.py, and act.js and fill.js, which refuse what is not as it was judged.
// Below: dom.js, roles.js, names.js, states.js, clickable.js, act.js, fill.js.
// A press is judged by everything it sets off: the control around or inside the place, a label's control, a link, a
// form. Bounded: so many characters of each text, so many fields of each form.

const AIM_CHARS = 200;
const AIM_URL = 500;
const AIM_FIELDS = 500;
const AIM_LEVELS = 40;
const linkOf = getter(HTMLAnchorElement.prototype, "href");
const areaLinkOf = getter(HTMLAreaElement.prototype, "href");
const formActionOf = getter(HTMLFormElement.prototype, "action");
const formPartsOf = getter(HTMLFormElement.prototype, "elements");
const buttonTypeOf = getter(HTMLButtonElement.prototype, "type");
const buttonActionOf = getter(HTMLButtonElement.prototype, "formAction");
const inputActionOf = getter(HTMLInputElement.prototype, "formAction");
const OWNERS = [HTMLButtonElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement].map((kind) => [kind, getter(kind.prototype, "form")]);
const FIELD_CSS = "input:not([type=hidden]):not([type=checkbox]):not([type=radio]):not([type=submit]):not([type=button]),textarea,select,iframe";
const CARD = /\bcc-?(number|num|csc|cvc|cvv|exp)|(card|carte|karten?|tarjeta|carta|cart[aã]o|kaart).{0,4}(number|nummer|numero|num|no\b|cvc|cvv|code|holder)|\b(cvv2?|cvc2?|csc)\b|credit.?card|kreditkart|pr(ue|ü)fnummer/i;
// Frames of payment say what they are, or come from who makes such; that a path speaks of cards says nothing.
const CARD_FRAME = /\b(credit|debit|secure|bank)?.?card (number|payment|data|details|expir|security|input|frame|field)|\bpayments?\b|\bcheckout\b|\bcv[cv]\b|hosted.?field|stripe|adyen|braintree|klarna|paypal/i;
const CARD_PLACE = /^[a-z]+:\/\/([^/]*\.)?(stripe|stripecdn|adyen|braintree\w*|klarna\w*|paypal\w*|square\w*|checkout|worldpay|mollie|payments?|pay)\.|\/(payments?|checkout|hosted.?fields?)\b/i;
const ONE_TIME = /one-time-code|\b(otp|totp|2fa|mfa)\b|verification.?code/i;

function formOwner(el) {
  for (const [kind, formOf] of OWNERS) if (el instanceof kind) return formOf(el);
  return null;
}
const isSubmitter = (el) => el instanceof HTMLButtonElement ? buttonTypeOf(el) === "submit" : el instanceof HTMLInputElement && /^(submit|image)$/.test(inputTypeOf(el));
const isLink = (el) => (tagOf(el) === "a" || tagOf(el) === "area") && (hasAttr(el, "href") || hasAttr(el, "xlink:href"));

// What Enter in a field presses; a text area or a form without a button is judged by the first one, too.
function defaultButton(el) {
  const form = formOwner(el);
  if (!form) return null;
  const parts = formPartsOf(form);
  for (let i = 0; i < parts.length && i < AIM_FIELDS; i++) if (isSubmitter(parts[i]) && !isDisabled(parts[i])) return parts[i];
  return form;
}

function leadsTo(el) {
  if (el instanceof HTMLAnchorElement) return linkOf(el);
  if (el instanceof HTMLAreaElement) return areaLinkOf(el);
  if (isLink(el)) return attr(el, "href") || attr(el, "xlink:href");
  if (el instanceof HTMLFormElement) return formActionOf(el);
  const form = isSubmitter(el) ? formOwner(el) : null;
  if (!form) return "";
  if (!hasAttr(el, "formaction")) return formActionOf(form);
  return el instanceof HTMLButtonElement ? buttonActionOf(el) : inputActionOf(el);
}

// What is at stake in a field: "password", "card", "code", "file".
function stakeOf(field) {
  if (tagOf(field) === "iframe") {
    const [from, ...said] = ["src", "title", "name", "aria-label"].map((name) => (attr(field, name) || "").slice(0, 300));
    return CARD_FRAME.test(said.join(" ")) || CARD_PLACE.test(from.split(/[?#]/)[0]) ? "card" : "";
  }
  if (!(field instanceof HTMLInputElement)) return "";
  const told = ["autocomplete", "name", "id", "placeholder"].map((name) => (attr(field, name) || "").slice(0, 100));
  const said = [...told, nameOf(field).slice(0, 100)].join(" ");
  if (CARD.test(said)) return "card";
  if (ONE_TIME.test(said)) return "code";
  if (isSecret(field)) return "password";
  return inputTypeOf(field) === "file" && (filesOf(field) || []).length ? "file" : "";
}

// The fields that are sent with a press: those of its form, or, where there is no form, of the nearest box with any that
// are in none either, or in one that has no button of its own. Who stands in a page's head, foot or margin sends nothing
// of what is outside of these; a text that nobody can press sends nothing of the form it stands in.
const MARGIN = words("header footer nav aside body");
const formAround = (el) => formOwner(el) || closestComposed(el, (up) => up instanceof HTMLFormElement);
const sendsItself = (form) => [...formPartsOf(form)].slice(0, AIM_FIELDS).some(isSubmitter);
function isPressed(el) {
  const at = closestComposed(el, (up) => up instanceof HTMLFormElement || (isActionable(up) && tagOf(up) !== "label"));
  return !!at && !(at instanceof HTMLFormElement);
}
function sentWith(el) {
  const form = el instanceof HTMLFormElement ? el : isPressed(el) ? formAround(el) : null;
  if (form) {
    const parts = formPartsOf(form);
    const own = [];
    for (let i = 0; i < parts.length && i < AIM_FIELDS; i++) own.push(parts[i]);
    return [...own, ...[...queryIn(form, "iframe")].slice(0, 20)];
  }
  const around = formAround(el);
  const isLoose = (field, form = formAround(field)) => !form || (form !== around && !sendsItself(form));
  for (let up = parentOf(el), i = 0; up && i < AIM_LEVELS; up = parentOf(up), i++) {
    const near = [...queryIn(up, FIELD_CSS)].slice(0, 10 * AIM_FIELDS).filter((field) => isLoose(field));
    if (near.length) return near.slice(0, AIM_FIELDS);
    if (MARGIN.has(tagOf(up))) return [];
  }
  return [];
}

function kindOfAim(el) {
  if (el instanceof HTMLInputElement) return inputTypeOf(el);
  if (el instanceof HTMLButtonElement) return isSubmitter(el) && !formOwner(el) ? "button" : buttonTypeOf(el);
  return isLink(el) && hasAttr(el, "download") ? "download" : tagOf(el);
}

// A document without an address of its own is its maker's.
const ownAddress = () => (location.protocol === "about:" && origin !== "null" ? origin : location.href).slice(0, AIM_URL);

// What it is called, and what a person reads on it if that is something else; not what its fields hold: who types there
// makes it nothing else.
function asSeen(el) {
  const name = calledOf(el);
  const read = clean(readText(el, 400, { values: false }));
  return !read || name.includes(read) ? name : name ? `${cut(name, AIM_CHARS / 2)} / ${read}` : read;
}

function sightOf(el) {
  const role = roleOf(el);
  const field = !!kindOf(el) || el instanceof HTMLOptionElement;
  const acts = !field && !isCaption(el) && !(isLink(el) && /^https?:/.test(leadsTo(el)));
  const purpose = ["autocomplete", "name", "id"].map((name) => attr(el, name) || "").filter(Boolean).map((one) => one.slice(0, 100)).join(" ");
  const name = field ? calledOf(el) : asSeen(el);
  return {
    role: el instanceof HTMLFormElement ? "form" : role, name: cut(name, AIM_CHARS), kind: kindOfAim(el),
    purpose: cut(clean(name || field ? purpose : `${purpose} ${hintOf(el)}`), AIM_CHARS), url: ownAddress(),
    form: acts ? [...new Set(sentWith(el).map(stakeOf).filter(Boolean))].sort().join(",") : "",
    leads_to: leadsTo(el).slice(0, AIM_URL),
  };
}

// A label gives its field the focus, and sends nothing.
const isCaption = (el) => el instanceof HTMLLabelElement && !!controlOf(el) && !!kindOf(controlOf(el));

// A question that the pressed button answers: "Delete the repository?" Its name, or its first heading.
function dialogSight(el) {
  const box = closestComposed(el, (up) => tagOf(up) === "dialog" || /^(alert)?dialog$/.test(attr(up, "role") || ""));
  if (!box || box === el) return null;
  const heading = nameOf(box) ? null : queryIn(box, "h1,h2,h3,h4,[role=heading]")[0];
  const name = nameOf(box) || (heading ? readText(heading, 400) : "");
  return name ? { role: "dialog", name: cut(name, AIM_CHARS), kind: "dialog", purpose: "", url: ownAddress(), form: "", leads_to: "" } : null;
}

const activates = (up) => isLink(up) || tagOf(up) === "button" || tagOf(up) === "label" || tagOf(up) === "summary" || isSubmitter(up);

// Everything that a press on the element, landing at the spot, sets off; the nearest first.
function pressed(el, spot) {
  const hit = spot && !spot.fail ? deepHit(spot.x, spot.y) : null;
  const inner = hit ? controlAt(hit, el) : el;
  const first = inner !== el ? inner : closestComposed(el, isActionable) || el;
  const found = [first];
  const add = (one) => { if (one && !found.includes(one)) found.push(one); };
  add(closestComposed(first, activates));
  for (const one of [...found]) if (one instanceof HTMLLabelElement) add(controlOf(one));
  return found;
}

const sealed = (sights) => JSON.stringify(sights);
const pressSights = (el, spot) => withNames(() => [...pressed(el, spot).map(sightOf), dialogSight(el)].filter(Boolean));
const fillSights = (el) => withNames(() => [sightOf(fieldOf(el))]);
const enterSights = (el) => withNames(() => {
  const button = kindOf(el) ? defaultButton(el) : null;
  return [...(button ? [sightOf(button)] : kindOf(el) ? [] : pressed(el, null).map(sightOf)), dialogSight(el)].filter(Boolean);
});
// What was judged is what it is still: the element itself, and all that is told of it.
const isAsJudged = (seal, sights) => !seal || seal === sealed(sights);

// For each ref: what a press on it, or a value put into it, means. `enter` tells what Enter in it means besides.
ph.aims = (numbers, { fills = false, enter = false } = {}) => withNames(() => numbers.map((n) => {
  const found = living(n);
  if (found.fail) return found;
  const el = found.el;
  const sights = fills ? fillSights(el) : pressSights(el, insideView(rectOf(el)) ? pressable(el) : null);
  const then = enter ? enterSights(fieldOf(el)) : [];
  return { local: found.twin || n, twin: found.twin, sights, seal: sealed(sights), then, enterSeal: sealed(then) };
}));
// The same of one that is about to be pressed, with where to press: both in one breath, so that a press that nobody has to
// be asked about needs no second look. Without a spot it is not ready yet.
ph.aimToPress = async (n) => {
  const [aim] = ph.aims([n]);
  if (aim.fail) return aim;
  const spot = await ph.check(aim.local, { waitMs: 0 });
  if (spot.fail) return aim;
  const sights = pressSights(refs.get(aim.local), spot);
  return { ...aim, sights, seal: sealed(sights), spot };
};
// What may hold a page is looked into first: only if there is none, the rest of the answer counts.
const perhapsIn = (el, at = {}) => (mayHoldPage(tagOf(el)) ? { frame: refs.of(el), ...at } : {});
// What keys go to now. A frame that holds the focus is told by its element's ref: its own world has to be asked.
ph.focusAim = ({ enter = false } = {}) => withNames(() => {
  expectPress(null);
  unguard();
  watchInputs();
  const el = focusedElement();
  if (!el) return { sights: [], seal: "[]", enterSeal: "[]" };
  if (holdsFrame(el)) return { frame: refs.of(el) };
  const sights = [sightOf(el)];
  const then = enter ? enterSights(el) : [];
  return { ...perhapsIn(el), local: refs.of(el), field: !!kindOf(el), sights: enter ? [...sights, ...then] : sights, seal: sealed([refs.of(el), sights, then]), enterSeal: sealed(then) };
});
// What is given to a field that the browser named, as to that of an open file chooser.
ph.fieldAim = (el) => withNames(() => [sightOf(el)]);
// What lies at a point of this frame.
ph.pointAim = (x, y) => withNames(() => {
  const el = deepHit(x, y);
  if (!el) return { sights: [], seal: "[]" };
  if (holdsFrame(el)) return { frame: refs.of(el) };
  const sights = pressSights(el, null);
  return { ...perhapsIn(el), sights, seal: sealed([refs.of(el), sights]) };
});
