// Marks: numbers drawn over elements, for a picture or for a person.
// Above: browser/capture.py. Below: dom.js, refs.js. Drawn in a closed root of their own, so that no style of the
// page reaches them and no snapshot reads them.

let marksHost = null;

// The elements in view that a snapshot would number.
ph.inView = () => {
  const found = [];
  for (const [, text] of ph.snapshot({ margin: 0 }).lines) {
    for (const [, n] of text.matchAll(/\u0001(\d+)\u0001/g)) found.push(Number(n));
  }
  return found;
};

ph.drawMarks = (labels) => {
  ph.clearMarks();
  marksHost = createIn(document, "div");
  marksHost.style.cssText = "all:initial;position:fixed;inset:0;z-index:2147483647;pointer-events:none";
  const root = marksHost.attachShadow({ mode: "closed" });
  for (const [n, label] of labels) {
    const el = refs.get(n);
    if (!el || !connectedOf(el)) continue;
    const rect = rectOf(el);
    const box = createIn(document, "div");
    box.style.cssText = `position:fixed;left:${rect.left}px;top:${rect.top}px;width:${rect.width}px;height:${rect.height}px;outline:2px solid #e0006a;border-radius:2px`;
    const tag = createIn(document, "span");
    tag.textContent = label;
    tag.style.cssText = "position:absolute;left:-2px;top:-2px;transform:translateY(-100%);font:bold 11px/13px sans-serif;color:#fff;background:#e0006a;padding:0 3px;border-radius:2px 2px 0 0;white-space:nowrap";
    if (rect.top < 16) tag.style.transform = "none";
    box.append(tag);
    root.append(box);
  }
  htmlOf(document).append(marksHost);
  return labels.length;
};
ph.clearMarks = () => {
  if (marksHost) marksHost.remove();
  marksHost = null;
  return true;
};
