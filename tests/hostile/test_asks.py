"""What browsers ask people, and servers ask browsers: nothing of it freezes a call."""

import pytest

from tests.hostile.conftest import code, timed
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A19")


async def test_basic_auth_ends_at_once_and_says_what_is_missing(agent: Agent, site: PageServer) -> None:
    await agent.call("list_tabs")
    asked = await timed(agent, "navigate", url=site.url("basic-auth"), limit_s=2)
    assert code(asked) == "navigation_failed"
    assert "401" in asked.text
    assert "into the address" in asked.text


async def test_basic_auth_with_the_answer_in_the_address(agent: Agent, site: PageServer) -> None:
    url = site.url("basic-auth").replace("http://", "http://ada:lovelace@")
    assert (await agent.call("navigate", url=url))["title"] == "Inside"


async def test_basic_auth_of_a_fetch_freezes_nothing(agent: Agent, site: PageServer) -> None:
    """Chrome waits for an answer to a question that nobody sees; the page and its calls go on."""
    await agent.call("navigate", url=site.inline("<button onclick='fetch(\"/basic-auth\")'>Ask</button>"))
    assert code(await timed(agent, "click", target="button", limit_s=4)) == "ok"
    assert "Ask" in (await timed(agent, "get_page_state", limit_s=4)).text


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        ("new Promise(r => navigator.geolocation.getCurrentPosition(() => r('yes'), () => r('no')))", "no"),
        ("Notification.requestPermission()", "denied"),
        ("navigator.mediaDevices ? navigator.mediaDevices.getUserMedia({audio: true}).then(() => 'yes', () => 'no') : 'no'", "no"),
        ("navigator.clipboard.readText().then(() => 'yes', () => 'no')", "no"),
        ("navigator.requestMIDIAccess({sysex: true}).then(() => 'yes', () => 'no')", "no"),
        ("(print(), 'printed')", "printed"),
        ("document.documentElement.requestFullscreen().then(() => 'done', () => 'done')", "done"),
        ("document.body.requestPointerLock().then(() => 'done', () => 'done')", "done"),
    ],
)  # fmt: skip
async def test_permissions_and_prints(agent: Agent, site: PageServer, ask: str, answer: str) -> None:
    await agent.call("navigate", url=site.url("small.html", other=True))
    said = await timed(agent, "evaluate_js", expression=ask, timeout_ms=4000, limit_s=4)
    assert said.data.get("value") == answer, said.text
    assert "Small page" in await agent.text("get_page_state")


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_file_chooser_is_told_and_answered(agent: Agent, site: PageServer, elsewhere: bool) -> None:
    page = "<input type=file aria-label=File onchange='document.title = this.files[0].name'>"
    if elsewhere:
        page = f"<iframe src='{site.inline(page, other=True)}'></iframe>"
    await agent.call("navigate", url=site.inline(page))
    assert "upload_file" in (await timed(agent, "click", target='role=button[name="File"]', limit_s=3)).text
    await agent.call("upload_file", files=[{"name": "a.txt", "data": "aGk="}])
    assert code(await agent.ask("get_page_state")) == "ok"


async def test_a_file_chooser_that_nobody_answers(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<input type=file aria-label=File><button>Go on</button>"))
    await agent.call("click", target="input")
    assert code(await timed(agent, "click", target="text=Go on", limit_s=2)) == "ok"


async def test_schemes_nobody_handles(agent: Agent, site: PageServer) -> None:
    links = "<a href='mailto:x@y.z'>Mail</a> <a href='odd:thing'>Odd</a> <a href='tel:1'>Call</a><a href='chrome://crash'>Crash</a>"
    await agent.call("navigate", url=site.inline(links))
    for name in ("Mail", "Odd", "Call", "Crash"):
        assert code(await timed(agent, "click", target=f"text={name}", limit_s=3)) == "ok"
    assert "Mail" in await agent.text("get_page_state")


@pytest.mark.parametrize("path", ["status/204", "status/205", "status/404", "status/500"])
async def test_odd_answers(agent: Agent, site: PageServer, path: str) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert code(await timed(agent, "navigate", url=site.url(path), limit_s=3)) in ("ok", "navigation_failed")
    assert code(await agent.ask("get_page_state")) == "ok"


async def test_a_server_that_is_gone_when_the_page_is_loaded_again(agent: Agent) -> None:
    with PageServer() as short_lived:
        await agent.call("navigate", url=short_lived.url("small.html"))
    for tool in ("reload", "navigate"):
        args = {"url": short_lived.url("form.html")} if tool == "navigate" else {}
        gone = await timed(agent, tool, limit_s=4, **args)
        assert code(gone) == "navigation_failed", gone.text
        assert short_lived.origin in gone.text
        assert "chrome-error" not in gone.text
