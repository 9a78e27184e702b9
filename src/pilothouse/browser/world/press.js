// Press: where a press really goes. Hovering, or a page that moves, may put something else under the pointer than what was
// looked at: such a press is kept from the page.
// Above: act.js, aim.js, wait.js. Below: clickable.js, visible.js.

const KEPT_MS = 500;   // so long a press lasts, or two in a row
let aimed = null;      // { el, own, x, y }: looked at, and not pressed yet
let press = null;      // { el, left, by, at, until, up, clicked }: what has come of it; `by` is what came under the pointer

// One that was aimed and never came is forgotten: what a person presses later was not meant by it.
function expectPress(el, spot) {
  press = null;
  aimed = el ? { el, own: controlAt(deepHit(spot.x, spot.y) || el, el) === el, x: spot.x, y: spot.y } : null;
}
function isMissed(hit, { el, own }) {
  if (!lands(hit, el)) return true;
  const control = controlAt(hit, el);
  return own && control !== el && hasEffect(control);   // a row has shown its "Delete" there
}
function begun({ clientX, clientY, button }) {
  const hit = deepHit(clientX, clientY);
  const by = hit && isMissed(hit, aimed) ? brief(hit) : "";
  const at = { x: clientX, y: clientY };
  press = { el: aimed.el, left: button === 0, by, at, until: performance.now() + KEPT_MS, up: false, clicked: false };
  aimed = null;
}
// Where the button is let go over something else, the click goes to what both lie in. Of a shadow root we hear its host.
const isClickOn = (target, el) => isElement(target) && (lands(target, el) || (!!shadowOf(target) && composedContains(target, el)));
const isNear = ({ clientX, clientY }, { x, y }) => Math.hypot(clientX - x, clientY - y) < 2;   // some tell parts of pixels
const onPress = (event) => {
  const { type, isTrusted } = event;
  if (!isTrusted) return;
  if (aimed && (type === "pointerdown" || type === "mousedown")) begun(event);
  if (!press) return;
  press.up = press.up || (type === "mouseup" && isNear(event, press.at));   // else it was a drag
  press.clicked = press.clicked || (type === "click" && isClickOn(event.target, press.el));
  if (!press.by || performance.now() > press.until) return;
  if (type !== "pointerdown") event.preventDefault();   // that would keep us from hearing of the rest
  event.stopImmediatePropagation();
};
const PRESSES = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
const hearPresses = () => { for (const kind of PRESSES) addEventListener(kind, onPress, true); };

// What was wrong with the press: it was kept from what lay there, a frame took it, or no click has come of it, as where
// something else stands at its place when the button is let go.
function missed() {
  const over = aimed && deepHit(aimed.x, aimed.y);
  let told = null;
  if (over && (tagOf(over) === "iframe" || tagOf(over) === "frame") && !lands(over, aimed.el)) told = { by: brief(over), kept: false };
  else if (press && press.by) told = { by: press.by, kept: true };
  else if (press && press.left && press.up && !press.clicked && tagOf(press.el) !== "select") told = { by: "", kept: false };
  expectPress(null);
  return told;
}
