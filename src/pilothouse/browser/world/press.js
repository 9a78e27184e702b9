// Press: where a press really goes. Hovering, or a page that moves, may put something else under the pointer than what was
// looked at: such a press is kept from the page.
// Above: act.js, aim.js, wait.js. Below: clickable.js, visible.js.

const AIMED_MS = 1000;    // between the look and the press, by the time at which that was given to the browser
const KEPT_MS = 10000;    // where nobody asks what has come of it
let aimed = null;         // { el, n, own, x, y, until }: looked at, and not pressed yet
let press = null;         // { el, left, by, at, until, down, up, clicked }: what has come of it; `by` is what lay there instead

// One that was aimed and never came is forgotten: what a person presses later, or elsewhere, was not meant by it.
function expectPress(el, spot) {
  press = null;
  if (!el) { aimed = null; return; }
  const { x, y } = spot;
  const n = refs.unasked(() => refs.of(el));
  aimed = { el, n, own: controlAt(deepHit(x, y) || el, el) === el, x, y, until: performance.now() + AIMED_MS };
}
function isMissed(hit, { el, n, own }) {
  if (!connectedOf(el)) {
    const twin = refs.twin(n);   // hovering has drawn it anew
    return !twin || !lands(hit, twin);
  }
  if (!lands(hit, el)) return true;
  const control = controlAt(hit, el);
  return own && control !== el && hasEffect(control);   // a row has shown its "Delete" there
}
function begun({ clientX, clientY, button }) {
  const hit = deepHit(clientX, clientY);
  const by = hit && isMissed(hit, aimed) ? brief(hit) : "";
  const at = { x: clientX, y: clientY };
  press = { el: aimed.el, left: button === 0, by, at, until: performance.now() + KEPT_MS, down: null, up: false, clicked: false };
  aimed = null;
}
// Where the button is let go over something else, the click goes to what both lie in. Of a shadow root we hear its host.
const isClickOn = (target, el) => isElement(target) && (lands(target, el) || (!!shadowOf(target) && composedContains(target, el)));
const isNear = ({ clientX, clientY }, { x, y }) => Math.hypot(clientX - x, clientY - y) < 2;   // some tell parts of pixels
const DOWN = words("pointerdown mousedown");
const onPress = (event) => {
  const { type, isTrusted } = event;
  if (!isTrusted) return;
  if (DOWN.has(type)) {
    if (aimed && (event.timeStamp > aimed.until || !isNear(event, aimed))) aimed = null;
    if (press && (performance.now() > press.until || !isNear(event, press.at))) press = null;
    if (aimed) begun(event);
  }
  if (!press) return;
  if (type === "mousedown") press.down = event;
  press.up = press.up || (type === "mouseup" && isNear(event, press.at));   // else it was a drag
  press.clicked = press.clicked || (type === "click" && isClickOn(event.target, press.el));
  if (!press.by) return;
  if (type !== "pointerdown" && !type.startsWith("touch")) event.preventDefault();   // that would keep us from hearing of the rest
  event.stopImmediatePropagation();
};
const PRESSES = words("pointerdown mousedown pointerup mouseup click auxclick dblclick contextmenu touchstart touchend touchcancel");
const hearPresses = () => { for (const kind of PRESSES) addEventListener(kind, onPress, true); };

// What was wrong with the press: it was kept from what lay there, a frame took it, or no click has come of it, because
// something else stood at its place when the button was let go. A page that has taken the press itself wants no click.
function missed() {
  const over = aimed ? deepHit(aimed.x, aimed.y) : press && press.left && press.up && !press.clicked ? deepHit(press.at.x, press.at.y) : null;
  let told = null;
  if (aimed && over && (tagOf(over) === "iframe" || tagOf(over) === "frame") && !lands(over, aimed.el)) told = { by: brief(over), kept: false };
  else if (press && press.by) told = { by: press.by, kept: true };
  else if (press && over && !lands(over, press.el) && tagOf(press.el) !== "select" && !(press.down && press.down.defaultPrevented)) told = { by: "", kept: false };
  expectPress(null);
  return told;
}
