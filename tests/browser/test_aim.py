"""What a call points at is told live, and the tool acts on that very thing or on nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.call import Caller
from pilothouse.gate import Gate
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.policy import Aim, Decision, Policy, Question
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D03", "D06", "D08")


class Judge(Policy):
    """Allows, and remembers what it was asked; `answer` may say otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Question] = []
        self.answer: Callable[[Question], Decision] = lambda question: Decision("allow", "test")
        self.wants = True

    def wants_aims(self, browser: str, mode: str) -> bool:
        return self.wants

    def weigh(self, question: Question) -> tuple[Decision, ...]:
        self.asked.append(question)
        return (self.answer(question),)

    @property
    def aims(self) -> tuple[Aim, ...]:
        return self.asked[-1].aims


class Person(Approvals):
    """Somebody who takes a while; `meanwhile` is what happens until they answer."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Any] | None = None

    async def ask(self, question: Question, decision: Decision, **waiting: Any) -> bool:
        if decision.verdict != "ask" or not self.meanwhile:
            return await super().ask(question, decision, **waiting)
        await self.meanwhile()
        return True


class Judged(Agent):
    judge: Judge
    person: Person


@pytest.fixture
async def judged(house: House, tmp_path: Path) -> AsyncIterator[Judged]:
    judge, person = Judge(), Person()
    gate = Gate(house.gate.registry, house.sessions, judge, person, Audit(tmp_path))
    agent = Judged(gate, Caller("default", f"judged-{tmp_path.name}", "mcp"))
    agent.judge, agent.person = judge, person
    async with agent:
        yield agent


async def shown(agent: Agent, site: PageServer, html: str) -> None:
    await agent.call("navigate", url=site.inline(html))


async def code_of(agent: Agent, tool: str, **args: Any) -> str:
    answer = await agent.ask(tool, **args)
    return answer.data["error"]["code"] if answer.failed else "ok"


# What is told


async def test_a_button_tells_its_form_and_where_it_goes(judged: Judged, site: PageServer) -> None:
    await shown(
        judged,
        site,
        """<form action="/login" onsubmit="return false"><input name=user><input type=password name=pw>
        <button id=go>Sign in</button></form>""",
    )
    await judged.call("click", target="#go")
    (aim,) = judged.judge.aims
    assert (aim.role, aim.name, aim.kind, aim.purpose) == ("button", "Sign in", "submit", "go")
    assert aim.form == "password"
    assert aim.leads_to == f"{site.origin}/login"
    assert aim.url.startswith(site.origin)


@pytest.mark.parametrize("target", ["#inner", "#outer", "text=Pay", "#label", "#box"])
async def test_a_press_is_judged_by_whatever_it_sets_off(judged: Judged, site: PageServer, target: str) -> None:
    """The span in a button, the box around it, its label: all of them press the button."""
    await shown(
        judged,
        site,
        """<div id=box style="width:200px"><button id=outer style="width:200px" onclick="document.title='paid'">
        <span id=inner>Pay now</span></button></div><label id=label for=outer>Go on</label>""",
    )
    await judged.call("click", target=target)
    assert "Go on / Pay now" in [aim.name for aim in judged.judge.aims]
    assert await judged.js("document.title") == "paid"


async def test_a_link_and_a_download(judged: Judged, site: PageServer) -> None:
    await shown(
        judged, site, '<a id=a href="#x">There</a><a id=b href="/f.bin" download onclick="return false">File</a>'
    )
    await judged.call("click", target="#a")
    assert judged.judge.aims[0].leads_to.endswith("#x")
    assert judged.judge.aims[0].form == ""
    await judged.call("click", target="#b")
    assert judged.judge.aims[0].kind == "download"


async def test_what_fields_hold_and_are_for(judged: Judged, site: PageServer) -> None:
    await shown(
        judged,
        site,
        """<form onsubmit="return false"><input id=n autocomplete="cc-number"><input id=p type=password>
        <input id=o autocomplete=one-time-code><button id=b>Pay</button></form><div><input id=f type=file></div>""",
    )
    await judged.call("fill_form", fields=[{"target": "#n", "value": "1"}, {"target": "#p", "value": "x"}])
    first, second = judged.judge.aims
    assert first.purpose == "cc-number n"
    assert second.kind == "password"
    await judged.call("click", target="#b")
    assert judged.judge.aims[0].form == "card,code,password"


async def test_fields_that_no_form_holds_together(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, "<main><div><input type=password></div><p><button id=b>Go</button></p></main>")
    await judged.call("click", target="#b")
    assert judged.judge.aims[0].form == "password"


@pytest.mark.parametrize(
    ("html", "form"),
    [
        ("<form><input type=password><div id=go role=button onclick='0'>Go on</div></form>", "password"),
        ("<form><input type=password><a id=go onclick='0'>Go on</a></form>", "password"),
        ("<form><input type=password><p onclick='0'><b id=go>Go on</b></p></form>", "password"),
        ("<form><input type=password><p id=go>Go on</p></form>", ""),  # nobody can press it
        ("<form><input type=password><label><input type=checkbox><b id=go>Yes</b></label></form>", ""),
        ("<div><form><input type=password></form><footer><button id=go>Go on</button></footer></div>", ""),
        ("<div><form><input type=password></form><p><button id=go>Go on</button></p></div>", "password"),
        ("<div><form><input type=password><button>In</button></form><p><button id=go>Help</button></p></div>", ""),
    ],
)
async def test_what_is_pressed_in_or_beside_a_form(judged: Judged, site: PageServer, html: str, form: str) -> None:
    await shown(judged, site, html)
    await judged.call("click", target="#go")
    assert judged.judge.aims[0].form == form


async def test_a_button_in_a_component_sends_the_form_around_it(judged: Judged, site: PageServer) -> None:
    inside = "host.attachShadow({mode: 'open'}).innerHTML = '<button id=go>Go on</button>'"
    await shown(judged, site, f"<form><input type=password><span id=host></span></form><script>{inside}</script>")
    await judged.call("click", target="#host >>> #go")
    assert judged.judge.aims[0].form == "password"


async def test_enter_means_the_button_of_the_form(judged: Judged, site: PageServer) -> None:
    await shown(
        judged,
        site,
        """<form onsubmit="document.title='sent'; return false"><input id=a><button>Place order</button></form>""",
    )
    await judged.call("type_text", target="#a", text="x", submit=True)
    assert [aim.name for aim in judged.judge.aims] == ["", "Place order"]
    assert await judged.js("document.title") == "sent"
    await judged.call("press_key", key="Enter")
    assert [aim.role for aim in judged.judge.aims] == ["textbox", "button"]
    await judged.call("press_key", key="a")
    assert [aim.role for aim in judged.judge.aims] == ["textbox"]


async def test_a_question_that_a_button_answers(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, "<div role=alertdialog><h2>Delete everything?</h2><button id=y>Yes</button></div>")
    await judged.call("click", target="#y")
    assert [(aim.role, aim.name) for aim in judged.judge.aims] == [("button", "Yes"), ("dialog", "Delete everything?")]


async def test_a_dialog_of_the_browser(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, "<button id=b onclick=\"document.title = confirm('Delete it?')\">Go</button>")
    await judged.ask("click", target="#b")
    await judged.call("handle_dialog", accept=True)
    (aim,) = judged.judge.aims
    assert (aim.role, aim.kind, aim.name) == ("dialog", "confirm", "Delete it?")


@pytest.mark.parametrize("other", [False, True], ids=["same site", "other site"])
async def test_inside_a_frame(judged: Judged, site: PageServer, other: bool) -> None:
    """By target, by point and by keys: it is the frame's document that counts."""
    inner = site.inline('<button id=p style="width:100px;height:50px" onclick="this.textContent=\'Paid\'">Pay</button>')
    inner = inner.replace(site.origin, site.other_origin) if other else inner
    await shown(judged, site, f'<body style="margin:0"><iframe style="border:0" src="{inner}"></iframe>')
    await judged.call("click", target="#p")
    assert judged.judge.aims[0].url == inner
    assert judged.judge.asked[-1].urls[1] == inner
    await judged.call("click_at", x=20, y=20)
    assert (judged.judge.aims[0].name, judged.judge.aims[0].url) == ("Paid", inner)
    await judged.call("press_key", key="Space")
    assert judged.judge.aims[0].url == inner


async def test_a_frame_without_an_address_is_its_makers(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, '<iframe srcdoc="<button id=p>Pay</button>"></iframe>')
    await judged.call("click", target="#p")
    assert judged.judge.aims[0].url == site.origin


async def test_names_without_end_are_cut(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, "<button id=b></button><script>b.textContent = 'x'.repeat(1_000_000)</script>")
    await judged.call("click", target="#b")
    assert len(judged.judge.aims[0].name) <= 200


async def test_nobody_looks_when_it_does_not_matter(judged: Judged, site: PageServer) -> None:
    judged.judge.wants = False
    await shown(judged, site, "<button id=b>Go</button>")
    await judged.call("click", target="#b")
    assert judged.judge.aims == ()


async def test_reads_point_at_nothing(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, "<button id=b>Go</button>")
    for tool, args in {
        "get_page_text": {"target": "#b"},
        "hover": {"target": "#b"},
        "evaluate_js": {"expression": "1"},
    }.items():
        await judged.call(tool, **args)
        assert judged.judge.aims == (), tool


async def test_a_call_is_judged_when_its_turn_has_come(judged: Judged, site: PageServer) -> None:
    """Two calls at once: the second is about a page that the first one has still to open."""
    there = site.inline("<button id=there>There</button>")
    await shown(judged, site, f'<a id=a href="{there}">Go</a>')
    first, second = await asyncio.gather(judged.ask("click", target="#a"), judged.ask("click", target="#there"))
    assert not first.failed, first.text
    assert not second.failed, second.text
    assert judged.judge.aims[0].name == "There"


# What is held


ASK = Decision("ask", "test", risk="high")


def changing(agent: Judged, script: str) -> None:
    """The next approval takes a while, and meanwhile this happens in the page."""

    async def meanwhile() -> None:
        agent.judge.answer = lambda question: Decision("allow", "test")
        (session,) = agent.gate.own(agent.caller).all()
        assert session.current
        await session.current.ask(f"() => {{ {script} }}")

    agent.judge.answer = lambda question: ASK
    agent.person.meanwhile = meanwhile


PAGE = """<div id=box><button class=b id=one onclick="document.title += 'one'">Save</button>
<button class=b id=two onclick="document.title += 'two'">Delete all</button></div>"""


@pytest.mark.parametrize(
    ("what", "script", "code"),
    [
        ("nothing", "", "ok"),
        ("another element now answers to the target", "document.getElementById('one').className = ''", "ok"),
        ("a new name", "document.getElementById('one').textContent = 'Delete all'", "not_actionable"),
        ("a form around it", "const f = document.createElement('form'); f.innerHTML = '<input type=password>';"
         "const b = document.getElementById('one'); b.before(f); f.append(b)", "not_actionable"),
        ("gone", "document.getElementById('one').remove()", "stale_ref"),
        ("a copy in its place", "const b = document.getElementById('one'); b.replaceWith(b.cloneNode(true))", "stale_ref"),
        ("all of it anew", "document.getElementById('box').innerHTML += ''", "stale_ref"),
        ("covered", "document.body.insertAdjacentHTML('beforeend', '<div style=\"position:fixed;inset:0\"></div>')",
         "not_actionable"),
    ],
)  # fmt: skip
async def test_what_was_approved_is_what_is_clicked(
    judged: Judged, site: PageServer, what: str, script: str, code: str
) -> None:
    await shown(judged, site, f"<title>t</title>{PAGE}")
    changing(judged, script)
    assert await code_of(judged, "click", target=".b") == code, what
    assert await judged.js("document.title") == ("tone" if code == "ok" else "t")


@pytest.mark.parametrize(
    ("script", "code"),
    [("", "ok"), ("document.getElementById('a').type = 'password'", "not_actionable"),
     ("document.getElementById('a').setAttribute('autocomplete', 'cc-number')", "not_actionable")],
)  # fmt: skip
async def test_what_was_approved_is_what_is_filled(judged: Judged, site: PageServer, script: str, code: str) -> None:
    await shown(judged, site, "<input id=a><input id=b>")
    changing(judged, script)
    assert await code_of(judged, "type_text", target="input", text="x") == code
    assert await judged.js("a.value") == ("x" if code == "ok" else "")


@pytest.mark.parametrize("tool", ["select_option", "upload_file", "focus_ref", "tap", "double_click", "drag"])
async def test_every_tool_with_a_target_holds_on_to_it(judged: Judged, site: PageServer, tool: str) -> None:
    tag = {"select_option": "<select id=t><option>Blue</select>", "upload_file": "<input id=t type=file>"}
    await shown(judged, site, f"{tag.get(tool, '<button id=t draggable=true>Go</button>')}<p id=p>there</p>")
    state = await judged.call("find", pattern="Go|combobox|file")
    ref = next(word for word in state["hits"][0].split() if word.startswith("e") and word[1:].isdigit())
    args = {
        "select_option": {"target": "#t", "values": ["Blue"]},
        "upload_file": {"target": "#t", "files": [{"name": "a.txt", "data": "aGk="}]},
        "focus_ref": {"ref": ref},
        "drag": {"target": "#t", "to": "#p"},
    }.get(tool, {"target": "#t"})
    changing(judged, "const t = document.getElementById('t'); t.setAttribute('aria-label', 'Pay')")
    answer = await judged.ask(tool, **args)
    assert answer.failed
    assert answer.data["error"]["details"]["reason"] == "changed", answer.text


async def test_a_point_holds_what_was_there(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, f'<body style="margin:0">{PAGE}')
    changing(judged, "document.getElementById('one').textContent = 'Pay'")
    assert await code_of(judged, "click_at", x=10, y=10) == "not_actionable"
    changing(judged, "document.getElementById('one').remove()")
    assert await code_of(judged, "click_at", x=10, y=10) == "not_actionable"
    changing(judged, "")
    assert await code_of(judged, "click_at", x=10, y=10) == "ok"


async def test_keys_go_to_what_had_the_focus(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, f"<input id=i>{PAGE}")
    await judged.call("type_text", target="#i", text="x")
    changing(judged, "document.getElementById('two').focus()")
    assert await code_of(judged, "press_key", key="Enter") == "not_actionable"
    assert await judged.js("document.title") == ""


async def test_enter_after_typing_presses_a_button_that_was_judged(judged: Judged, site: PageServer) -> None:
    """The page turns its button into another one as soon as something is typed: that one is judged before it is pressed."""
    page = """<form onsubmit="document.title='sent'; return false"><input id=a oninput="b.textContent='Buy'">
        <button id=b>Search</button></form>"""
    buys = lambda question: any(aim.name == "Buy" for aim in question.aims)
    for answer, code, then in ((ASK, "approval_denied", "x,"), (Decision("allow", "test"), "ok", "x,sent")):
        await shown(judged, site, page)
        judged.judge.answer = lambda question, answer=answer: answer if buys(question) else Decision("allow", "test")
        assert await code_of(judged, "type_text", target="#a", text="x", submit=True) == code
        assert buys(judged.judge.asked[-1])
        assert await judged.js("[a.value, document.title].join()") == then


async def test_enter_after_typing_goes_to_a_field_or_nowhere(judged: Judged, site: PageServer) -> None:
    page = """<form onsubmit="document.title='sent'; return false"><input id=a oninput="b.focus()">
        <button type=button id=b onclick="document.title='gone'">Delete</button><button>Send</button></form>"""
    await shown(judged, site, page)
    answer = await judged.ask("type_text", target="#a", text="x", submit=True)
    assert answer.data["error"]["details"]["reason"] == "changed"
    assert await judged.js("document.title") == ""


async def test_a_dialog_is_answered_that_was_judged(judged: Judged, site: PageServer) -> None:
    await shown(
        judged, site, "<button id=b onclick=\"confirm('first'); document.title = confirm('second')\">Go</button>"
    )
    await judged.ask("click", target="#b")
    (session,) = judged.gate.own(judged.caller).all()
    tab = session.current
    assert tab

    async def meanwhile() -> None:
        await tab.answer_dialog(False, "")
        assert await tab.signal.until(lambda: tab.dialog, 5)

    judged.judge.answer = lambda question: ASK
    judged.person.meanwhile = meanwhile
    assert await code_of(judged, "handle_dialog", accept=True) == "not_actionable"
    assert tab.dialog
    assert tab.dialog.message == "second"


async def test_a_field_that_appears_while_a_form_is_filled_is_judged_then(judged: Judged, site: PageServer) -> None:
    page = """<input id=a oninput="document.body.insertAdjacentHTML('beforeend', '<input id=late type=password>')">"""
    fields = [{"target": "#a", "value": "x"}, {"target": "#late", "value": "y"}]
    await shown(judged, site, page)
    await judged.call("fill_form", fields=fields)
    assert judged.judge.aims[0].kind == "password"
    assert await judged.js("late.value") == "y"
    await shown(judged, site, page)
    secret = lambda question: any(aim.kind == "password" for aim in question.aims)
    judged.judge.answer = lambda question: Decision("deny" if secret(question) else "allow", "test")
    assert await code_of(judged, "fill_form", fields=fields) == "denied"
    assert await judged.js("late.value") == ""


async def test_a_ref_whose_element_was_rendered_anew_is_judged_by_its_twin(judged: Judged, site: PageServer) -> None:
    await shown(judged, site, PAGE)
    found = await judged.call("find", text="Save")
    ref = next(word for word in found["hits"][0].split() if word[1:].isdigit())
    await judged.js("one.replaceWith(one.cloneNode(true))")
    assert "twin" in await judged.text("click", target=ref)
    assert judged.judge.aims[0].name == "Save"
    assert await judged.js("document.title") == "one"
