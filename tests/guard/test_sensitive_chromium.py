"""What would pay or delete is asked about, however a page names it and however an agent spells it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse.browser import aim
from pilothouse.browser.aim import Held, Pointing
from pilothouse.call import Call
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D06")

FORM = """<form onsubmit="document.title = 'sent'; return false">{}</form>"""
PAY = FORM.format("<label>{} <input id=a></label><button>Pay now</button>")


async def said(agent: Agent, tool: str, **args: Any) -> str:
    """`ok`, or the code it failed with; nobody is waited for."""
    answer = await agent.gate.call(Call(tool, args, agent.caller, patience_s=0))
    return answer.data["error"]["code"] if answer.failed else "ok"


async def is_asked(agent: Agent, site: PageServer, html: str, tool: str, *, focus: str = "", **args: Any) -> bool:
    """Whether a person is asked first; if not, it was done and the page has noticed."""
    await agent.call("navigate", url=site.inline(html))
    if focus:
        await agent.js(f"document.querySelector('{focus}').focus()")
    code = await said(agent, tool, **args)
    title = (await agent.call("get_page_state"))["title"]
    assert (code, title) in (("approval_pending", ""), ("ok", "sent")), (code, title)
    return code == "approval_pending"


@pytest.mark.parametrize("key", ["Enter", "enter", "return", "ENTER", "\n", "\r", "Shift+enter"])
async def test_enter_by_any_name(agent: Agent, site: PageServer, key: str) -> None:
    assert await is_asked(agent, site, PAY.format("Street"), "press_key", focus="#a", key=key)


@pytest.mark.parametrize("key", ["Space", "space", "spacebar", " "])
async def test_space_by_any_name(agent: Agent, site: PageServer, key: str) -> None:
    assert await is_asked(agent, site, PAY.format("Street"), "press_key", focus="button", key=key)


@pytest.mark.parametrize("text", ["x\n", "x\r"])
async def test_enter_among_typed_keys(agent: Agent, site: PageServer, text: str) -> None:
    assert await is_asked(agent, site, PAY.format("Street"), "slow_type", target="#a", text=text, delay_ms=0)


WIDE = "<meta name=viewport content='width=3900,minimum-scale=0.1,initial-scale=0.1'><div style='width:3900px'></div>"
BIG = "<style>button { position: fixed; left: 0; top: 0; width: 100vw; height: 100vh }</style>" + PAY.format("Street")


@promise("A22")
@pytest.mark.parametrize("distance", [0.5, 3, 14, 29])
async def test_a_swipe_is_no_tap(agent: Agent, site: PageServer, distance: float) -> None:
    await agent.call("navigate", url=site.inline(BIG))
    assert await said(agent, "swipe", direction="up", distance=distance) == "bad_request"
    assert await is_asked(agent, site, BIG, "swipe", target="button", direction="up", distance=distance)


@promise("A22")
async def test_a_swipe_is_no_tap_on_a_page_that_is_shown_small_or_at_the_edge_of_a_window(
    agent: Agent, site: PageServer
) -> None:
    await agent.call("navigate", url=site.inline(BIG))
    assert await said(agent, "swipe", direction="up", distance=30) == "ok"
    page = f"<button style='position:fixed;top:0;height:20px' onclick='document.title = 1'>Show more</button>{BIG}"
    await agent.call("navigate", url=site.inline(page.replace("100vh", "0")))
    assert await said(agent, "swipe", target="text=Show more", direction="up", distance=500) == "bad_request"
    await agent.call("emulate", device="iPhone 15")
    await agent.call("navigate", url=site.inline(WIDE + BIG))
    assert await said(agent, "swipe", direction="up", distance=120) == "bad_request"
    assert await said(agent, "swipe", direction="up", distance=310) == "ok"
    assert await agent.js("document.title") == ""


async def test_a_tab_among_typed_keys(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAY.format("Street")))
    assert await said(agent, "slow_type", target="#a", text="4\t ", delay_ms=0) == "bad_request"
    assert await agent.js("document.title + a.value") == ""


@pytest.mark.parametrize(
    ("page", "typed", "code"),
    [
        (PAY.format("Street"), "1", "approval_denied"),  # the next key would have been a space on the button
        (FORM.format("<input id=a><input name=cardnumber>"), "1", "approval_denied"),
        (FORM.format("<input id=a><input name=city>"), "12 3", "ok"),  # as pages do that ask for a code
    ],
)
async def test_where_the_focus_moves_on_its_own(
    agent: Agent, site: PageServer, page: str, typed: str, code: str
) -> None:
    await agent.call("navigate", url=site.inline(page))
    await agent.js("a.oninput = () => a.form.elements[1].focus(); window.keys = ''; onkeydown = e => { keys += e.key }")
    assert await said(agent, "slow_type", target="#a", text="12 3", clear=False, delay_ms=0) == code
    assert await agent.js("[document.title, keys]") == ["", typed]


async def test_another_spelling_of_what_was_denied(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(PAY.format("Street")))
    await agent.js("document.querySelector('#a').focus()")
    assert await said(agent, "press_key", key="Enter") == "approval_pending"
    (question,) = [
        one for one in agent.gate.approvals.pending() if one["session"] in agent.gate.session_ids(agent.caller)
    ]
    await agent.gate.approvals.answer(question["id"], "deny")
    assert await said(agent, "press_key", key="return") == "approval_denied"


async def test_a_field_called_no_is_no_refusal(agent: Agent, site: PageServer) -> None:
    page = PAY.format("No.")
    assert await is_asked(agent, site, page, "type_text", target="#a", text="4", submit=True)
    assert await is_asked(agent, site, page, "press_key", focus="#a", key="Enter")


@pytest.mark.parametrize("name", ["✓", "→", "Cancel"])
async def test_what_sends_a_card_is_asked_about_whatever_it_is_called(
    agent: Agent, site: PageServer, name: str
) -> None:
    page = FORM.format(f"<input autocomplete=cc-number><button>{name}</button>")
    assert await is_asked(agent, site, page, "click", target="button")


async def test_a_cross_closes(agent: Agent, site: PageServer) -> None:
    page = """<form><input autocomplete=cc-number>
        <button type=button onclick="document.title = 'sent'">✕</button></form>"""
    assert not await is_asked(agent, site, page, "click", target="button")


async def test_the_same_element_in_other_words_is_denied_unasked(agent: Agent, site: PageServer) -> None:
    """What a person said no to is the button, not a selector."""
    page = "<button id=buy class=b>Pay now</button><button id=other>Pay later</button>"
    await agent.call("navigate", url=site.inline(page))
    assert await said(agent, "click", target="#buy") == "approval_pending"
    (question,) = [
        one for one in agent.gate.approvals.pending() if one["session"] in agent.gate.session_ids(agent.caller)
    ]
    await agent.gate.approvals.answer(question["id"], "deny")
    for target in ("button#buy", "text=Pay now", ".b", "body > button"):
        assert await said(agent, "click", target=target) == "approval_denied", target
    assert await said(agent, "click", target="#buy", snapshot="diff") == "approval_denied"
    assert await said(agent, "double_click", target="#buy") == "approval_denied"
    assert await said(agent, "click", target="#other") == "approval_pending"
    agent.gate.approvals.lift(question["id"])
    assert await said(agent, "click", target="button#buy") == "approval_pending"


@pytest.mark.parametrize("target", ["#a", "label"])
async def test_a_field_of_a_card_form_may_be_clicked(agent: Agent, site: PageServer, target: str) -> None:
    street = "<label>Street <input id=a onfocus=\"document.title = 'sent'\"></label>"
    page = FORM.format(f"{street}<input autocomplete=cc-number><button>Next</button>")
    assert not await is_asked(agent, site, page, "click", target=target)
    label = FORM.format("<label>Next <input type=submit value=Go></label><input autocomplete=cc-number>")
    assert await is_asked(agent, site, label, "click", target="label")


async def test_a_button_outside_any_form_sends_none(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button id=a>More</button><form><button id=b>More</button></form>"))
    kinds = {target: await aim_kind(agent, target) for target in ("#a", "#b")}
    assert kinds == {"#a": "button", "#b": "submit"}


async def aim_kind(agent: Agent, target: str) -> str:
    tab = agent.gate.own(agent.caller).all()[0].current
    assert tab
    held = Held(Pointing((target,)))
    await held.look(tab)
    return held.sights[0].kind


SENDS = FORM.format("<input autocomplete=cc-number><button style='width:300px;height:60px'>Continue</button>")


@promise("A09")
async def test_a_drag_is_judged_like_a_press(agent: Agent, site: PageServer) -> None:
    """Pages press what the pointer leaves, too."""
    await agent.call("navigate", url=site.inline(SENDS))
    assert await said(agent, "drag", target="button", dx=1) == "approval_pending"


@promise("A09")
async def test_a_drag_is_no_click(agent: Agent, site: PageServer) -> None:
    page = SENDS.replace(" autocomplete=cc-number", "")
    await agent.call("navigate", url=site.inline(page))
    await agent.call("drag", target="button", dx=20)
    assert await agent.js("document.title") == ""
    stops = page.replace("<button", "<button onmousemove='document.title || alert(1)'")
    await agent.call("navigate", url=site.inline(stops))
    await agent.ask("drag", target="button", dx=20)  # a dialog breaks it off, and it lets go where it began
    await agent.call("handle_dialog", accept=True)
    assert await agent.js("document.title") == ""


OPENS = """<button id=a onclick="document.title += '.'; later.showModal()">More</button>
<dialog id=later><button onclick="document.title = 'sent'">{}</button></dialog>"""


@pytest.mark.parametrize(
    ("name", "key", "code", "title"),
    [
        ("Delete account", "Enter", "approval_denied", "."),
        ("Delete account", "Space", "approval_denied", "."),
        ("Show all", "Enter", "ok", "sent"),
    ],
)
async def test_keys_pressed_again(agent: Agent, site: PageServer, name: str, key: str, code: str, title: str) -> None:
    """The first press gives the focus to something else."""
    await agent.call("navigate", url=site.inline(OPENS.format(name)))
    await agent.js("a.focus()")
    assert await said(agent, "press_key", key=key, count=2) == code
    assert await agent.js("document.title") == title


async def test_keys_pressed_again_stop_at_a_dialog(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button id=a onclick='alert(1)'>More</button>"))
    await agent.js("a.focus()")
    async with asyncio.timeout(aim.AIM_TIMEOUT_S - 1):  # a page that shows one is not asked
        assert "pressed Enter once, not 3 times" in await agent.text("press_key", key="Enter", count=3)
    await agent.call("handle_dialog", accept=True)


OVER = """
<button id=a style='position:fixed;left:0;top:0;width:200px;height:60px'
  onclick="document.title += '.'; a.textContent = '{}'">More</button>"""


@pytest.mark.parametrize(("name", "code", "title"), [("Delete account", "approval_denied", "."), ("Less", "ok", "..")])
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("double_click", {"target": "#a"}),
        ("click", {"target": "#a", "count": 2}),
        ("click_at", {"x": 50, "y": 30, "count": 2}),
    ],
)
async def test_a_point_pressed_again(
    agent: Agent, site: PageServer, tool: str, args: dict[str, Any], name: str, code: str, title: str
) -> None:
    await agent.call("navigate", url=site.inline(OVER.format(name)))
    assert await said(agent, tool, **args) == code
    assert await agent.js("document.title") == title


SENT = "document.title = 'sent'"
FRAME = "<iframe {}></iframe>"
CARD = "<label>Card number <input autocomplete=cc-number></label>"


@pytest.mark.parametrize(
    ("html", "asked"),
    [
        (FORM.format(CARD + f'<button type=button onclick="{SENT}">Go on</button>'), True),  # of that form
        (f'<div>{CARD}<button onclick="{SENT}">Go on</button></div>', True),  # no form, one box
        (f'{CARD}<div><button onclick="{SENT}">Go on</button></div>', True),
        (f'<form>{CARD}<button>Pay</button></form><div><button onclick="{SENT}">Show more</button></div>', False),
        (f'<nav><button onclick="{SENT}">Show more</button></nav><main>{CARD}</main>', False),
        (f'<form>{CARD}</form><form onsubmit="{SENT}; return false"><button>Go on</button></form>', False),
        (f'<label>Card number <input></label><button onclick="{SENT}">Go on</button>', True),
        (f'{FRAME.format("title=Payment src=/small.html")}<button onclick="{SENT}">Go on</button>', True),
        (f'{FRAME.format("title=Cards src=/small.html?card#stripe")}<button onclick="{SENT}">Go on</button>', False),
    ],
)
async def test_a_cards_field_counts_for_what_sends_it(agent: Agent, site: PageServer, html: str, asked: bool) -> None:
    target = "role=button[name=/Go on|Show more/]"
    assert await is_asked(agent, site, html, "click", target=target) is asked


@pytest.mark.parametrize(
    "moves",
    ["card.focus()", "document.querySelector('iframe').focus()", "a.blur()", "card.select()"],
)
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("type_text", {"target": "#a", "text": "4"}),
        ("slow_type", {"target": "#a", "text": "4", "delay_ms": 0}),
        ("fill_form", {"fields": [{"target": "#a", "value": "4"}]}),
    ],
)
async def test_a_field_that_gives_the_focus_away(
    agent: Agent, site: PageServer, tool: str, args: dict[str, Any], moves: str
) -> None:
    page = f"""<input id=a onfocus="{moves}"><input id=card autocomplete=cc-number><iframe srcdoc="<input>"></iframe>"""
    await agent.call("navigate", url=site.inline(page))
    assert await said(agent, tool, **args) == "not_actionable"
    assert await agent.js("a.value + card.value") == ""


async def test_a_paragraph_of_a_text_that_is_edited_in_place(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<div contenteditable><p id=a>old</p><p>rest</p></div>"))
    assert await said(agent, "type_text", target="#a", text="new") == "ok"
    assert await agent.js("document.body.innerText.includes('new') && document.body.innerText.includes('rest')")


@promise("D08")
async def test_a_yes_that_is_taken_back_while_another_is_waited_for(
    agent: Agent, site: PageServer, say: Callable[[str], None]
) -> None:
    """Two rules, two questions: the first is granted, and revoked before the second is answered."""
    inner = site.inline("<button onclick='this.textContent = 1'>Inner</button>", other=True)
    await agent.call("navigate", url=site.inline(f"<button id=o>Outer</button><iframe src='{inner}'></iframe>"))
    await agent.call("wait_for", text="Inner")
    say("".join(f'[[rules]]\nhost = "{host}"\napproval = true\n' for host in ("127.0.0.1", "localhost")))
    approvals = agent.gate.approvals

    async def asked(rule: str) -> str:
        """The id of the open question."""
        heard = asyncio.Event()
        forget = approvals.follow(lambda event: heard.set())
        while not (found := [one["id"] for one in approvals.pending() if one["rule"] == rule]):
            await asyncio.wait_for(heard.wait(), 10)
            heard.clear()
        forget()
        return found[0]

    first = asyncio.ensure_future(agent.ask("click", target="#o"))
    await approvals.answer(await asked("rule 127.0.0.1"), "allow", "session")
    assert not (await first).failed
    second = asyncio.ensure_future(agent.ask("click", target="text=Inner"))
    question = await asked("rule localhost")
    (grant,) = [one["id"] for one in approvals.grants() if one["session"] in agent.gate.session_ids(agent.caller)]
    approvals.revoke(grant)
    await approvals.answer(question, "allow", "once")
    answer = await second
    assert answer.failed
    assert answer.data["error"]["code"] == "approval_denied"
    assert "taken back" in answer.text
