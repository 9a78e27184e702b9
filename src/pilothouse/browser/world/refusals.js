// Refusals: which fields keep the browser from sending a form, and what it says about them.
// Above: wait.js, whose ticks tell of them. Below: dom.js, act.js.

const MAX_REFUSALS = 20;
let refusals = [];
const noteRefusal = (event) => {
  const el = event.target;
  if (isElement(el) && refusals.length < MAX_REFUSALS && !refusals.includes(el)) refusals.push(el);
};
const noteSent = () => { refusals = []; };

// Asked for again at each action: `document.open()` takes all listeners away. What happens in a shadow root stays there.
function watchRefusals(el) {
  const root = el ? rootOf(el) : document;
  for (const place of root === document ? [globalThis] : [globalThis, root]) {
    place.addEventListener("invalid", noteRefusal, true);
    place.addEventListener("submit", noteSent, true);
  }
}
watchRefusals(null);

// Told once; a field that was mended meanwhile is no reason any more.
function refused() {
  const found = refusals.filter((el) => connectedOf(el) && el.validity && !el.validity.valid);
  refusals = [];
  return found.map((el) => ({ ...named(el), message: cut(clean(String(el.validationMessage || "")), 200) }));
}
