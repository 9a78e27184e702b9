"""F01, F06: a person pairs their browser by a code typed into the popup, and the popup tells the truth."""

import pytest

from pilothouse.guard import pairing
from pilothouse.providers import frames
from tests.promises import promise

from .conftest import Desk

pytestmark = promise("F01", "F06", "F08")


async def type_code(desk: Desk, code: str, name: str = "") -> None:
    await desk.popup.js(
        f"document.getElementById('code').value = '{code}'; document.getElementById('wish').value = '{name}';"
        "document.querySelector('#pairing button').click()"
    )


async def words(desk: Desk, wanted: str) -> None:
    await desk.popup.until(f"document.getElementById('words').textContent.includes({wanted!r})")


async def test_a_code_typed_into_the_popup_pairs(fresh: Desk):
    await words(fresh, "Not paired")
    await type_code(fresh, (await fresh.code()).lower(), "Anna at work")
    await words(fresh, "Connected")
    assert await fresh.popup.js("document.getElementById('name').textContent") == "anna-at-work"
    assert (fresh.link.name, fresh.link.state) == ("anna-at-work", "connected")
    listed = (await fresh.person("GET", "/api/extension/browsers"))["browsers"]
    assert [(one["name"], one["state"], one["version"]) for one in listed] == [("anna-at-work", "connected", "0.1.0")]


async def test_a_wrong_code_is_told_and_the_right_one_still_works(fresh: Desk):
    code = await fresh.code()
    wrong = code[:-1] + ("A" if code[-1] != "A" else "B")
    await type_code(fresh, wrong)
    await fresh.popup.until("document.getElementById('wrong').textContent.includes('not accepted')")
    await type_code(fresh, code)
    await words(fresh, "Connected")


async def test_a_used_code_is_refused(fresh: Desk):
    code = await fresh.code()
    assert await fresh.pair(code) == ""
    await fresh.chrome.tell(fresh.popup, "unpair")
    assert "not accepted" in await fresh.pair(code)
    assert (await fresh.state())["paired"] is False


async def test_an_old_code_is_refused(fresh: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pairing, "CODE_S", 0.0)
    assert "not accepted" in await fresh.pair(await fresh.code())


@pytest.mark.parametrize("typed", ["", "hello", "ABCD", "0-ABCD-EFGH", "99999-ABCD-EFGH"])
async def test_what_is_no_code_is_told_at_once(fresh: Desk, typed: str):
    assert (await fresh.pair(typed)).startswith("A code looks like ABCD-EFGH, or 38790-ABCD-EFGH")


async def test_a_daemon_that_is_not_there_is_told(fresh: Desk):
    assert "does not answer on port 9" in await fresh.pair("9-ABCD-EFGH")
    assert (await fresh.state())["mode"] == "off"


async def test_a_forgotten_browser_says_that_it_must_be_paired_again(desk: Desk):
    await desk.person("DELETE", "/api/extension/browsers/work")
    await words(desk, "pair it again")
    assert await desk.popup.js("!document.getElementById('pairing').hidden")
    assert (await desk.state())["mode"] == "problem"
    assert await desk.pair(await desk.code()) == ""
    await words(desk, "Connected")


SAID = """{ globalThis.said = []; const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) { said.push(JSON.parse(text)); send.call(this, text) } }"""


async def test_a_pairing_forgotten_in_the_popup_is_told_and_its_tabs_are_let_go(desk: Desk):
    tab = (await desk.verb("open", url="about:blank"))["tabId"]
    await desk.verb("attach", tabId=tab)
    worker = await desk.chrome.page(await desk.chrome.worker())
    await worker.js(SAID)
    await desk.popup.until("!document.getElementById('unpair').hidden")
    await desk.popup.js("document.getElementById('unpair').click()")
    await words(desk, "Not paired")
    state = await desk.state()
    assert (state["mode"], state["paired"], state["attachedTabs"]) == ("off", False, 0)
    assert {"type": "forgotten"} in await worker.js("said")


async def test_a_pairing_that_chrome_cannot_keep_is_told(fresh: Desk):
    """A full disk, say."""
    worker = await fresh.chrome.page(await fresh.chrome.worker())
    await worker.js(
        "{ const { local } = chrome.storage, set = local.set.bind(local); local.set = (change) =>"
        " change.pairing ? (local.set = set, Promise.reject(new Error('full'))) : set(change) }"
    )
    await type_code(fresh, await fresh.code())
    await fresh.popup.until("document.getElementById('wrong').textContent.includes('could not keep the pairing')")
    state = await fresh.state()
    assert (state["paired"], state["mode"]) == (False, "off")
    assert await fresh.pair(await fresh.code()) == ""


@pytest.mark.parametrize("answer", ["Promise.resolve({error: 'Error: broken'})", "Promise.reject(new Error('broken'))"])
async def test_what_goes_wrong_in_the_worker_is_shown(desk: Desk, answer: str):
    """It is no success, and not nothing."""
    send = f"{{ const real = chrome.runtime.sendMessage; chrome.runtime.sendMessage = () => {answer};"
    try:
        await desk.popup.js(send + "globalThis.mend = () => { chrome.runtime.sendMessage = real } }")
        await type_code(desk, "ABCD-EFGH")
        await desk.popup.until("document.getElementById('wrong').textContent.includes('broken')")
        assert await desk.popup.js("document.getElementById('code').value") == "ABCD-EFGH"
        await desk.popup.js("document.getElementById('stop').click()")
        await desk.popup.until("document.getElementById('next').textContent.includes('broken')")
    finally:
        await desk.popup.js("mend(); document.getElementById('pairing').reset()")
        await desk.popup.js("document.getElementById('wrong').textContent = ''")


async def test_versions_that_do_not_fit_are_told_to_the_person(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frames, "PROTOCOL", 2)
    desk.link._wire.close(1000, "go")  # pyright: ignore
    await words(desk, "says that the extension is older")
    told = await desk.person("GET", "/api/extension/browsers")
    assert "the extension is older" in told["misfit"]
    monkeypatch.undo()
    await desk.popup.js("document.getElementById('retry').click()")
    await words(desk, "Connected")
    assert (await desk.person("GET", "/api/extension/browsers"))["misfit"] == ""


async def test_the_secret_is_not_among_what_the_popup_gets(desk: Desk):
    secret = (await desk.popup.js("chrome.storage.local.get('pairing')"))["pairing"]["secret"]
    assert len(secret) >= 43
    assert secret not in str(await desk.state())


NAMED = ("button", "textbox", "radio")


async def controls(desk: Desk) -> dict[str, str]:
    """What somebody who does not see the popup hears of it."""
    nodes = (await desk.popup.channel.send("Accessibility.getFullAXTree"))["nodes"]
    seen = [node for node in nodes if not node["ignored"] and node["role"]["value"] in NAMED]
    return {node["name"]["value"]: node["role"]["value"] for node in seen}


async def test_every_control_of_the_popup_has_a_name(fresh: Desk):
    await words(fresh, "Not paired")
    assert await controls(fresh) == {
        "Code from pilothouse extension pair": "textbox",
        "Name of this browser (if you like)": "textbox",
        "Pair": "button",
    }
    assert await fresh.pair(await fresh.code()) == ""
    await words(fresh, "Connected")
    told = await controls(fresh)
    assert {"Stop everything", "Forget this pairing", "all tabs", "the tab group “Pilothouse”"} <= told.keys()
    assert "" not in told
