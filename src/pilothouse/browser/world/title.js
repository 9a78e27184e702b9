// Title: told to the daemon as soon as it stands, so that nobody has to ask a page that is busy arriving.
// Above: browser/tab.py, through a binding that exists in this world only. Below: nothing, it comes before the walker.

if (window === window.top) {
  const title = Object.getOwnPropertyDescriptor(Document.prototype, "title").get;
  const tell = () => { if (typeof phTitle === "function") phTitle(title.call(document)); };
  for (const moment of ["DOMContentLoaded", "load"]) addEventListener(moment, tell, { once: true, capture: true });
}
