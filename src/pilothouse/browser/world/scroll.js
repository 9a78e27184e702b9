// Scrolling: the page, or the nearest thing around an element that scrolls.
// Above: the tools of scroll.py, browser/touch.py. Below: dom.js, act.js.

function scrollerOf(el) {
  for (let node = el, i = 0; node && i < 20000; node = parentOf(node), i++) {
    const style = getComputedStyle(node);
    const room = scrollHeightOf(node) > clientHeightOf(node) + 1 || scrollWidthOf(node) > clientWidthOf(node) + 1;
    if (room && /auto|scroll|overlay/.test(style.overflowY + style.overflowX)) return node;
  }
  return null;
}
// Without a target: the page if it scrolls, else what scrolls in the middle of the window.
function mainScroller() {
  const page = scrollingOf(document) || htmlOf(document);
  if (!page) return null; // a document whose root was removed
  if (scrollHeightOf(page) > clientHeightOf(page) + 1 || scrollWidthOf(page) > clientWidthOf(page) + 1) return page;
  const hit = deepHit(innerWidth / 2, innerHeight / 2);
  return (hit && scrollerOf(hit)) || page;
}

let scrolled = null;
ph.scroll = ({ ref = 0, direction = null, dx = 0, dy = 0, to = null } = {}) => {
  const { el, fail } = ref ? living(ref) : { el: null };
  if (fail) return { fail };
  begin();
  const box = el ? scrollerOf(el) || scrollingOf(document) : mainScroller();
  if (!box) return { x: 0, y: 0, height: 0, atEnd: true, moved: false };
  scrolled = box;
  const before = [box.scrollLeft, box.scrollTop];
  const page = box === scrollingOf(document);
  const height = page ? innerHeight : clientHeightOf(box), width = page ? innerWidth : clientWidthOf(box);
  if (el && !direction && !dx && !dy && !to) scrollTo(el, { block: "center", inline: "nearest", behavior: "instant" });
  if (to) box.scrollTo({ top: to === "top" ? 0 : scrollHeightOf(box), behavior: "instant" });
  const step = { up: [0, -0.85 * height], down: [0, 0.85 * height], left: [-0.85 * width, 0], right: [0.85 * width, 0] }[direction];
  const [x, y] = step || (dx || dy ? [dx, dy] : el || to ? [0, 0] : [0, 0.85 * height]);
  if (x || y) box.scrollBy({ left: x, top: y, behavior: "instant" });
  return { ...ph.scrolledTo(), moved: box.scrollLeft !== before[0] || box.scrollTop !== before[1] };
};
// Where it stands now: what was scrolled may have grown since.
ph.scrolledTo = () => {
  if (!scrolled || !connectedOf(scrolled)) return null;
  const seen = scrolled === scrollingOf(document) ? innerHeight : clientHeightOf(scrolled);
  return {
    x: Math.round(scrolled.scrollLeft), y: Math.round(scrolled.scrollTop), height: Math.round(scrollHeightOf(scrolled)),
    atEnd: scrolled.scrollTop + seen >= scrollHeightOf(scrolled) - 2,
  };
};

// Into view, unless it is there already and nothing lies over its middle.
ph.intoView = (n) => {
  const { el, twin, fail } = living(n);
  if (fail) return { fail };
  if (!isVisible(el)) return { fail: "hidden", ...named(el) };
  begin();
  const before = rectOf(el);
  const hit = insideView(before) && deepHit(...middle(before));
  if (!hit || !lands(hit, el)) toMiddle(el);
  const { left, top } = rectOf(el);
  return { x: Math.round(left), y: Math.round(top), moved: left !== before.left || top !== before.top, twin, ...named(el) };
};

// A swipe goes on by itself for a while: `scrollend` tells when it rests.
let rolling = false;
let rested = () => {};
const roll = () => { rolling = true; };
const rest = () => { rolling = false; rested(); };
ph.watchScroll = () => {
  rolling = false;
  addEventListener("scroll", roll, true);
  addEventListener("scrollend", rest, true);
  return { width: innerWidth, height: innerHeight };
};
ph.scrollRest = async (ms) => {
  await turn();
  const over = new Promise((resolve) => { rested = resolve; });
  if (rolling) await Promise.race([over, later(ms)]);
  removeEventListener("scroll", roll, true);
  removeEventListener("scrollend", rest, true);
  return { x: Math.round(scrollX), y: Math.round(scrollY) };
};
