"""F07: the activity of all agents, complete and fast: ten thousand lines, a broken line, a picture at each write."""

import asyncio
import json

import pytest

from pilothouse.doors import outbox
from tests.daemon_here import Here
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import Dashboard

pytestmark = promise("F07", "F08")

LINES = 10_000
SHOWN = "document.querySelectorAll('.timeline .virtual-line').length"


async def test_what_was_done_is_told(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await agent.do("evaluate_js", expression="document.title")
    assert not (await agent.call("evaluate_js", expression="nowhere()"))["success"]
    await dashboard.go("activity")
    await dashboard.sees("navigate", ".timeline")
    await dashboard.sees("page_error", ".timeline")
    await dashboard.page.until("find('.event', '▣')")  # a picture was taken of it
    await dashboard.press("▣", ".event")
    await dashboard.sees("document.title", ".detail")
    await dashboard.page.until("document.querySelector('.detail canvas')?.width > 100")


async def test_the_picture_is_of_the_line(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    """Also after a look at one that has none, and when it came late."""
    await agent.do("navigate", url=site.url("small.html"))
    await agent.do("evaluate_js", expression="document.title")
    await agent.do("get_page_title")
    await dashboard.go("activity")
    pictured, plain = "find('.event', '▣')", "find('.event', 'get_page_title')"
    await dashboard.page.until(pictured)
    await dashboard.click(pictured)
    await dashboard.page.until("document.querySelector('.detail canvas')")
    await dashboard.click(plain)
    await dashboard.page.until("text('.detail h2') === 'get_page_title' && !document.querySelector('.detail canvas')")
    await dashboard.click(pictured)
    await dashboard.page.until("document.querySelector('.detail canvas')")
    await dashboard.click(plain)
    late = f"""(async () => {{
        const real = fetch;
        const [asked, gate, come] = [0, 0, 0].map(() => Promise.withResolvers());
        globalThis.fetch = async (...args) => {{
            if (!String(args[0]).endsWith('/picture')) return real(...args);
            asked.resolve();
            await gate.promise;
            const picture = await real(...args);
            come.resolve(picture.clone().blob());
            return picture;
        }};
        {pictured}.click();
        await asked.promise;
        {plain}.click();
        gate.resolve();
        await createImageBitmap(await come.promise);
        await new Promise((done) => setTimeout(done, 300));
        globalThis.fetch = real;
        return [document.querySelector('.detail h2').textContent, document.querySelectorAll('.detail canvas').length];
    }})()"""
    assert await dashboard.page.js(late) == ["get_page_title", 0]


async def test_filters(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html?unlike-any-other"))
    await dashboard.go("activity")
    await dashboard.sees("unlike-any-other", ".timeline")
    await dashboard.type("document.querySelector('input[type=search]')", "unlike-any-other")
    await dashboard.page.until(f"{SHOWN} === 1")
    await dashboard.type("document.querySelector('input[type=search]')", "no such words at all")
    await dashboard.page.until(f"{SHOWN} === 0")


async def test_ten_thousand_lines(here: Here, dashboard: Dashboard):
    audit = here.gate._audit
    for number in range(LINES):
        audit.note("filler", name=f"line {number}")
    await dashboard.go("activity")
    last = audit.number
    await dashboard.page.until(f"text('.timeline').includes('line {LINES - 1}')")
    await dashboard.page.until(f"Number(text('[data-key=count]').replace(/\\D/g, '')) >= {LINES}", 20)
    assert await dashboard.page.js(SHOWN) < 80  # only what is in view is in the page
    # A jump to the other end is drawn within a frame or two.
    took = await dashboard.page.js("""(async () => {
        const list = document.querySelector('.timeline .virtual');
        const began = performance.now();
        list.scrollTop = list.scrollHeight;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return performance.now() - began;
    })()""")
    print(json.dumps({"lines": LINES, "jump_ms": round(took, 1), "last": last}))
    assert took < 500
    assert "line 9999" not in await dashboard.page.js("text('.timeline .virtual')")


async def test_older_lines(here: Here, dashboard: Dashboard):
    """A page begins with the newest thousand; the others are read when they are asked for."""
    audit = here.gate._audit
    for number in range(1_500):
        audit.note("aged", name=f"aged {number}")
    await dashboard.page.channel.send("Page.reload")
    await dashboard.page.until("document.querySelector('.connection')?.dataset.state === 'live'")
    await dashboard.go("activity")
    await dashboard.sees("aged 1499", ".timeline")
    await dashboard.type("document.querySelector('input[type=search]')", "aged 7")
    await dashboard.page.until(f"{SHOWN} > 0")
    before = await dashboard.page.js("parseInt(text('[data-key=count]'))")
    await dashboard.press("Read older lines")
    await dashboard.page.until(f"parseInt(text('[data-key=count]')) > {before}")


async def test_quick_writes_have_a_picture_of_the_last(
    here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer
):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("activity")
    await asyncio.gather(*(agent.do("evaluate_js", expression=f"'quick {number}'") for number in range(3)))
    last = max(one["n"] for one in here.records() if one.get("tool") == "evaluate_js")
    await dashboard.page.until("find('.event', 'evaluate_js')?.textContent.includes('▣')")
    asked = "fetch('/api/activity?limit=1', {headers: {Authorization: `Bearer ${sessionStorage.getItem('pilothouse.pass')}`}})"
    await dashboard.page.until(f"{asked}.then((one) => one.json()).then((one) => one.data.shots.includes({last}))")


async def test_a_line_that_breaks_loses_nothing(here: Here, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch):
    """What happens while the page is away is read when it is back, once."""
    await dashboard.go("activity")
    audit = here.gate._audit
    audit.note("before_the_break", name="seen live")
    await dashboard.sees("before_the_break", ".timeline")
    gone = "new Promise((done) => new MutationObserver((_, watcher) => (watcher.disconnect(), done(true))).observe(document.querySelector('.connection'), {attributes: true}))"
    seeing = asyncio.create_task(dashboard.page.js(gone))
    await asyncio.sleep(0.05)
    monkeypatch.setattr(outbox, "MAX_UNREAD", 0)  # everybody is too slow now, and sent away
    audit.note("the_break", name="sends it away")
    await asyncio.wait_for(seeing, 10)
    for number in range(3000):
        audit.note("in_the_dark", name=f"dark {number}")
    monkeypatch.undo()
    await dashboard.page.until("document.querySelector('.connection').dataset.state === 'live'", 20)
    await dashboard.sees("dark 2999", ".timeline", 20)
    await dashboard.type("document.querySelector('input[type=search]')", "dark 17")
    await dashboard.page.until("text('[data-key=count]').startsWith('111 of ')", 10)  # 17, 17x, 17xx: each once


FIRST_SEEN = """(() => { const list = document.querySelector('.timeline .virtual'), top = list.getBoundingClientRect().top;
    return [...list.querySelectorAll('.virtual-line')].find((one) => one.getBoundingClientRect().bottom > top + 1).innerText; })()"""
ORDER = "[...document.querySelectorAll('.timeline .virtual-line')].map((one) => Number(one.ariaPosInSet))"


async def drawn(dashboard: Dashboard) -> None:
    await dashboard.page.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")


async def test_who_reads_keeps_their_line(here: Here, dashboard: Dashboard):
    """Whatever comes above it, is read below it, or is filtered away; and lines stand in the order of reading."""
    audit = here.gate._audit
    for number in range(1_500):
        audit.note("kept" if number % 2 else "other", name=f"place {number}")
    await dashboard.page.channel.send("Page.reload")
    await dashboard.page.until("document.querySelector('.connection')?.dataset.state === 'live'")
    await dashboard.go("activity")
    await dashboard.sees("place 1499", ".timeline")
    await dashboard.page.js("document.querySelector('.timeline .virtual').scrollTop = 44 * 301 + 7")
    await drawn(dashboard)
    seen = await dashboard.page.js(FIRST_SEEN)
    for number in range(5):
        audit.note("newer", name=f"newer {number}")
    count = "parseInt(text('[data-key=count]').replace(/\\D/g, ''))"
    before = await dashboard.page.js(count)
    await dashboard.page.js("find('button', 'Read older lines').click()")
    await dashboard.page.until(f"{count} > {before} + 100")
    await drawn(dashboard)
    assert await dashboard.page.js(FIRST_SEEN) == seen
    order = await dashboard.page.js(ORDER)
    assert order == sorted(order)
    word = "kept" if "kept" in seen else "other"
    await dashboard.type("document.querySelector('input[type=search]')", word)
    await dashboard.page.until(
        "text('.view [role=status]').includes(' of ') && !text('.timeline .virtual').includes('newer')"
    )
    await drawn(dashboard)
    assert await dashboard.page.js(FIRST_SEEN) == seen


async def test_a_line_that_has_the_focus_stays(here: Here, dashboard: Dashboard):
    audit = here.gate._audit
    for number in range(300):
        audit.note("focused", name=f"focused {number}")
    await dashboard.go("activity")
    await dashboard.sees("focused 299", ".timeline")
    await dashboard.page.js("find('.event', 'focused 295').focus()")
    await dashboard.page.js("document.querySelector('.timeline .virtual').scrollTop = 44 * 200")
    await drawn(dashboard)
    assert "focused 295" in await dashboard.page.js("document.activeElement.textContent")
    order = await dashboard.page.js(ORDER)
    assert order == sorted(order)
    assert len(order) < 80
    await dashboard.page.js("""(() => { const field = document.querySelector('input[type=search]');
        field.value = 'no such words at all'; field.dispatchEvent(new Event('input')); })()""")
    await drawn(dashboard)
    assert await dashboard.page.js("document.activeElement === document.querySelector('.timeline .virtual')")
