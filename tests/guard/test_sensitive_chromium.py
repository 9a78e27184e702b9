"""What would pay or delete is asked about, however a page names it and however an agent spells it."""

from typing import Any

import pytest

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


SENT = "document.title = 'sent'"
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
    ],
)
async def test_a_cards_field_counts_for_what_sends_it(agent: Agent, site: PageServer, html: str, asked: bool) -> None:
    target = "role=button[name=/Go on|Show more/]"
    assert await is_asked(agent, site, html, "click", target=target) is asked
