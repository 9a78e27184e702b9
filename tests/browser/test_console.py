"""Console: everything that scripts say, found by level, pattern and time."""

import asyncio
import re
from typing import Any

import pytest

from tests.browser.looking import fails, tab_of
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A16")


async def lines(agent: Agent, **options: Any) -> list[dict[str, Any]]:
    return (await agent.call("get_console_logs", **options))["lines"]


async def pressed(agent: Agent, site: PageServer, *buttons: str) -> list[dict[str, Any]]:
    await agent.call("navigate", url=site.url("console.html"))
    for button in buttons:
        await agent.call("click", target=f'role=button[name="{button}"]')
    return await lines(agent)


async def test_every_level(agent: Agent, site: PageServer) -> None:
    said = await pressed(agent, site, "Levels", "Log")
    assert [(one["level"], one["text"]) for one in said] == [
        ("debug", "a debug"),
        ("info", "an info"),
        ("warn", "a warning"),
        ("error", "an error"),
        ("log", "a log 1 true null undefined"),
    ]
    assert said[0]["source"] == "console"
    assert said[0]["url"].endswith("console.html")
    assert said[0]["line"] > 0
    assert said[0]["column"] > 0
    assert said[4]["arguments"][:3] == ["a log", 1, True]


async def test_objects_are_readable(agent: Agent, site: PageServer) -> None:
    (said,) = await pressed(agent, site, "Objects")
    for part in ('name: "Ada"', "[1, 2, 3]", "k", "v", "body", "Symbol(s)", "10n"):
        assert part in said["text"]


async def test_formats_and_special_calls(agent: Agent, site: PageServer) -> None:
    said = await pressed(agent, site, "Special")
    texts = [one["text"] for one in said]
    assert " styled text 42" in texts
    assert any(one["level"] == "error" and "assert failed" in one["text"] for one in said)
    assert any("times: 1" in text for text in texts)
    assert "inside" in texts


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("'%s is 100%% of %d', 'all', 3", "all is 100% of 3"),
        ("'%s and %s', 'one'", "one and %s"),
        ("'50%', 'of it'", "50% of it"),
        ("'100%% sure'", "100%% sure"),
        ("7, '%s'", "7 %s"),
    ],
)
async def test_places_for_words(agent: Agent, site: PageServer, call: str, said: str) -> None:
    await agent.call("navigate", url=site.inline(f"<script>console.log({call})</script>"))
    assert [one["text"] for one in await lines(agent)] == [said]


async def test_exceptions_and_rejections(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("console.html"))
    said = await agent.text("click", target="text=Exception")
    assert 'console error: "Uncaught Error: something broke"' in said
    await agent.call("click", target="text=Unhandled rejection")
    await agent.call("click", target="text=Throw object")
    broke, rejected, odd = await lines(agent, level=["error"])
    assert broke["source"] == "exception"
    assert "something broke" in broke["text"]
    assert any(call.startswith("fail ") for call in broke["stack"])
    assert "nobody caught me" in rejected["text"]
    assert "odd" in odd["text"]


async def test_the_browser_s_own_lines(agent: Agent, site: PageServer) -> None:
    await pressed(agent, site, "Failed request")
    await agent.call("wait_for", idle=True)
    (failed,) = await lines(agent, level=["error"])
    assert failed["source"] == "network"
    assert "500" in failed["text"]
    assert f"({failed['url']})" in await agent.text("get_console_logs"), "a resource has no line"


@pytest.mark.whole("the engine alone gives no hints")
async def test_a_hint_of_the_browser_s_names_the_element(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    said = asyncio.Event()
    tab_of(agent).console.subscribe(lambda line: said.set())
    await agent.call("navigate", url=site.inline("<input type=password>"))
    await asyncio.wait_for(said.wait(), 10)
    (hint,) = await lines(agent, pattern="not contained in a form")
    assert hint["text"].endswith(" <input>")


async def test_filters(agent: Agent, site: PageServer) -> None:
    await pressed(agent, site, "Levels", "Log", "Levels")
    assert len(await lines(agent, level=["warn", "error"])) == 4
    assert [one["text"] for one in await lines(agent, pattern="^AN? (info|log)")] == [
        "an info",
        "a log 1 true null undefined",
        "an info",
    ]
    newest = await agent.call("get_console_logs", limit=2)
    assert [one["text"] for one in newest["lines"]] == ["a warning", "an error"]
    assert newest["total"] == 9
    await agent.call("click", target='role=button[name="Log"]')
    assert len(await lines(agent, since=newest["next"])) == 1
    assert len(await lines(agent, since=newest["lines"][0]["time_ms"])) >= 3
    await fails(agent, "bad_request", "get_console_logs", pattern="(")
    await fails(agent, "bad_request", "get_console_logs", level=["loud"])


async def test_lines_survive_a_navigation(agent: Agent, site: PageServer) -> None:
    await pressed(agent, site, "Log")
    await agent.call("navigate", url=site.url("small.html"))
    assert len(await lines(agent)) == 1


async def test_workers_and_frames_speak_too(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url(f"frames.html?other={site.other_origin}"))
    await agent.js(
        "new Promise((done) => { const worker = new Worker(URL.createObjectURL(new Blob(["
        "\"console.log('from a worker'); postMessage(1)\"]))); worker.onmessage = () => done(1) })"
    )
    await agent.call("wait_for", target="text=Cross button")
    await agent.call("evaluate_js", target="text=Cross button", expression="console.log('from afar')")
    assert {"from a worker", "from afar"} <= {one["text"] for one in await lines(agent)}


async def test_a_ring_of_a_thousand(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("console.html"))
    await agent.js("for (let n = 1; n <= 1500; n++) console.log(`line ${n}`)")
    said = await lines(agent, limit=1000)
    assert [said[0]["text"], said[-1]["text"]] == ["line 501", "line 1500"]
    assert len(said) == 1000


@promise("A07")
@pytest.mark.parametrize("button", ["Surrogates", "Escapes", "Huge line"])
async def test_nothing_odd_gets_through(agent: Agent, site: PageServer, button: str) -> None:
    await pressed(agent, site, button)
    text = await agent.text("get_console_logs")
    text.encode()
    assert len(text) < 10_000
    assert not set(text) & set("\u001b\u202e\u200b")


async def test_a_page_cannot_fill_the_memory(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("console.html"))
    await agent.js(
        """const name = "n".repeat(5000), place = "p".repeat(5000);
        (0, eval)(`globalThis.${name} = (...all) => console.log(...all)\\n//# sourceURL=http://${place}/`);
        globalThis[name](...Array(15).fill("x".repeat(5000)), 7);
        globalThis[name]("%s".repeat(5000), ...Array(5000).fill("y"))"""
    )
    said = await lines(agent)
    assert len(said) == 2
    for one in said:
        assert len(one["text"]) <= 4000
        assert len(one["url"]) == 300
        assert max(len(call) for call in one["stack"]) <= 300
        assert max(len(str(value)) for value in one["arguments"]) <= 2000
        assert sum(len(str(value)) for value in one["arguments"]) <= 8001
    assert said[0]["arguments"][-1] == 7


@promise("A16")
@pytest.mark.whole("only all of Chromium keeps pages to come back to")
async def test_a_page_that_comes_back_does_not_say_everything_again(agent: Agent, site: PageServer) -> None:
    page = site.inline(
        "<h1>Loud</h1><script>console.log('once'); setTimeout(() => { throw Error('thrown once') })</script>"
    )
    await agent.call("navigate", url=page)
    await agent.call("wait_for", idle=True)
    await agent.call("navigate", url=site.url("small.html"))
    back = await agent.text("go_back")
    assert "thrown once" not in back
    await agent.js("console.log('and now'); return 0")
    texts = [line["text"] for line in (await agent.call("get_console_logs"))["lines"]]
    assert [text for text in texts if "once" in text or "now" in text] == ["once", texts[1], "and now"]


async def test_equal_neighbours_are_folded(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p>x</p>"))
    await agent.js(
        "for (let n = 0; n < 80; n++) console.warn('slow');\nconsole.log('a');\nconsole.warn('slow');\nreturn 0"
    )
    answer = await agent.ask("get_console_logs", limit=2)
    assert answer.text.startswith(f"2 of 82 lines, next: {answer.data['next']}\n")
    answer = await agent.ask("get_console_logs")
    assert answer.text.startswith("82 of 82 lines, next: ")
    assert [(one["text"], one.get("count")) for one in answer.data["lines"]] == [
        ("slow", 80),
        ("a", None),
        ("slow", None),
    ]
    assert answer.text.count("slow") == 2
    assert " x80\n" in answer.text


async def test_news_fold_what_repeats(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p>x</p>"))
    said = await agent.text("evaluate_js", expression="for (let n = 0; n < 12; n++) console.error('bad'); return 0")
    assert 'console error: "bad" x12' in said
    assert said.count("bad") == 1


async def test_an_action_s_own_error_is_told_however_many_came_before(agent: Agent, site: PageServer) -> None:
    page = "<button onclick=\"console.error('of the button')\">Go</button>"
    await agent.call("navigate", url=site.inline(page))
    tab = tab_of(agent)
    last = asyncio.Event()
    tab.console.subscribe(lambda line: last.set() if line.text == "early 29" else None)
    tab.channel.post("Runtime.evaluate", expression="for (let n = 0; n < 30; n++) console.error('early ' + n)")
    await asyncio.wait_for(last.wait(), 10)
    said = await agent.text("click", target="text=Go")
    assert 'console error: "of the button"' in said
    assert "more console errors: see get_console_logs" in said
    assert len(re.findall("console error: ", said)) <= 8
