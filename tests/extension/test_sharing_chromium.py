"""F02: agents reach the tabs that are shared and no other, whatever the daemon asks; the extension itself refuses."""

import asyncio
import contextlib
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.pairing import ORIGIN
from tests.promises import promise
from tests.server import PageServer

from .conftest import Desk, Refusal

pytestmark = promise("F02", "F08")


async def refused(desk: Desk, kind: str, **payload: Any) -> str:
    with pytest.raises(Failure) as caught:
        await desk.verb(kind, **payload)
    return caught.value.code


async def test_a_tab_the_agent_opens_is_shared_grouped_and_in_the_background(desk: Desk, site: PageServer):
    made = await desk.verb("open", url=site.url("small.html"), background=True)
    assert (made["ours"], made["active"], made["incognito"]) == (True, False, False)
    groups = await desk.popup.js("chrome.tabGroups.query({title: 'Pilothouse'})")
    assert [one["id"] for one in groups] == [made["groupId"]]
    told = await desk.verb("attach", tabId=made["tabId"])
    assert await desk.number(made["tabId"]) == 42
    assert desk.link.tabs[made["tabId"]].ours
    listed = (await desk.verb("tabs"))["tabs"]
    assert [(one["tabId"], one["targetId"]) for one in listed] == [(made["tabId"], told["targetId"])]
    second = await desk.verb("open", url="about:blank")
    assert second["groupId"] == made["groupId"]


async def test_a_tab_of_the_persons_is_not_shared(desk: Desk, site: PageServer):
    _, tab = await desk.tab(site.url("small.html"))
    assert (await desk.verb("tabs"))["tabs"] == []
    for kind in ("attach", "close", "activate", "window"):
        assert await refused(desk, kind, tabId=tab) == "denied"
    with pytest.raises(Refusal) as caught:
        await desk.cdp(tab, "Runtime.evaluate", expression="1")
    assert caught.value.code == "not_shared"


async def test_the_group_is_the_border(desk: Desk, site: PageServer):
    """Dragged in, it is shared; dragged out, it is let go at once."""
    _, tab = await desk.tab(site.url("small.html"))
    group = await desk.popup.js(f"chrome.tabs.group({{tabIds: [{tab}]}})")
    await desk.popup.js(f"chrome.tabGroups.update({group}, {{title: 'Pilothouse'}})")
    assert (await desk.event("shared", tab))["groupId"] == group
    await desk.verb("attach", tabId=tab)
    await desk.popup.js(f"chrome.tabs.ungroup({tab})")
    assert await desk.event("unshared", tab) == {"why": "ungrouped"}
    assert await refused(desk, "attach", tabId=tab) == "denied"
    with pytest.raises(Refusal):
        await desk.number(tab)
    held = f"chrome.debugger.getTargets().then(all => !all.find(one => one.tabId === {tab}).attached)"
    assert await desk.popup.js(held) is False  # our own test holds it too; what counts is that the extension does not
    assert desk.link.tabs == {}


async def test_a_renamed_group_is_no_longer_shared(desk: Desk):
    made = await desk.verb("open", url="about:blank")
    await desk.popup.js(f"chrome.tabGroups.update({made['groupId']}, {{title: 'Mine'}})")
    await desk.event("unshared", made["tabId"])
    assert await refused(desk, "attach", tabId=made["tabId"]) == "denied"
    await desk.popup.js(f"chrome.tabGroups.update({made['groupId']}, {{title: 'Pilothouse'}})")
    await desk.event("shared", made["tabId"])


async def test_one_by_one(desk: Desk, site: PageServer):
    await desk.chrome.tell(desk.popup, "share", mode="tab")
    assert await desk.event("share") == {"share": "tab"}
    _, one = await desk.tab(site.url("small.html"))
    _, other = await desk.tab(site.url("small.html"))
    await desk.chrome.tell(desk.popup, "shareTab", tabId=one)
    await desk.event("shared", one)
    await desk.verb("attach", tabId=one)
    assert await refused(desk, "attach", tabId=other) == "denied"
    await desk.chrome.tell(desk.popup, "unshareTab", tabId=one)
    assert (await desk.event("unshared", one))["why"] == "person"
    assert await refused(desk, "attach", tabId=one) == "denied"


async def test_all_tabs_but_the_forbidden_ones(desk: Desk, site: PageServer):
    _, one = await desk.tab(site.url("small.html"))
    _, settings = await desk.tab("chrome://version/")
    await desk.chrome.tell(desk.popup, "share", mode="all")
    await desk.event("shared", one)
    shared = {tab["tabId"]: tab["url"] for tab in (await desk.verb("tabs"))["tabs"]}
    assert one in shared
    assert settings not in shared
    assert not [url for url in shared.values() if not url.startswith(("http", "about:blank"))]
    _, later = await desk.tab(site.url("form.html"))
    await desk.event("shared", later)
    await desk.chrome.tell(desk.popup, "share", mode="group")
    await desk.event("unshared", one, why="person")


FORBIDDEN = [
    "chrome://settings/",
    "CHROME://version",
    "chrome-untrusted://terminal/",
    "devtools://devtools/bundled/inspector.html",
    "view-source:https://example.com/",
    "about:settings",
    "javascript:alert(1)",
    f"{ORIGIN}/popup.html",
    "blob:chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/1",
    "https://chromewebstore.google.com/",
    "https://chromewebstore.google.com./detail/x",
    "https://chrome.google.com/webstore/category/extensions",
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/api/docs",
    "http://[::1]:{port}/",
    "http://2130706433:{port}/",
    "nonsense",
]


async def test_forbidden_pages_are_neither_opened_nor_gone_to(desk: Desk):
    made = await desk.verb("open", url="about:blank")
    await desk.verb("attach", tabId=made["tabId"])
    for address in FORBIDDEN:
        address = address.format(port=desk.port)
        assert await refused(desk, "open", url=address) == "denied", address
        with pytest.raises(Refusal) as caught:
            await desk.cdp(made["tabId"], "Page.navigate", url=address)
        assert caught.value.code == "refused", address
    # A tab that has just been opened is nowhere yet.
    await desk.popup.until(f"chrome.tabs.get({made['tabId']}).then(({{ url }}) => url === 'about:blank')")
    assert [one["tabId"] for one in (await desk.verb("tabs"))["tabs"]] == [made["tabId"]]


async def test_a_shared_tab_that_goes_to_a_forbidden_page_is_let_go(desk: Desk, site: PageServer):
    page, tab = await desk.tab(site.url("small.html"))
    await desk.chrome.tell(desk.popup, "shareTab", tabId=tab)
    await desk.verb("attach", tabId=tab)
    await desk.chrome.go(page, "chrome://version/")
    assert await desk.event("unshared", tab) == {"why": "forbidden page"}
    with pytest.raises(Refusal) as caught:
        await desk.number(tab)
    assert caught.value.code == "not_shared"
    await desk.chrome.go(page, site.url("form.html"))
    assert (await desk.event("shared", tab))["url"]  # the person brought it back to where agents may be
    await desk.verb("attach", tabId=tab)
    assert await desk.number(tab) == 42


@pytest.mark.parametrize("address", [f"{ORIGIN}/popup.html", "chrome://version/"])
async def test_a_page_cannot_lead_its_tab_to_a_forbidden_page(desk: Desk, site: PageServer, address: str):
    """Chrome refuses, with an error page under that address; the tab is lost to the agent then."""
    made = await desk.verb("open", url=site.url("small.html"))
    tab = made["tabId"]
    await desk.verb("attach", tabId=tab)
    with contextlib.suppress(Refusal):
        await desk.cdp(
            tab, "Runtime.evaluate", expression=f"location = '{address}'; open('{address}')", userGesture=True
        )
    await desk.verb("ping")
    ours = await desk.popup.js("chrome.runtime.getContexts({contextTypes: ['TAB']}).then(all => all.length)")
    assert ours == 1  # the person's own
    shown = (await desk.popup.js(f"chrome.tabs.get({tab})"))["url"]
    assert not shown.startswith("chrome") or not desk.link.tabs


@pytest.mark.parametrize(
    "act",
    [
        "open('form.html')",
        "open()",
        "open('about:blank', 'x', 'width=300,height=300')",
        "document.body.innerHTML = '<a href=form.html target=_blank>'; document.querySelector('a').click()",
    ],
)
async def test_a_popup_of_a_shared_tab_is_shared_and_attached(desk: Desk, site: PageServer, act: str):
    """Also when its opener is not in front, where Chrome's own `openerTabId` names another."""
    made = await desk.verb("open", url=site.url("small.html"))
    tab = made["tabId"]
    await desk.loaded(tab)
    await desk.verb("attach", tabId=tab)
    await desk.cdp(tab, "Runtime.evaluate", expression=act, userGesture=True)
    child = await desk.event("shared", openerTabId=tab)
    assert child["targetId"]
    assert await desk.number(child["tabId"]) == 42


async def test_who_opened_a_tab_is_forgotten_with_the_tab(desk: Desk, site: PageServer):
    tab = (await desk.verb("open", url=site.url("small.html")))["tabId"]
    await desk.loaded(tab)
    await desk.verb("attach", tabId=tab)
    await desk.cdp(tab, "Runtime.evaluate", expression="open('form.html')", userGesture=True)
    child = (await desk.event("shared", openerTabId=tab))["tabId"]
    openers = "chrome.storage.session.get('openers').then(it => Object.keys(it.openers))"
    assert await desk.popup.js(openers) == [str(child)]
    await desk.verb("close", tabId=child)
    await desk.popup.until(f"{openers}.then(all => all.length === 0)")


REFUSES = """{ const real = chrome.tabs.ungroup.bind(chrome.tabs); let left = %d; globalThis.asked = 0;
chrome.tabs.ungroup = (tab) => { asked++; return left-- > 0 ? Promise.reject(new Error('a tab is dragged')) : real(tab) } }"""


async def test_an_ungroup_that_chrome_refuses_is_tried_again(desk: Desk, site: PageServer):
    """As it does while the person drags a tab."""
    tab = (await desk.verb("open", url=site.url("small.html")))["tabId"]
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(REFUSES % 2)
    assert await desk.chrome.tell(desk.popup, "unshareTab", tabId=tab) == {}
    assert await worker.js("asked") == 3
    assert tab not in desk.link.tabs
    assert (await desk.popup.js(f"chrome.tabs.get({tab})"))["groupId"] == -1


async def test_a_popup_of_the_persons_other_tab_is_not_shared(desk: Desk, site: PageServer):
    """Chrome says that the tab in front opened it; that one is shared, and did not."""
    page, _ = await desk.tab(site.url("small.html"))
    await desk.verb("open", url=site.url("small.html"), background=False)
    known = set(desk.link.tabs)
    await page.js("void open('form.html')", userGesture=True)
    await desk.popup.until(
        "chrome.tabs.query({url: '*://*/form.html', status: 'complete'}).then(all => all.length === 1)"
    )
    await desk.verb("ping")
    assert set(desk.link.tabs) == known


async def test_a_new_tab_of_the_persons_is_not_a_popup(desk: Desk, site: PageServer):
    """Chrome names the tab in front as the opener of every new one."""
    made = await desk.verb("open", url=site.url("small.html"), background=False)
    new = await desk.popup.js(f"chrome.tabs.create({{openerTabId: {made['tabId']}, url: 'chrome://newtab/'}})")
    await desk.popup.js(f"chrome.tabs.update({new['id']}, {{url: '{site.url('form.html')}'}})")
    await desk.popup.until(
        f"chrome.tabs.get({new['id']}).then(tab => tab.url.includes('form') && tab.status == 'complete')"
    )
    assert new["id"] not in desk.link.tabs
    assert await refused(desk, "attach", tabId=new["id"]) == "denied"


async def test_a_closed_tab_is_told(desk: Desk):
    made = await desk.verb("open", url="about:blank")
    await desk.verb("close", tabId=made["tabId"])
    assert await desk.event("unshared", made["tabId"]) == {"why": "closed"}
    assert await refused(desk, "close", tabId=made["tabId"]) == "denied"


async def test_a_title_that_never_rests_does_not_flood(desk: Desk, site: PageServer):
    made = await desk.verb("open", url=site.url("small.html"))
    tab = made["tabId"]
    await desk.loaded(tab)
    await desk.verb("attach", tabId=tab)
    restless = "new Promise(done => { let n = 0; const line = new MessageChannel();"
    restless += "line.port1.onmessage = () => { document.title = ++n; n < 3000 ? line.port2.postMessage(0) : done() };"
    restless += "line.port2.postMessage(0) })"
    began = asyncio.get_running_loop().time()
    await desk.cdp(tab, "Runtime.evaluate", expression=restless, awaitPromise=True)
    await desk.event("tab", tab, title="3000")
    seconds = asyncio.get_running_loop().time() - began
    assert sum(kind == "tab" for kind, *_ in desk.events) <= 4 * seconds + 4


async def test_a_window_is_told_and_changed_only_with_a_shared_tab(desk: Desk):
    made = await desk.verb("open", url="about:blank")
    told = await desk.verb("window", tabId=made["tabId"], bounds={"width": 900, "height": 700})
    assert (told["windowId"], told["width"], told["height"]) == (made["windowId"], 900, 700)
    assert await refused(desk, "window", windowId=999_999) == "denied"


async def test_a_command_it_does_not_know_is_unsupported(desk: Desk):
    for kind in ("eat", "constructor", "__proto__"):
        assert await refused(desk, kind) == "unsupported"


async def test_frames_of_other_origins_have_sessions_of_their_own(desk: Desk, site: PageServer):
    made = await desk.verb("open", url="about:blank")
    tab = made["tabId"]
    await desk.verb("attach", tabId=tab)
    await desk.cdp(tab, "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
    frame = f"<iframe src='{site.url('form.html', other=True)}'></iframe>"
    await desk.cdp(tab, "Page.navigate", url=site.url("small.html"))
    await desk.until(lambda: desk.link.tabs[tab].url == site.url("small.html"), "it has gone there")
    await desk.loaded(tab)
    await desk.cdp(tab, "Runtime.evaluate", expression=f"document.body.innerHTML = `{frame}`")
    attached = await desk.event("cdp", tab, method="Target.attachedToTarget")
    session = attached["params"]["sessionId"]
    await desk.cdp(tab, "Runtime.runIfWaitingForDebugger", session=session)
    told = await desk.cdp(tab, "Runtime.evaluate", session=session, expression="40+2")
    assert told["result"]["value"] == 42


async def test_a_window_of_the_other_world_is_not_taken_in(desk: Desk, site: PageServer):
    """An incognito tab that a shared one opened, as Chrome tells of it."""
    tab = (await desk.verb("open", url=site.url("small.html")))["tabId"]
    await desk.loaded(tab)
    await desk.verb("attach", tabId=tab)
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(
        "{ const get = chrome.tabs.get.bind(chrome.tabs); globalThis.mend = () => { chrome.tabs.get = get };"
        f" chrome.tabs.get = async (id) => ({{ ...(await get(id)), incognito: id !== {tab} }}) }}"
    )
    await desk.cdp(tab, "Runtime.evaluate", expression="void open('form.html')", userGesture=True)
    await desk.popup.until(
        "chrome.tabs.query({url: '*://*/form.html', status: 'complete'}).then(all => all[0]?.groupId === -1)"
    )
    await desk.verb("ping")
    assert list(desk.link.tabs) == [tab]
    await worker.js("mend()")
