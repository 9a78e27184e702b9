// Twin: what took the place of an element that is gone, if nothing else has changed since somebody looked.
// Above: past.js. Below: then.js, dom.js.
// Whatever a person could tell two things apart by tells their buttons apart, too, and more than that: any attribute may
// be what a style sheet shows one of two by. To be refused too often costs a look.

const ROWS = words("li tr article");
const textIn = (markup) => clean(markup.replace(/<[^>]*>/g, " "));
const TIME = /\b(\d\d?):(\d\d):(\d\d)\b/;
const secondsIn = (text) => { const [, hours, minutes, seconds] = TIME.exec(text) || []; return hours * 3600 + minutes * 60 + +seconds; };

function twinIn(page, old) {
  const { lists, homes, texts, attributes, above, read, elements } = page;
  function stayed(node) {
    if (!connectedOf(node)) return false;
    for (let up = node; up; up = above(up)) if (homes.get(up) === null) return false;
    return true;
  }
  function isMute(node) {
    const tag = isElement(node) ? tagOf(node) : "title";
    return tag !== "title" && (closest(node, "head") !== null || (SILENT.has(tag) && tag !== "style"));
  }
  // What is put at the end of a page and says nothing is a tool of the page's own.
  function told(kid, then, atEnd) {
    if (isMute(kid) || (atEnd && isElement(kid) && !/>[^<]|=|<(button|a|img|svg|canvas|video|iframe)\b/.test(read(kid, then, true)))) return "";
    return read(kid, then);
  }
  // A clock, not another's hour: each time that it was seen to change it has gone on by one second.
  function isClock(node) {
    const said = page.records.filter(({ type, target }) => target === node && type !== "attributes").map(({ oldValue, removedNodes: [old] }) => oldValue || (old && typeOf(old) === 3 ? dataOf(old) : ""));
    said.push(textContentOf(node));
    const steps = said.slice(1).map((text, i) => secondsIn(text) - secondsIn(said[i]));
    return steps.length > 2 && Math.abs(steps[0]) === 1 && steps.every((one) => one === steps[0]) && new Set(said.map((text) => text.replace(TIME, ""))).size === 1;
  }
  function sameKids(parent, mayMove) {
    const was = page.kids(parent, true), is = page.kids(parent, false);
    const atEnd = isElement(parent) && /^(body|html)$/.test(tagOf(parent));
    const then = new Set(was), both = new Set(is.filter((kid) => then.has(kid)));
    const [before, now] = [was, is].map((kids) => kids.map((kid) => (both.has(kid) ? kid : told(kid, kids === was, atEnd))).filter(Boolean));
    if (before.length !== now.length) return false;
    if (before.every((one, i) => one === now[i])) return true;
    if (isClock(parent)) return true;
    const rest = new Map();
    for (const one of now) rest.set(one, (rest.get(one) || 0) + 1);
    return mayMove && before.every((one) => { const count = rest.get(one); rest.set(one, count - 1); return count > 0; });
  }
  function isAllTheSame(home, mayMove) {
    for (const parent of lists.keys()) if (stayed(parent) && !isMute(parent) && !sameKids(parent, parent === home && mayMove)) return false;
    for (const node of texts.keys()) {
      if (stayed(node) && page.text(node, true) !== page.text(node, false) && !isMute(parentNodeOf(node)) && !isClock(node)) return false;
    }
    for (const [el, known] of attributes) {
      for (const [name, was] of known) {
        const empty = name === "style" || name === "class" ? "" : null;   // what an animation leaves behind
        if ((attr(el, name) ?? empty) !== (was ?? empty) && stayed(el)) return false;
      }
    }
    return true;
  }

  // Where it stood, the one part that is what the part around it was: in that, what stands at its place. Whoever stands
  // beside one that says the same, at any step, has no twin. Rows may change places, if their words tell whose they are.
  const path = [];
  let part = old, home, said;
  for (;; part = home) {
    home = page.home(part);
    if (!home) return null;
    const kids = elements(home, true);
    said = isElement(part) && read(part, true, true);
    if (said && kids.some((kid) => kid !== part && tagOf(kid) === tagOf(part) && read(kid, true, true) === said)) return null;
    if (connectedOf(home)) break;
    path.unshift(said ? kids.indexOf(part) : -1);
  }
  const [heir, ...others] = elements(home, false).filter((kid) => read(kid, false, true) === said);
  if (!heir || others.length || homes.get(heir) !== null || read(heir, false) !== read(part, true)) return null;
  const rows = [...elements(home, true), ...elements(home, false)].every((kid) => ROWS.has(tagOf(kid)));
  if (!isAllTheSame(home, rows && textIn(said) !== textIn(read(old, true, true))) || !page.isKnown()) return null;
  return path.reduce((el, step) => (step < 0 ? shadowOf(el) : elements(el, false)[step]), heir);
}
