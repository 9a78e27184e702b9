// Labels: a press on one is a press on its control, but not where a link or a button lies in it.
// Above: visible.js (where a press lands), act.js. Below: dom.js, names.js, roles.js, states.js, visible.js.

// What a label leaves its presses to (HTML: interactive content).
const TAKES_PRESS = "a[href],button,input:not([type=hidden]),select,textarea,summary,iframe,audio[controls],video[controls],img[usemap]";
const isChoice = (el) => el instanceof HTMLInputElement && /^(checkbox|radio)$/.test(inputTypeOf(el));

// What a press at `hit` would set off in the place of a label's control; `el` is the label or the control. What is a link
// or a button by its role alone passes the press on besides: it is one where a key does without it.
function strangerAt(hit, el) {
  const label = el instanceof HTMLLabelElement && controlOf(el) ? el : labelAt(hit, el);
  if (!label || !composedContains(label, hit)) return null;
  const control = controlOf(label);
  const byRole = isChoice(control) && isVisible(control);
  const takes = (up) => matches(up, TAKES_PRESS) || (byRole && /^(link|button)$/.test(roleOf(up)));
  const found = closestComposed(hit, (up) => up === label || up === control || takes(up));
  return found === label || found === control ? null : found;
}

// A point of a control's labels that is nobody else's: its own are taken.
function pointInLabel(el) {
  for (const label of labelsOf(el)) {
    for (const [x, y] of pointsOf(label, rectOf(label))) {
      const hit = deepHit(x, y);
      if (hit && labelAt(hit, el) && !strangerAt(hit, el)) return { x, y };
    }
  }
  return null;
}

// A checkbox or radio whose points are all taken by its label's links gets a key instead.
ph.focusChoice = (n, { seal = "" } = {}) => {
  const { el, fail } = living(n, seal);
  if (fail) return ph.focus(n, { seal });
  const spot = pressable(el);
  if (seal && !isAsJudged(seal, pressSights(el, spot))) return { fail: "changed", ...named(el) };
  const control = el instanceof HTMLLabelElement ? controlOf(el) : el;
  return isChoice(control) ? ph.focus(n) : { ...spot, ...named(el) };
};
