// Herald: tells the title of a page that is being built, from the page's own world: to make one of ours would hold it up.
// Above: browser/entrance.py, by a function that only it knows. Below: nothing; what the page does to its prototypes later
// changes nothing here, and it finds no trace.

const tell = globalThis[name];
delete globalThis[name];
if (window === window.top && typeof tell === "function") {
  const { apply } = Reflect, { slice } = String.prototype;
  const title = Object.getOwnPropertyDescriptor(Document.prototype, "title").get;
  let told = null;
  const arrive = (event) => {
    const now = apply(slice, apply(title, document, []), [0, 2000]);
    if (event.isTrusted && now !== told) tell(told = now);
  };
  for (const moment of ["DOMContentLoaded", "load"]) addEventListener(moment, arrive, { once: true, capture: true });
}
