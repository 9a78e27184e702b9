"""Keys: what a keyboard would send."""

import pytest

from pilothouse.browser.keys import named, presses, strokes
from tests.browser.looking import fails, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer


async def opened(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("keyboard.html"))
    await agent.call("click", target="#field")


async def logged(agent: Agent) -> list[str]:
    return await agent.js("log.splice(0)")


@promise("A09")
@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("a", "keydown a KeyA 65"),
        ("A", "keydown A KeyA 65"),
        ("7", "keydown 7 Digit7 55"),
        ("?", "keydown ? Slash 191"),
        ("+", "keydown + Equal 187"),
        ("Space", "keydown   Space 32"),
        ("Enter", "keydown Enter Enter 13"),
        ("Escape", "keydown Escape Escape 27"),
        ("esc", "keydown Escape Escape 27"),
        ("ArrowDown", "keydown ArrowDown ArrowDown 40"),
        ("F5", "keydown F5 F5 116"),
        ("Control+k", "keydown ctrl+k KeyK 75"),
        ("Control+Shift+ArrowLeft", "keydown ctrl+shift+ArrowLeft ArrowLeft 37"),
        ("Control++", "keydown ctrl++ Equal 187"),
        ("Meta+b", "keydown meta+b KeyB 66"),
    ],
)
async def test_a_key_arrives_as_typed(agent: Agent, site: PageServer, key: str, line: str) -> None:
    await opened(agent, site)
    assert await agent.text("press_key", key=key) == f"pressed {named(key)}"
    assert line in await logged(agent)


@promise("A09", "C11")
async def test_modifiers_are_released(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("press_key", key="Control+Shift+k")
    down = [line.split()[1] for line in await agent.js("log") if line.startswith("keydown")]
    up = [line.split()[1] for line in await logged(agent) if line.startswith("keyup")]
    assert [one.rpartition("+")[2] for one in down] == ["Control", "Shift", "k"]
    assert [one.rpartition("+")[2] for one in up] == ["k", "Shift", "Control"]
    await agent.call("press_key", key="x")
    assert (await logged(agent))[0] == "keydown x KeyX 88"


@promise("A09")
async def test_keys_write_and_edit(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    for key in ("h", "I", "!", "Space", "ü", "Backspace"):
        await agent.call("press_key", key=key)
    assert await agent.js("field.value") == "hI! "
    await agent.call("press_key", key="Control+a")
    await agent.call("press_key", key="Delete")
    assert await agent.js("field.value") == ""


@promise("A09")
async def test_a_key_several_times(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    assert await agent.text("press_key", key="x", count=5) == "pressed x 5 times"
    assert await agent.js("field.value") == "xxxxx"


@promise("A09")
async def test_tab_walks_through_the_fields(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("press_key", key="Tab")
    assert await agent.js("document.activeElement.id") == "area"
    await agent.call("press_key", key="Shift+Tab")
    assert await agent.js("document.activeElement.id") == "field"


@promise("A09")
async def test_enter_submits_and_breaks_lines(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("type_text", target="#inform", text="x")
    await agent.call("press_key", key="Enter")
    assert "submit" in await logged(agent)
    await agent.call("type_text", target="#area", text="one")
    await agent.call("press_key", key="Enter")
    await agent.call("press_key", key="2")
    assert await agent.js("area.value") == "one\n2"


@promise("A09")
async def test_a_shortcut_of_the_page(agent: Agent, site: PageServer) -> None:
    await opened(agent, site)
    await agent.call("press_key", key="Control+k")
    assert "shortcut" in await logged(agent)
    assert await agent.js("field.value") == ""


@promise("A09", "C08")
@pytest.mark.parametrize("key", ["Entr", "Control+", "Foo+a", "ab", ""])
async def test_what_is_no_key(agent: Agent, key: str) -> None:
    await fails(agent, "bad_request", "press_key", key=key)


@promise("A21")
async def test_keys_follow_the_focus_out_of_a_frame_that_is_gone(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.call("click", target=await ref(agent, 'textbox "Cross field"'))
    await agent.js("for (const one of document.querySelectorAll('iframe')) one.remove()")
    await agent.js("addEventListener('keydown', (e) => { window.last = e.key })")
    await agent.call("press_key", key="z")
    assert await agent.js("window.last") == "z"


@promise("A21")
async def test_keys_follow_the_focus_back_to_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.js("document.body.insertAdjacentHTML('afterbegin', '<input id=own>'); return 0")
    await agent.call("click", target=await ref(agent, 'textbox "Cross field"'))
    await agent.js("own.focus()")
    await agent.call("press_key", key="z")
    assert await agent.js("own.value") == "z"


@promise("D06")
@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Enter", "Enter"), ("enter", "Enter"), ("ENTER", "Enter"), ("return", "Enter"), ("\n", "Enter"),
        ("\r", "Enter"), (" enter ", "Enter"), ("ctrl+RETURN", "Control+Enter"), ("space", "Space"),
        ("Spacebar", "Space"), (" ", "Space"), ("shift+ ", "Shift+Space"),
    ],
)  # fmt: skip
def test_what_presses_has_one_spelling(written: str, key: str) -> None:
    assert named(written) == key
    assert presses(written)
    assert strokes(written) == strokes(key)


@promise("D06")
@pytest.mark.parametrize("key", ["a", "A", "+", "Control++", "Tab", "\t", "esc", "Shift+4"])
def test_other_keys_press_nothing(key: str) -> None:
    assert not presses(key)
