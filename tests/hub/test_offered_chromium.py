"""A page of the debug proxy in a real Chromium with the real extension: offered, told of, moved, left."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from pilothouse.guard.redact import MASK
from tests.hub.viewers import Stage, staged
from tests.promises import promise

pytestmark = promise("G05", "G06", "C03")


@pytest.fixture(scope="module")
async def theatre(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    home = tmp_path_factory.mktemp("offered")
    home.chmod(0o700)
    started, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def live() -> None:  # a task of its own: the fixture's two halves may run in different ones
        async with staged(home) as one:
            started.set_result(one)
            await over.wait()

    living = asyncio.create_task(live())
    await asyncio.wait([living, started], return_when=asyncio.FIRST_COMPLETED)
    if living.done():
        living.result()
    yield await started
    over.set()
    await living


@pytest.fixture
async def stage(theatre: Stage) -> AsyncIterator[Stage]:
    yield theatre
    await theatre.clear()


async def test_a_page_with_a_token_is_offered_with_all_that_it_does(stage: Stage):
    page, _ = await stage.show("/quiet")
    await stage.person.chrome.go(page, stage.url("/shop"))
    tab = await stage.offered("/shop")
    assert tab.cocoon_id == "shop"
    assert tab.browser_id == await stage.person.browser_id()
    await stage.until(lambda: stage.hub.tabs("local")[0].title == "Shop", "its title is told")
    broken, items = await stage.done(tab, "/api/broken"), await stage.done(tab, "/api/items")
    assert (broken.status, broken.response_body) == (500, '{"error":"no tea"}')
    assert (items.method, items.request_body, items.status) == ("POST", '{"q": "tea"}', 200)
    assert items.response_body == '{"found":{"q":"tea"}}'
    assert items.request_headers
    assert items.duration_ms is not None
    document = await stage.done(tab, "/shop$")
    assert (document.method, document.status, document.mime_type) == ("GET", 200, "text/html")
    assert document.response_body
    assert document.response_body.startswith("<!doctype html><title>Shop")
    told = {name.lower(): value for name, value in (document.response_headers or {}).items()}
    assert told["x-adi-debug-token"] == MASK
    assert stage.hub.tab("local", tab.token).token not in str(await stage.requests(tab))
    await stage.done(tab, "/app.js")
    await stage.printed(tab, "Uncaught Error: boom", part=True)
    said = {one.message: one for one in await stage.entries(tab)}
    assert said['inline {"a":1} [1,2]'].args == ["inline", {"a": 1}, [1, 2]]
    assert said["answer is 42"].level == "warn"
    assert said["app"].source == stage.url("/app.js")
    assert any(one.level == "error" and "boom" in one.message and one.stack_trace for one in said.values())
    assert any("500" in one for one in said)
    await stage.person.chrome.close(page)
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone with its tab")


@pytest.mark.parametrize("address", ["http://shop.localhost:{port}/quiet", "http://localhost:{port}/proxy/shop/quiet"])
async def test_a_tab_that_is_opened_at_its_address_is_offered(stage: Stage, address: str):
    """As by a link with target=_blank or from another program. Chrome tells the extension of its navigation last."""
    chrome = stage.person.chrome
    url = address.format(port=stage.here.cocoons.proxy.port)
    page = await chrome.page((await chrome.root.send("Target.createTarget", url=url))["targetId"])
    await stage.offered("/quiet")
    await chrome.close(page)


async def test_a_tabs_first_page_may_begin_before_the_debugger_is_there(stage: Stage):
    """Then what it asked for is known without headers, but it is known."""
    _, tab = await stage.show("/shop")
    for path, status in (("/shop", 200), ("/app.js", 200), ("/api/items", 200), ("/api/broken", 500)):
        found = await stage.done(tab, f"{path}$")
        assert found.status == status
    assert len(await stage.requests(tab)) == 4
    for line in ("inline", "answer is 42", "app", "boom"):
        await stage.printed(tab, line, part=True)


@pytest.mark.parametrize("begun_at", ["chrome://newtab", "about:blank"])
async def test_what_fails_in_the_first_page_of_a_tab_is_told(stage: Stage, begun_at: str):
    """A new tab, and the address typed into it: Chrome lets nobody listen before the page is there."""
    page = await stage.open(begun_at)
    number = await stage.person.chrome.tab_id(page, stage.person.popup)
    await stage.person.popup.js(f"chrome.tabs.update({number}, {{url: {stage.url('/tardy')!r}}}).then(() => true)")
    tab = await stage.offered("/tardy")
    late, soon = await stage.done(tab, r"\?ms=400"), await stage.done(tab, r"\?ms=0")
    assert (late.status, soon.status, (await stage.done(tab, "/nowhere")).status) == (500, 500, 404)
    assert late.method in ("POST", "")  # never a wrong one
    assert late.duration_ms
    assert late.duration_ms >= 300
    assert len(await stage.requests(tab, status_min=400)) == 3


async def test_an_agent_finds_the_failing_request(stage: Stage):
    _page, tab = await stage.show("/shop")
    await stage.done(tab, "/api/broken")
    headers = {"authorization": f"Bearer {stage.here.agent}"}
    async with httpx.AsyncClient(base_url=stage.here.url, headers=headers) as client:
        told = (await client.post("/api/tools/browser_debug_list_tabs", json={})).json()
        handle = told["data"]["tabs"][0]["token"]
        wanted = {"token": handle, "status_min": 400}
        told = (await client.post("/api/tools/browser_debug_get_network", json=wanted)).json()
    assert [(one["url"], one["status"]) for one in told["data"]["requests"]] == [(stage.url("/api/broken"), 500)]
    assert told["data"]["requests"][0]["response_body"] == '{"error":"no tea"}'


async def test_a_page_that_moves_by_script_keeps_its_handle_and_one_that_is_left_does_not(stage: Stage):
    page, tab = await stage.show("/quiet")
    await page.js("document.title = 'Two'; history.pushState({}, '', '/quiet/two?x=1#y'); console.log('moved')")
    await stage.printed(tab, "moved")
    moved = await stage.offered("/quiet/two?x=1#y")
    assert (moved.token, moved.browser_id) == (tab.token, tab.browser_id)
    await stage.until(lambda: stage.hub.tabs("local")[0].title == "Two", "its new title is told")
    await stage.person.chrome.go(page, stage.url("/quiet?again"))
    again = await stage.offered("/quiet?again")
    assert again.token != tab.token
    assert len(stage.hub.tabs("local")) == 1
    assert "moved" not in await stage.lines(again)
    await stage.person.chrome.go(page, "about:blank")
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone with its page")
    await stage.until_held(0)


async def test_a_page_may_move_before_anybody_has_heard_of_it(stage: Stage):
    page = await stage.open(stage.url("/moves"))
    tab = await stage.offered("/moved?on=1")
    await stage.person.chrome.go(page, stage.url("/moves?again"))
    await stage.until(lambda: [one for one in stage.hub.tabs("local") if one.token != tab.token], "it is offered again")
    await stage.offered("/moved?on=1")


async def test_a_page_takes_no_other_tab_along(stage: Stage):
    """Whatever it has in its address, its timings and its console."""
    page, tab = await stage.show("/quiet")
    visitor = stage.hub.tab("local", tab.token).visitor
    forger = await stage.open(stage.url("/forges"))
    await stage.until(lambda: len(stage.hub.tabs("local")) == 2, "both are offered")
    forged = next(one for one in stage.hub.tabs("local") if one.token != tab.token)
    await forger.js("console.log('forged')")
    await stage.printed(forged, "forged")
    await stage.until(
        lambda: any(len(one.url) == 60_000 for one in stage.hub.tabs("local")), "its address is told, as far as it goes"
    )
    await page.js("console.log('still here')")
    await stage.printed(tab, "still here")
    assert stage.hub.tab("local", tab.token).visitor is stage.hub.tab("local", forged.token).visitor is visitor


async def test_long_bodies_are_cut(stage: Stage):
    page, tab = await stage.show("/quiet")
    await page.js("fetch('/long').then((answer) => answer.text())")
    long = await stage.done(tab, "/long")
    assert long.response_body_truncated
    assert long.response_body
    assert len(long.response_body.encode()) <= 102_400


async def test_what_pages_can_say_breaks_nothing(stage: Stage):
    page, tab = await stage.show("/quiet")
    await page.js(r"""console.log('half \ud800 a character', {['\udfff']: '\ud800'}, Symbol('s'), 10n, NaN, null, undefined);
        console.log('x'.repeat(2_000_000));
        console.log(...Array(500).fill(1));
        document.title = 't'.repeat(10_000);
        fetch('/echo?' + 'q'.repeat(30_000), {headers: {'x-long': 'v'.repeat(20_000)}}).catch(() => {});
        fetch('/echo?m', {method: 'M'.repeat(1_000)}).catch(() => {});
        console.table([{a: 1}]); console.dir(document.body); console.trace('here'); console.assert(false, 'not so');
        console.log('end')""")
    await stage.printed(tab, "end")
    said = await stage.entries(tab)
    assert said[0].message.startswith("half \ufffd a character")
    assert any(one.level == "error" and "not so" in one.message for one in said)
    assert max(len(one.message) for one in said) <= 20_000
    assert (await stage.done(tab, r"/echo\?m$")).method == "M" * 200
    await stage.until(lambda: stage.hub.tabs("local")[0].title == "t" * 1_500, "as much of its title as is told")


async def test_pages_without_a_token_are_let_go(stage: Stage):
    await stage.open(stage.url("/health"))
    await stage.open(f"{stage.shop.url}/quiet")
    await stage.until_held(0)
    assert not stage.hub.tabs("local")


async def test_a_page_that_was_left_for_one_of_chromes_own_is_not_offered(stage: Stage):
    """Where nobody answers, Chrome shows a page that says so: nobody is to take it for the one before."""
    page, tab = await stage.show("/quiet")
    await page.channel.send("Page.navigate", url=stage.url("/empty"))
    await page.js("console.log('still here')")
    await stage.printed(tab, "still here")
    await page.channel.send("Page.navigate", url="http://shop.localhost:9/")
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone with its page")
    await stage.until_held(0)


async def test_stop_everything_ends_the_offer_too(stage: Stage):
    _page, _ = await stage.show("/quiet")
    await stage.person.chrome.tell(stage.person.popup, "stop")
    await stage.until(lambda: not stage.hub.tabs("local"), "it is not offered any more")
    await stage.until_held(0)
    again = await stage.open(stage.url("/quiet?again"))
    await stage.person.chrome.tell(stage.person.popup, "allow")
    await stage.person.chrome.go(again, stage.url("/quiet?allowed"))
    await stage.offered("/quiet?allowed")
    assert len(stage.hub.tabs("local")) == 1


async def test_the_worker_may_end(stage: Stage):
    page, tab = await stage.show("/quiet")
    await page.js("console.log('before')")
    await stage.printed(tab, "before")
    await stage.person.chrome.kill_worker()
    await stage.until(lambda: stage.hub.tab("local", tab.token).visitor is None, "the line is lost")
    await stage.until(lambda: stage.hub.tab("local", tab.token).visitor, "it is back", 5)
    await page.js("console.log('after'); fetch('/data')")
    await stage.printed(tab, "after")
    assert (await stage.lines(tab)) == ["before", "after"]
    assert (await stage.done(tab, "/data")).status == 200


async def test_it_stands_beside_an_agent_in_the_same_tab(stage: Stage):
    page, tab = await stage.show("/quiet")
    await page.js("console.log('alone')")
    await stage.printed(tab, "alone")
    number = await stage.person.chrome.tab_id(page, stage.person.popup)
    await stage.person.chrome.tell(stage.person.popup, "shareTab", tabId=number)
    headers = {"authorization": f"Bearer {stage.here.agent}"}
    async with httpx.AsyncClient(base_url=stage.here.url, headers=headers, timeout=40) as client:

        async def call(tool: str, **args: object) -> dict[str, object]:
            told = (await client.post(f"/api/tools/{tool}", json=args)).json()
            assert told["success"], told
            return told["data"]

        session = (await call("open_session", browser="extension"))["session"]
        tabs = await call("list_tabs", session=session)
        assert stage.url("/quiet") in str(tabs)
        await call("evaluate_js", session=session, expression="console.log('with an agent'), fetch('/data?agent'), 1")
        await stage.printed(tab, "with an agent")
        assert (await stage.done(tab, "agent$")).status == 200
        logged = await call("get_console_logs", session=session)
        assert "with an agent" in str(logged)
        await call("close_session", session=session)
    await page.js("console.log('alone again'); fetch('/data?after')")
    await stage.printed(tab, "alone again")
    assert (await stage.done(tab, "after$")).status == 200
    assert await stage.lines(tab) == ["alone", "with an agent", "alone again"]
