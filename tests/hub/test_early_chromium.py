"""The debugger on a tab that is wanted, left and wanted again, and what a page says of its own past: the extension's own
modules in one of its pages, with Chrome's own debugger on a real tab."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.hub.viewers import Viewer, viewer
from tests.promises import promise

pytestmark = promise("G05", "F08")

MOST = 500


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Viewer]:
    async with viewer() as one:
        yield one


AGAIN = """(async () => {
  const hold = await import('/debug-hold.js');
  const attach = chrome.debugger.attach;
  const refused = [];
  chrome.debugger.attach = (...given) => attach.apply(chrome.debugger, given).catch((problem) => {
    refused.push(problem.message);
    throw problem;
  });
  const waiting = [hold.hold(TAB, 100), hold.letGo(TAB), hold.hold(TAB, 100)];
  await Promise.all(waiting);
  chrome.debugger.attach = attach;
  const isHeld = hold.isHeld(TAB);
  const told = await hold.ask({ tabId: TAB }, 'Runtime.evaluate', { expression: '6 * 7' }).catch((problem) => ({ result: { value: problem.message } }));
  await hold.letGo(TAB);
  const after = await hold.ask({ tabId: TAB }, 'Runtime.evaluate', { expression: '1' }).then(() => true, () => false);
  return { refused, isHeld, value: told.result.value ?? told, after };
})()"""

REFUSED = """(async () => {
  const hold = await import('/debug-hold.js');
  await hold.hold(TAB, 100);
  return hold.isHeld(TAB);
})()"""

# A page that has a new past whenever it is asked, and one that does not even let itself be asked.
BOASTS = """let told = 0;
performance.getEntriesByType = () => Array.from({length: 3_000}, () => (
  {name: `http://x.test/${told++}`, startTime: 1, duration: 1, responseStatus: 200, initiatorType: 'img', redirectEnd: 0}))"""
FORGES = """const written = JSON.stringify;
JSON.stringify = () => written([performance.timeOrigin, Array.from({length: 3_000}, (_, n) => [`http://y.test/${n}`, 1, 1e6, 200, 'img', true])])"""
# Asked for twice: answered, and later sent on.
TWICE = """const asked = (startTime, duration, redirectEnd) => (
  {name: 'http://z.test/me', startTime, duration, responseStatus: 200, initiatorType: 'fetch', redirectEnd});
performance.getEntriesByType = () => [asked(10, 5, 0), asked(40, 20, 45)];"""

READ = """(async () => {
  const [hold, early, { Diary }] = await Promise.all(['hold', 'early', 'diary'].map((name) => import(`/debug-${name}.js`)));
  await hold.hold(TAB, 100);
  const told = [];
  const diary = new Diary((kind, { url }) => { if (kind === 'request') told.push(url) }, () => {});
  for (let n = 0; n < REDIRECTS; n += 1) {
    early.noteRedirect(diary, { url: `http://y.test/${n}`, redirectUrl: `http://y.test/${n + 1}`, timeStamp: Date.now(), statusCode: 302, method: 'GET' });
  }
  const counts = [];
  for (let n = 0; n < 3; n += 1) {
    await early.tellRest(TAB, diary, () => true);
    counts.push(told.length);
  }
  await hold.letGo(TAB);
  return { counts, different: new Set(told).size };
})()"""


OWN_TIME = """(async () => {
  const [hold, early, { Diary }] = await Promise.all(['hold', 'early', 'diary'].map((name) => import(`/debug-${name}.js`)));
  await hold.hold(TAB, 100);
  const origin = (await hold.ask({ tabId: TAB }, 'Runtime.evaluate', { expression: 'performance.timeOrigin' })).result.value;
  const diary = new Diary(() => {}, () => {});
  const sent = { url: 'http://z.test/me', redirectUrl: 'http://z.test/login', statusCode: 302, method: 'GET' };
  early.noteRedirect(diary, { ...sent, timeStamp: origin + 45 });
  await early.tellRest(TAB, diary, () => true);
  await hold.letGo(TAB);
  return [...diary.requests.values()].map(({ url, status, timestamp }) => [url, status, Math.round(timestamp - origin)]);
})()"""

# Before and after the debugger is there, and an address without end.
NOTED = """(async () => {
  const [hold, pages, arrival] = await Promise.all(['hold', 'pages', 'arrival'].map((name) => import(`/debug-${name}.js`)));
  const diary = arrival.diaryOf(TAB);
  pages.coming.set(TAB, { diary });
  const note = (url, to) => arrival.sentOn(
    { tabId: TAB, url, redirectUrl: to, timeStamp: Date.now() + 1_000, statusCode: 302, method: 'GET' });
  note('http://z.test/early', 'http://z.test/x');
  note('http://z.test/' + 'x'.repeat(10_000), 'http://z.test/x');
  note('http://z.test/long', 'http://z.test/' + 'x'.repeat(10_000));
  await hold.hold(TAB, 100);
  note('http://z.test/late', 'http://z.test/x');
  pages.coming.delete(TAB);
  await hold.letGo(TAB);
  return [...diary.redirects.keys()];
})()"""


async def told(browser: Viewer, script: str, url: str = "about:blank", first: str = "") -> Any:
    """What the script says of a new tab, after something was run in that."""
    page = await browser.chrome.open(url)
    tab = await browser.chrome.tab_id(page, browser.popup)
    if first:
        await page.js(f"{{ {first} }}")
    # A worker that begins lets go of every tab that it does not know, and these are not held by the worker.
    await browser.popup.js("chrome.runtime.sendMessage({type: 'state'})")
    try:
        return await browser.popup.js(script.replace("TAB", str(tab)))
    finally:
        await browser.chrome.close(page)


async def test_a_tab_that_is_wanted_again_while_it_is_let_go_stays_held(browser: Viewer):
    """Chrome refuses the second attach, because the first is ours and not over: that is no refusal."""
    seen = await told(browser, AGAIN)
    assert len(seen["refused"]) == 1, "the attempts did not meet"
    assert (seen["isHeld"], seen["value"]) == (True, 42)
    assert seen["after"] is False  # and it can be let go


async def test_a_page_of_chromes_own_is_not_held(browser: Viewer):
    """So that whoever asks next tries again."""
    assert await told(browser, REFUSED, "chrome://version") is False


async def test_a_page_tells_so_much_of_its_past_and_no_more(browser: Viewer):
    seen = await told(browser, READ.replace("REDIRECTS", "0"), first=BOASTS)
    assert seen == {"counts": [MOST] * 3, "different": MOST}
    seen = await told(browser, READ.replace("REDIRECTS", "0"), first=FORGES)
    assert seen == {"counts": [MOST] * 3, "different": MOST}


async def test_what_was_sent_on_is_bounded_too(browser: Viewer):
    """A chain of five hundred, of which the page names every link: each is told once."""
    seen = await told(browser, READ.replace("REDIRECTS", "3_000"), first=FORGES)
    assert seen == {"counts": [MOST] * 3, "different": MOST}


async def test_what_was_sent_on_later_is_not_said_of_what_came_before(browser: Viewer):
    """Each address once: /me as it was first answered, and where it led afterwards."""
    seen = await told(browser, OWN_TIME, first=TWICE)
    assert seen == [["http://z.test/me", 200, 10], ["http://z.test/login", 200, 45]]


async def test_what_the_debugger_hears_is_not_noted_nor_addresses_without_end(browser: Viewer):
    assert await told(browser, NOTED) == ["http://z.test/early"]
