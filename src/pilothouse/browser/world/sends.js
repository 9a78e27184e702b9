// Sends: what sends the forms in view, wherever it lies: who fills a long form need not go and look for it.
// Above: snapshot.js. Below: tree.js, aim.js, names.js, refs.js, visible.js.

const MOST_FORMS = 20, MOST_SENDS = 2;
const formsOf = getter(Document.prototype, "forms");

// Told whether or not the walk met them: a line may still be cut off by the budget.
function sendsOf({ screen, full, modal }) {
  const out = [];
  if (full || modal) return out;
  for (const form of [...formsOf(document)].slice(0, MOST_FORMS)) {
    if (out.length === MOST_SENDS) break;
    if (outside(rectOf(form), screen)) continue;
    const el = [...formPartsOf(form)].slice(0, AIM_FIELDS).find((one) => isSubmitter(one) && isVisible(one));
    if (!el) continue;
    const name = nameOf(el);
    if (name) out.push(`${roleOf(el)} ${quote(cut(name, 40))} ${refs.mark(refs.of(el))}`);
  }
  return out;
}
