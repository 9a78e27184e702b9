"""Rules of a site hold for what tools touch beside pages: its cookies, saved states, and answers in its place."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pilothouse.call import Call
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D01", "D03", "D12")

Say = Callable[[str], None]
READ_ONLY = '[[rules]]\nhost = "{}"\nwrite = false\n'
ASKS = '[[rules]]\nhost = "{}"\napproval = true\n'
POSTS = "<title>mine</title><script>fetch('/echo', {method: 'POST', body: 'mine'})</script>"
EVIL = """<input type=password id=p><p id=o></p>
<script>p.oninput = () => { o.textContent = [...p.value].reverse().join('') }</script>"""
VALUE = "Tr0ub4dor&3xyz"


async def said(agent: Agent, tool: str, **args: Any) -> str:
    """`ok`, or the code it failed with; nobody is waited for."""
    answer = await agent.gate.call(Call(tool, args, agent.caller, patience_s=0))
    return answer.data["error"]["code"] if answer.failed else "ok"


async def cookies(agent: Agent) -> set[str]:
    return {one["name"] for one in (await agent.call("get_cookies"))["cookies"]}


async def test_cookies_of_a_site_that_may_not_be_changed(agent: Agent, site: PageServer, say: Say) -> None:
    for domain in ("shop.test", ".bank.test", "intra.test"):
        await agent.call("set_cookie", name=domain.strip("."), value="1", domain=domain)
    say(
        READ_ONLY.format("https://www.bank.test:8443")
        + READ_ONLY.format("http://intra.test")
        + READ_ONLY.format("127.0.0.1")
    )
    for place in (
        {"domain": ".bank.test"},
        {"domain": "INTRA.test"},
        {"url": "http://intra.test/x"},
        {"domain": "0x7f.1"},
    ):
        failure = await fails(agent, "denied", "set_cookie", name="x", value="1", **place)
        assert "forbids changes" in failure.message
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "denied", "set_cookie", name="x", value="1")
    await agent.call("set_cookie", name="x", value="1", domain="bank.test")  # that host alone
    assert await cookies(agent) == {"shop.test", "x"}
    told = await agent.text("get_cookies", name="intra.test")
    assert "no cookies; 1 left out: the rules keep those of intra.test from this session" in told
    assert (await agent.call("delete_cookies", all=True))["deleted"] == 2
    say("")
    assert await cookies(agent) == {"bank.test", "intra.test"}


async def test_cookies_of_a_site_that_wants_to_be_asked_about(agent: Agent, say: Say) -> None:
    for domain in ("shop.test", "bank.test"):
        await agent.call("set_cookie", name=domain, value="1", domain=domain)
    say(ASKS.format("bank.test"))
    for tool, args in [
        ("set_cookie", {"name": "x", "value": "1", "domain": "bank.test"}),
        ("set_cookie", {"name": "x", "value": "1", "url": "https://bank.test/"}),
        ("get_cookies", {}),
        ("delete_cookies", {"all": True}),
        ("save_state", {"name": "touched"}),
    ]:
        assert await said(agent, tool, **args) == "approval_pending", tool
    assert await said(agent, "get_cookies", domain="shop.test") == "ok"
    assert await said(agent, "delete_cookies", domain="shop.test") == "ok"
    say("")
    assert await cookies(agent) == {"bank.test"}


async def test_states(agent: Agent, house: House, say: Say) -> None:
    for domain in ("shop.test", "bank.test"):
        await agent.call("set_cookie", name=domain, value="1", domain=domain)
    assert (await agent.call("save_state", name="both"))["cookies"] == 2
    say(READ_ONLY.format("bank.test"))
    assert (await agent.call("save_state", name="one"))["cookies"] == 1
    assert (await agent.call("load_state", name="both"))["cookies"] == 1
    say(ASKS.format("bank.test"))
    assert await said(agent, "load_state", name="both") == "approval_pending"
    assert await said(agent, "load_state", name="one") == "ok"
    async with house.agent() as other:
        await other.call("open_session", storage_state="both")
        say("")
        assert await cookies(other) == {"shop.test"}


@pytest.mark.parametrize("named", [True, False])
async def test_nobody_speaks_for_a_site_that_may_not_be_changed(
    agent: Agent, site: PageServer, say: Say, named: bool
) -> None:
    say(READ_ONLY.format("127.0.0.1"))
    mock = {"pattern": site.url("mine") if named else "*/mine", "body": POSTS}
    assert await said(agent, "mock_url", **mock) == ("denied" if named else "ok")
    await agent.ask("navigate", url=site.url("mine"))
    assert (await agent.call("get_network_log", method=["POST"]))["requests"] == []
    assert "mine" not in (await agent.call("get_page_title"))["title"]


@pytest.mark.parametrize("script", ["/mine.js", "http://localhost:{}/mine.js"])
async def test_nor_by_a_script_of_its_pages_or_frames(agent: Agent, site: PageServer, say: Say, script: str) -> None:
    say(READ_ONLY.format("127.0.0.1"))
    await agent.call("mock_url", pattern="*mine.js", body="document.title = 'mine'", content_type="text/javascript")
    page = site.inline(
        f"<title>its own</title><script src={script.format(site.url().split(':')[2].strip('/'))}></script>"
    )
    for url in (page, site.inline(f"<iframe src='{page}'></iframe>", other=True)):
        await agent.call("navigate", url=url)
        log = await agent.text("get_network_log", url_pattern="mine.js")
        assert "forbids changes" in log


async def test_where_a_person_is_to_be_asked_the_pattern_names_the_host(
    agent: Agent, site: PageServer, say: Say
) -> None:
    say(ASKS.format("127.0.0.1"))
    assert await said(agent, "mock_url", pattern=site.url("mine"), body=POSTS) == "approval_pending"
    assert (
        await said(agent, "mock_url", pattern=site.url("mine").replace("http:", "*:"), body=POSTS) == "approval_pending"
    )
    assert await said(agent, "mock_url", pattern="*/mine", body=POSTS) == "ok"
    assert "has to name this host" in (await fails(agent, "denied", "navigate", url=site.url("mine"))).message


async def test_a_mock_that_a_person_allowed(agent: Agent, site: PageServer, say: Say) -> None:
    say(ASKS.format("127.0.0.1"))
    url = site.url("mine")
    assert await said(agent, "mock_url", pattern=url, body=POSTS) == "approval_pending"
    mine = [one for one in agent.gate.approvals.pending() if one["session"] in agent.gate.session_ids(agent.caller)]
    await agent.gate.approvals.answer(mine[0]["id"], "allow")
    assert await said(agent, "mock_url", pattern=url, body=POSTS) == "ok"
    assert (await agent.call("navigate", url=url))["title"] == "mine"


async def test_nobody_speaks_for_what_stays(agent: Agent, site: PageServer) -> None:
    """The script of a service worker, and what it imports, would answer in sessions to come."""
    own = site.inline("importScripts('/mine.js')", type="text/javascript", headers={"Service-Worker-Allowed": "/"})
    await agent.call("navigate", url=site.url("small.html"))
    for pattern in ("*mine.js", "*mine-too.js"):
        await agent.call("mock_url", pattern=pattern, body="self.onfetch = () => 0", content_type="text/javascript")
    for script in (own, "/mine-too.js"):
        register = f"navigator.serviceWorker.register({script!r}).then(() => 'there', () => 'refused')"
        assert await agent.js(register) == "refused"


@pytest.fixture
def spoken(house: House) -> Iterator[str]:
    """A secret of this test alone: the house and its other tests do not know it."""
    yield f"secret:{house.secrets.set('spoken', VALUE, ['127.0.0.1']).name}"
    house.secrets.remove("spoken")


@pytest.mark.parametrize("mock", ["/login", "/evil.js"])
async def test_a_site_that_was_spoken_for_gets_no_secrets(
    agent: Agent, house: House, site: PageServer, spoken: str, mock: str
) -> None:
    field = "<input type=password id=p>"
    page = site.url("login") if mock == "/login" else site.inline(f"{field}<script src=/evil.js></script>")
    await agent.call("mock_url", pattern=f"*{mock}", body=EVIL if mock == "/login" else "1", times=1)
    await agent.call("navigate", url=page)
    failure = await fails(agent, "denied", "type_text", target="#p", text=spoken)
    assert "mock_url" in failure.message
    await agent.call("clear_intercepts")  # what was served may be kept
    await agent.call("navigate", url=site.inline(field))
    await fails(agent, "denied", "type_text", target="#p", text=spoken)
    async with house.agent() as other:
        await other.call("navigate", url=site.inline(field))
        await other.call("type_text", target="#p", text=spoken)
