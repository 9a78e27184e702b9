// Drag and drop: did the browser begin a drag of its own, and did anything take the drop?
// Above: browser/drag.py. Below: dom.js.

let lifted = null;
let taken = false;
const noteLift = (event) => { lifted = event; };
const noteDrop = () => { taken = true; };
ph.watchDrag = () => {
  lifted = null;
  taken = false;
  addEventListener("dragstart", noteLift, true);
  addEventListener("drop", noteDrop, true);
  return true;
};
// A page that prevents `dragstart` moves things by pointer events alone.
ph.dragLifted = () => !!lifted && !lifted.defaultPrevented;
ph.dragEnded = () => {
  removeEventListener("dragstart", noteLift, true);
  removeEventListener("drop", noteDrop, true);
  return taken;
};
