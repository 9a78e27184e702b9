"""Text that pages use as a weapon: lone surrogates, invisible characters, escape sequences."""

import re
import unicodedata

import msgspec
import pytest

from pilothouse.call import Answer
from tests.hostile.conftest import code
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A07")

# A line feed and a tab are for reading; everything else of these categories hides something.
_ALLOWED = {"\n", "\t"}
ODD = "\\u202Edne\\u202C z\\u200Bero \\u{E0041}\\u{E0042}tag \\u001b[31mred\\u001b[0m \\u0007bell \\u2066iso\\u2069 \\ud83d!"


def hidden(text: str) -> list[str]:
    return [
        f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c not in _ALLOWED
    ]


def neat(answer: Answer) -> Answer:
    data = msgspec.json.encode(answer.data).decode()
    assert hidden(answer.text) == []
    assert hidden(data) == []
    assert not re.search(r"\\u00[01]", data)
    return answer


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("get_page_state", {"full": True}),
        ("get_page_state", {"interactive": True}),
        ("get_page_text", {}),
        ("find", {"text": "half"}),
        ("list_tabs", {}),
        ("evaluate_js", {"expression": "value()"}),
        ("evaluate_js", {"expression": "document.title"}),
        ("evaluate_js", {"expression": "throw new Error(low)"}),
        ("evaluate_js", {"expression": "throw low"}),
        ("click", {"target": "#button"}),
        ("click", {"target": "text=Button"}),
        ("hover", {"target": "#link"}),
        ("get_frames", {}),
    ],
)
async def test_a_page_full_of_lone_surrogates(agent: Agent, site: PageServer, tool: str, args: dict[str, str]) -> None:
    neat(await agent.ask("navigate", url=site.url("surrogates.html")))
    answer = neat(await agent.ask(tool, **args))
    assert code(answer) in ("ok", "page_error")


@pytest.mark.parametrize("where", ["title", "text", "name", "hash", "console", "error", "value", "key", "frame"])
async def test_invisible_text_is_gone_from_every_result(agent: Agent, site: PageServer, where: str) -> None:
    set_up = {
        "title": "document.title = odd",
        "text": "document.body.append(odd)",
        "name": "document.querySelector('button').setAttribute('aria-label', odd)",
        "hash": "location.hash = odd",
        "console": "console.log(odd, {[odd]: odd})",
        "error": "console.error(odd)",
        "value": "odd",
        "key": "({[odd]: odd})",
        "frame": "document.body.append(Object.assign(document.createElement('iframe'), {name: odd, srcdoc: odd}))",
    }
    await agent.ask("navigate", url=site.url("small.html"))
    neat(await agent.ask("evaluate_js", expression=f'(odd => {set_up[where]})("{ODD}")'))
    for tool in ("get_page_state", "get_page_text", "list_tabs", "get_console_logs", "get_frames"):
        assert code(neat(await agent.ask(tool))) == "ok"


async def test_dialogs(agent: Agent, site: PageServer) -> None:
    await agent.ask("navigate", url=site.inline(f'<button onclick=\'prompt("{ODD}", "{ODD}")\'>Ask</button>'))
    assert "dialog" in neat(await agent.ask("click", target="button")).text
    assert code(neat(await agent.ask("get_page_state"))) == "dialog_open"
    assert code(neat(await agent.ask("handle_dialog", accept=True, text="an \ud800 answer"))) == "ok"


async def test_lone_surrogates_from_the_agent(agent: Agent, site: PageServer) -> None:
    await agent.ask("navigate", url=site.url("form.html"))
    assert neat(await agent.ask("evaluate_js", expression="'a\ud800b'.length")).data["value"] == 3
    for tool, args in (
        ("find", {"text": "\udfff"}),
        ("click", {"target": "text=\ud800"}),
        ("type_text", {"target": "input", "text": "x\ud800y"}),
        ("press_key", {"key": "\ud800"}),
        ("navigate", {"url": site.url("small.html#\ud800")}),
        ("wait_for", {"text": "\ud800", "timeout_ms": 50}),
        ("\ud800", {}),
        ("click", {"\ud800": "\ud800"}),
        ("get_page_state", {"session": "\ud800"}),
    ):
        assert code(neat(await agent.ask(tool, **args))) != "system", tool


async def test_a_page_cannot_forge_refs(agent: Agent, site: PageServer) -> None:
    """The walker marks places for refs with a control character; a page's own must not count."""
    await agent.ask("navigate", url=site.inline("<button>Real</button><p id=p></p>"))
    await agent.js("p.textContent = 'forged \\u00011\\u0001 and \\u00017\\u0001'")
    snapshot = await agent.text("get_page_state")
    assert len(re.findall(r"\be\d+\b", snapshot)) == 1


@pytest.mark.parametrize("depth", [100, 300, 600, 900, 3000])
async def test_values_nested_very_deeply(agent: Agent, site: PageServer, depth: int) -> None:
    await agent.ask("navigate", url=site.url("small.html"))
    nest = f"let v = 1; for (let n = 0; n < {depth}; n++) v = n % 2 ? [v] : {{v}}; return v"
    assert code(neat(await agent.ask("evaluate_js", expression=nest))) in ("ok", "page_error")
    assert await agent.js("2") == 2
