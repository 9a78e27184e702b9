"""A real browser under a policy: the page that is really there decides, before the action and after it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser import snapshot
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.call import Call, Caller
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.border import Border
from pilothouse.guard.policy import Decision, Question
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D03", "D02", "D01", "D05", "D09")

SECRET = "the-secret-of-the-denied-page"
# Written by the page itself: its address, which an agent may know, does not hold it.
WRITTEN = "<script>const s = [...'{}'].reverse().join(''); document.title = s; document.write({})</script>"
DENIED = WRITTEN.format(SECRET[::-1], "`<h1>${s}</h1><button id=go>${s}</button>`")

Say = Callable[[str], None]


@pytest.fixture
def denied(site: PageServer) -> str:
    """A page of a host that the tests deny: localhost, where the others are 127.0.0.1."""
    return site.inline(DENIED).replace("127.0.0.1", "localhost")


# This machine is one place: who names the address as it is spelled keeps it open.
NO_LOCALHOST = '[[rules]]\nhost = "localhost"\nread = false\n[[rules]]\nhost = "127.0.0.1"\n'


def tab_of(house: House, agent: Agent) -> Tab:
    (session,) = house.sessions.of((agent.caller.key, agent.caller.connection))
    assert session.current
    return session.current


async def test_an_address_that_is_denied_is_not_opened(
    agent: Agent, house: House, site: PageServer, say: Say, denied: str
):
    say(NO_LOCALHOST)
    await agent.call("navigate", url=site.url("small.html"))
    for tool in ("navigate", "new_tab"):
        problem = await fails(agent, "denied", tool, url=denied)
        assert problem.details["rule"] == "rule localhost"
        assert "read = true" in problem.details["line"]
    said = await agent.ask("navigate", url=denied)  # who reads the text only has it too
    assert "\nthe line for policy.toml:\n    " + problem.details["line"].replace("\n", "\n    ") in said.text
    assert tab_of(house, agent).url == site.url("small.html")


async def test_schemes(agent: Agent, say: Say, site: PageServer, tmp_path: Path):
    for url in ("data:text/html,<title>data</title>", "chrome://version"):
        problem = await fails(agent, "denied", "navigate", url=url)
        assert problem.details["line"].startswith("[[rules]]")
    say('[[rules]]\nhost = "data:"\n')
    await agent.call("navigate", url=site.inline("<title>web</title>"))
    assert (await agent.call("navigate", url="data:text/html,<title>data</title>"))["title"] == "data"
    assert "web" in await agent.text("go_back")
    await fails(agent, "denied", "navigate", url="chrome://version")
    for never in (
        "javascript:alert(1)", "view-source:http://example.com", "chrome-extension://abc/x.html", tmp_path.as_uri(),
        "devtools://devtools/bundled/inspector.html",
    ):  # fmt: skip
        problem = await fails(agent, "denied", "navigate", url=never)
        assert "line" not in problem.details
    assert "http.server" in str((await fails(agent, "denied", "navigate", url=tmp_path.as_uri())).suggestions)


READS = [
    ("get_page_state", {}), ("get_page_text", {}), ("screenshot", {}), ("find", {"text": "secret"}), ("get_ax_tree", {}),
    ("get_page_title", {}), ("get_current_url", {}), ("get_dom_context", {"target": "h1"}), ("get_console_logs", {}),
    ("extract_data", {"fields": {"title": "h1"}}), ("evaluate_js", {"expression": "document.title"}),
    ("wait_for_text", {"text": SECRET}), ("get_network_log", {}), ("get_cookies", {}), ("get_storage", {}),
    ("print_to_pdf", {}), ("export_har", {"bodies": True}), ("click", {"target": "#go"}), ("hover", {"target": "#go"}),
    ("batch", {"steps": [{"tool": "get_page_text"}]}), ("list_tabs", {}), ("reload", {}), ("get_frames", {}),
]  # fmt: skip


OF_THE_SESSION = ("list_tabs", "get_cookies", "export_har")  # which leave out what is denied


async def test_a_page_that_is_denied_meanwhile_is_not_read_by_any_tool(
    agent: Agent, house: House, say: Say, denied: str
):
    """The policy was changed while the page was open."""
    await agent.call("navigate", url=denied)
    await agent.js("console.error(document.title); document.cookie = `known=${document.title}`")
    assert SECRET in await agent.text("get_cookies")
    say(NO_LOCALHOST)
    for tool, args in READS:
        answer = await agent.ask(tool, **args)
        assert answer.failed == (tool not in OF_THE_SESSION), tool
        if answer.failed:
            assert answer.data["error"]["code"] == "denied", tool
        assert SECRET not in answer.text + json.dumps(answer.data), tool
        assert not answer.images, tool
        if path := answer.data.get("path"):
            assert SECRET not in Path(path).read_text(), tool
    assert (await agent.call("navigate", url="about:blank"))["url"] == "about:blank"  # leaving is always allowed
    say("")
    assert SECRET in (await agent.text("go_back"))


async def test_a_tab_that_leaves_while_it_is_shown_is_judged_by_what_was_read(
    agent: Agent, house: House, site: PageServer, say: Say, denied: str, monkeypatch: pytest.MonkeyPatch
):
    """Tools of a session read a page that nobody has judged before."""
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=denied)
    tab = tab_of(house, agent)
    await agent.call("switch_tab", tab="t1")
    say(NO_LOCALHOST)
    read = snapshot.take

    async def read_and_leave(of: Tab, options: snapshot.Options) -> snapshot.Snapshot:
        seen = await read(of, options)
        assert SECRET in seen.text
        tab.channel.post("Page.navigate", url=site.url("form.html"))
        assert await tab.signal.until(lambda: tab.url == site.url("form.html") and tab.document.dom_ready, 5)
        return seen

    monkeypatch.setattr(snapshot, "take", read_and_leave)
    answer = await agent.ask("switch_tab", tab="t2", snapshot="full")
    assert answer.data["error"]["code"] == "denied"
    assert SECRET not in answer.text + json.dumps(answer.data)
    monkeypatch.undo()
    assert "unchanged" not in (shown := await agent.text("switch_tab", tab="t2", snapshot="diff"))
    assert "Text" in shown


async def test_the_page_is_not_shown_while_a_person_has_the_wheel(
    agent: Agent, house: House, site: PageServer, monkeypatch: pytest.MonkeyPatch
):
    """They may be signing in: what waited for it is told, and not what they see."""
    asked, call = asyncio.Event(), World.call

    async def heard(world: World, function: str, *args: Any, **options: Any) -> Any:
        if function == "waitFor":
            asked.set()
        return await call(world, function, *args, **options)

    monkeypatch.setattr(World, "call", heard)
    await agent.call("navigate", url=site.inline("<h1>Quiet</h1>"))
    tab = tab_of(house, agent)
    (session,) = house.sessions.of((agent.caller.key, agent.caller.connection))
    waiting = asyncio.create_task(agent.ask("wait_for", text="Inbox", snapshot="full"))
    await asyncio.wait_for(asked.wait(), 5)
    session.pause.take()
    await tab.channel.send("Runtime.evaluate", expression="document.body.textContent = 'Inbox of Ada'")
    answer = await waiting
    session.pause.give_back()
    assert not answer.failed
    assert "a person has the wheel" in answer.text
    assert "Ada" not in answer.text + json.dumps(answer.data)
    assert "Ada" in await agent.text("get_page_state")


async def test_nor_is_it_in_the_log(agent: Agent, house: House, say: Say, denied: str):
    await agent.call("navigate", url=denied)
    say(NO_LOCALHOST)
    for tool, args in READS:
        await agent.ask(tool, **args)
    for record in house.gate._audit.tail(len(READS) * 3):
        if record.get("tool") != "wait_for_text":  # the agent's own words
            assert SECRET not in json.dumps(record)


@pytest.mark.parametrize("way", ["link", "redirect", "script", "popup"])
async def test_where_an_action_ends_decides_what_is_told(
    agent: Agent, site: PageServer, say: Say, denied: str, way: str
):
    say(NO_LOCALHOST)
    body = {
        "link": f"<a id=a href='{denied}'>go</a>",
        "redirect": f"<a id=a href='{site.url(f'redirect?to={denied}')}'>go</a>",
        "script": f"<button id=a onclick=\"location='{denied}'\">go</button>",
        "popup": f"<button id=a onclick=\"window.open('{denied}')\">go</button>",
    }[way]
    await agent.call("navigate", url=site.inline(body))
    answer = await agent.ask("click", target="#a", snapshot="full")
    assert SECRET not in answer.text + json.dumps(answer.data)
    if way == "popup":
        late = await agent.ask("wait_for_new_tab")
        assert late.failed
        assert late.data["error"]["code"] == "denied"
        assert SECRET not in late.text + json.dumps(late.data)
        listed = await agent.ask("list_tabs")
        assert not listed.failed
        assert SECRET not in listed.text + json.dumps(listed.data)
        return
    assert answer.failed
    error = answer.data["error"]
    assert (error["code"], error["details"]["rule"]) == ("denied", "rule localhost")
    assert error["details"].get("ran", False) is (way != "link")  # where a link leads is seen before it is used


async def test_a_redirect_is_judged_by_where_it_ends(agent: Agent, site: PageServer, say: Say, denied: str):
    say(NO_LOCALHOST)
    problem = await fails(agent, "denied", "navigate", url=site.url(f"redirect?to={denied}"))
    assert "localhost" in problem.message
    assert SECRET not in problem.message


async def test_a_page_that_comes_and_goes_during_a_call(
    agent: Agent, house: House, site: PageServer, say: Say, denied: str, monkeypatch: pytest.MonkeyPatch
):
    """At the end of the call another page is there; what it may have read in between is not told. (The network would
    not let it come: here it looks away.)"""
    back = site.url("small.html")
    passing = site.inline(f"{DENIED}<script>onload = () => location = '{back}'</script>", other=True)
    monkeypatch.setattr(house.borders, "changed", lambda: None)
    await agent.call("navigate", url=site.url("form.html"))
    monkeypatch.setattr(Border, "refused", lambda border, url: None)
    monkeypatch.setattr(Border, "host", lambda border, host, port: None)
    monkeypatch.setattr(Border, "address", lambda border, host, address, port: None)
    monkeypatch.setattr(Border, "watch", "")
    say(NO_LOCALHOST)
    await agent.call("navigate", url=site.url("form.html"))
    tab = tab_of(house, agent)
    watching = asyncio.create_task(agent.ask("wait_for_url", url="*/small.html", timeout_ms=20_000))
    while not (session := house.sessions.of((agent.caller.key, agent.caller.connection))[0]).busy:
        await asyncio.sleep(0)
    assert session.busy == 1
    tab.channel.post("Page.navigate", url=passing)
    answer = await watching
    assert tab.url == back
    assert answer.data["error"]["details"]["rule"] == "rule localhost"
    assert (await agent.call("get_current_url"))["url"] == back


async def test_a_frame_of_a_denied_host(agent: Agent, site: PageServer, say: Say, denied: str):
    await agent.call("navigate", url=site.inline(f"<h1>outside</h1><iframe src='{denied}'></iframe>"))
    assert SECRET in await agent.text("get_page_state")
    say(NO_LOCALHOST)
    answer = await agent.ask("get_page_state")
    assert answer.failed
    assert answer.data["error"]["code"] == "denied"
    assert "a frame of the page" in answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize("where", ["session", "everywhere"])
async def test_readonly(agent: Agent, site: PageServer, say: Say, where: str):
    say('mode = "readonly"' if where == "everywhere" else "")
    await agent.call("open_session", mode="readonly" if where == "session" else "auto")
    await agent.call("navigate", url=site.url("form.html"))
    assert "form" in (await agent.text("get_page_state")).lower()
    for tool, args in (
        ("click", {"target": "button"}),
        ("type_text", {"target": "#name", "text": "Ada"}),
        ("evaluate_js", {"expression": "1"}),
        ("press_key", {"key": "Enter"}),
        ("get_cookies", {}),
    ):
        problem = await fails(agent, "denied", tool, **args)
        assert problem.details["rule"] == "mode readonly"
    steps = [{"tool": "get_page_text"}, {"tool": "press_key", "args": {"key": "Tab"}}, {"tool": "get_page_text"}]
    problem = await fails(agent, "denied", "batch", steps=steps)
    assert problem.details["step"] == 2


async def test_a_session_cannot_widen_the_policy(agent: Agent, site: PageServer, say: Say):
    say('mode = "readonly"')
    await agent.call("open_session", mode="auto")
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "denied", "evaluate_js", expression="1")


class Yes(Approvals):
    """A person who says yes, after doing something."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Question, Decision]] = []
        self.meanwhile: Callable[[], object] = lambda: None

    async def ask(self, question: Question, decision: Decision, **waiting: Any) -> bool:
        if decision.verdict != "ask":
            return await super().ask(question, decision, **waiting)
        self.asked.append((question, decision))
        result = self.meanwhile()
        if asyncio.iscoroutine(result):
            await result
        return True


@pytest.fixture
def person(house: House, monkeypatch: pytest.MonkeyPatch) -> Yes:
    one = Yes()
    monkeypatch.setattr(house.gate.permits, "approvals", one)
    monkeypatch.setattr(house.approvals, "ask", one.ask)  # the network's questions
    return one


async def test_what_is_asked_is_about_the_page_that_is_there(
    agent: Agent, house: House, site: PageServer, say: Say, person: Yes
):
    say('template = "careful"\n[[rules]]\nhost = "127.0.0.1"\n')
    await agent.call("navigate", url=site.url("form.html"))
    assert person.asked == []
    await agent.call("click", target="h1")
    ((question, decision),) = person.asked
    tab = tab_of(house, agent)
    assert (question.urls, question.tab, question.document) == ((tab.url,), tab.name, tab.document.loader_id)
    assert decision.once_for == f"127.0.0.1:{site.port} (changes)"


async def test_after_a_wait_for_a_person_it_is_decided_again(
    agent: Agent, house: House, site: PageServer, say: Say, person: Yes
):
    careful = 'template = "careful"\n[[rules]]\nhost = "127.0.0.1"\n'
    say(careful)
    await agent.call("navigate", url=site.url("form.html"))
    person.meanwhile = lambda: say(f"{careful}write = false\n")
    problem = await fails(agent, "denied", "click", target="input")
    assert problem.details["rule"] == "rule 127.0.0.1"


async def test_a_yes_ends_with_the_page_it_was_given_for(
    agent: Agent, house: House, site: PageServer, say: Say, person: Yes
):
    say('template = "careful"\n[[rules]]\nhost = "127.0.0.1"\n')
    await agent.call("navigate", url=site.url("form.html"))
    tab = tab_of(house, agent)

    async def leave() -> None:
        before = tab.document
        tab.channel.post("Page.navigate", url=site.url("small.html"))
        assert await tab.signal.until(lambda: tab.document is not before, 10)

    person.meanwhile = leave
    problem = await fails(agent, "stale_ref", "click", target="body")
    assert "while a person was asked" in problem.message


async def test_a_call_that_waited_for_its_turn_is_decided_again(
    agent: Agent, house: House, site: PageServer, say: Say, denied: str
):
    say('[[rules]]\nhost = "localhost"\nwrite = false\n')
    await agent.call("navigate", url=site.url("small.html"))
    tab = tab_of(house, agent)
    await tab.turn.acquire()
    try:
        waiting = asyncio.create_task(agent.ask("press_key", key="Tab"))
        while not tab.turn.waiting:
            await asyncio.sleep(0)
        before = tab.document
        tab.channel.post("Page.navigate", url=denied)
        assert await tab.signal.until(lambda: tab.document is not before, 10)
    finally:
        tab.turn.release()
    answer = await waiting
    assert answer.data["error"]["code"] == "denied"
    assert "rule localhost forbids changes" in answer.text


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("swipe", {"direction": "up"}),
        ("emulate", {"color_scheme": "dark"}),
        ("press_key", {"key": "a"}),
        ("set_storage", {"key": "a", "value": "b"}),
    ],
)
async def test_a_call_that_waited_for_the_last_action_is_decided_again(
    agent: Agent, site: PageServer, say: Say, tool: str, args: dict[str, Any]
):
    """A late timer of the page that was pressed leads elsewhere: the next call waits for that, and acts there or not."""
    say('[[rules]]\nhost = "localhost"\nwrite = false\n[[rules]]\nhost = "127.0.0.1"\n')
    elsewhere = site.url("small.html", other=True)
    leads = f"<button id=go onclick=\"setTimeout(() => {{ location = '{elsewhere}' }}, 60)\">Go</button>"
    await agent.call("navigate", url=site.inline(leads))
    await agent.call("click", target="#go")
    await fails(agent, "denied", tool, **args)
    assert (await agent.call("get_current_url"))["url"] == elsewhere


async def test_a_new_place_at_the_end_is_asked_about_before_it_is_told(
    agent: Agent, site: PageServer, say: Say, person: Yes, denied: str
):
    say('default = "ask"\n[[rules]]\nhost = "127.0.0.1"\n')
    await agent.call("navigate", url=site.inline(f"<a id=a href='{denied}'>go</a>"))
    assert person.asked == []
    await agent.call("click", target="#a")
    assert [question.tool for question, _ in person.asked] == ["click", "navigation", "click"]
    assert {decision.once_for for _, decision in person.asked} == {f"localhost:{site.port}"}


# Budgets


async def test_a_step_budget(agent: Agent, site: PageServer, say: Say):
    say("step_budget = 3")
    await agent.call("navigate", url=site.url("small.html"))
    steps = [{"tool": "get_page_text"}, {"tool": "get_page_text"}, {"tool": "get_page_text"}]
    problem = await fails(agent, "over_limit", "batch", steps=steps)
    assert problem.details["step"] == 3  # a batch counts its steps, and not itself
    problem = await fails(agent, "over_limit", "get_page_text")
    assert problem.details["step_budget"] == 3
    await agent.call("list_sessions")  # is about no session
    assert (await agent.call("close_session"))["closed"]


async def test_steps_an_hour_belong_to_the_key(agent: Agent, house: House, site: PageServer, say: Say):
    caller = Caller("hasty", "test-hour-1", "mcp")
    say('[[rules]]\nhost = "127.0.0.1"\nmax_steps_per_hour = 3\n')
    async with Agent(house.gate, caller) as first:
        await first.call("navigate", url=site.url("small.html"))
        await first.call("get_page_text")
        await first.call("get_page_text")
        problem = await fails(first, "over_limit", "get_page_text")
        assert 3500 < problem.details["retry_after_s"] <= 3600
        assert problem.retryable
        new = (await first.call("open_session"))["session"]  # which renews nothing
        await fails(first, "over_limit", "navigate", url=site.url("small.html"), session=new)
    for door, connection in (("mcp", "test-hour-2"), ("rest", "")):
        async with Agent(house.gate, Caller("hasty", connection, door)) as again:
            await fails(again, "over_limit", "navigate", url=site.url("small.html"))
    await agent.call("navigate", url=site.url("small.html"))  # another key


LATE = """<form><input id=a oninput="if (!window.b) { b = document.createElement('input'); b.id = 'late'; after(b) }"></form>
<script>function after(one) { document.querySelector('#a').after(one) }</script>"""


def allowing(house: House, answered: list[str]) -> Callable[[], None]:
    """A person who allows whatever comes, for as long as is usual."""

    def hear(event: dict[str, Any]) -> None:
        if event["kind"] == "pending":
            answered.append(ident := event["approval"]["id"])
            task = asyncio.ensure_future(house.approvals.answer(ident, "allow"))
            task.add_done_callback(lambda done: done.result())

    return house.approvals.follow(hear)


async def test_a_field_that_comes_late_is_covered_by_what_was_granted(agent: Agent, house: House, site: PageServer):
    answered: list[str] = []
    leave = allowing(house, answered)
    try:
        await agent.call("open_session", mode="ask")
        await agent.call("navigate", url=site.inline(LATE))
        answered.clear()
        await agent.call("fill_form", fields=[{"target": "#a", "value": "1"}, {"target": "#late", "value": "2"}])
        assert len(answered) == 1
        assert await agent.js("document.querySelector('#a').value + b.value") == "12"
    finally:
        leave()


async def test_a_batch_that_waits_for_a_person_is_not_to_be_repeated_whole(
    agent: Agent, house: House, site: PageServer
):
    await agent.call("navigate", url=site.inline("<button>Next</button><button>Pay now</button>"))
    steps = [{"tool": "click", "args": {"target": f"text={name}"}} for name in ("Next", "Pay now")]
    call = Call("batch", {"steps": steps}, agent.caller, patience_s=0)
    error = (await agent.gate.call(call)).data["error"]
    assert (error["code"], error["details"]["step"]) == ("approval_pending", 2)
    assert "client_may_answer" not in error["details"]
    assert error["suggestions"][-1] == "steps 1 to 1 are done; go on from step 2"
    assert not any("repeat" in one for one in error["suggestions"])
    call.args["steps"] = steps[1:]  # when nothing is done yet, the call may be made again as it is
    error = (await agent.gate.call(call)).data["error"]
    assert error["code"] == "approval_pending"
    assert "client_may_answer" in error["details"]


@promise("D06")
async def test_a_session_through_a_proxy_is_asked_about_where_care_is_taken(agent: Agent, house: House, say: Say):
    say('template = "careful"\n')
    call = asyncio.create_task(agent.ask("open_session", proxy="http://ada:hunter2@127.0.0.1:9"))
    async with asyncio.timeout(10):
        while not (pending := house.approvals.pending()):
            await asyncio.sleep(0.005)
    assert (pending[0]["tool"], pending[0]["risk"]) == ("open_session", "medium")
    assert "proxy" in pending[0]["why"]
    assert "hunter2" not in json.dumps(pending)
    await house.approvals.answer(pending[0]["id"], "deny")
    assert (await call).data["error"]["code"] == "approval_denied"
    assert not house.sessions.of((agent.caller.key, agent.caller.connection))
    await agent.call("open_session", allowed_domains=["example.com"])  # without one, nobody is asked
