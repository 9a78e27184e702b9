// Title: told to the daemon as soon as it stands and whenever it changes, so that nobody has to ask a page that is busy.
// Above: browser/entrance.py, through a binding that exists in this world only. Below: nothing, it comes before the
// walker. Until it comes, herald.js tells the title.

if (window === window.top) {
  const reader = (name) => { const get = Object.getOwnPropertyDescriptor(Document.prototype, name).get; return () => get.call(document); };
  const title = reader("title"), state = reader("readyState"), root = reader("documentElement"), head = reader("head");
  let told = null, watched = null;
  const tell = () => { const now = title().slice(0, 2000); if (now !== told && typeof phTitle === "function") phTitle(told = now); };
  // The head and what it hangs from, not the page: what changes there by the thousand is nothing to us.
  const observer = new MutationObserver(() => { follow(); tell(); });
  const follow = () => {
    if (watched === head()) return;
    watched = head();
    observer.disconnect();
    for (const node of [document, root()]) if (node) observer.observe(node, { childList: true });
    if (watched) observer.observe(watched, { childList: true, characterData: true, subtree: true });
  };
  const arrive = () => { told = null; follow(); tell(); };
  if (state() !== "loading") arrive();
  for (const moment of ["DOMContentLoaded", "load"]) addEventListener(moment, arrive, { once: true, capture: true });
}
