"""Script in the page: whatever its form, its value comes back once."""

import time
from pathlib import Path
from typing import Any

import pytest

from pilothouse.browser.script import is_function, last_ends
from pilothouse.call import Call
from tests.browser.looking import fails, ref
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C07")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("document.title;", "Small"),
        ("({ a: [1, null, 'x'] })", {"a": [1, None, "x"]}),
        ("return 3", 3),
        ("const a = 2; return a * 2;", 4),
        ("const a = 2; a * 3", 6),
        ("const a = 2;\nconst b = 5;\na * b;", 10),
        ("let s = 'x;y'; s", "x;y"),
        ("let n = 1\nn\n+ 4", 5),
        ("const all = [];\nfor (const n of [1, 2])\n  all.push(n)\nall.length", 2),
        ("window.sum = 0;\nfor (const n of [1, 2])\n  sum += n", None),
        ("for (let i = 0; i < 3; i++) window.i = i", None),
        ("if (true) { window.x = 1; }", None),
        ("const r = await Promise.resolve(7); return r", 7),
        ("await Promise.resolve(8)", 8),
        ("Promise.resolve(9)", 9),
        ("() => 10", 10),
        ("async () => 11", 11),
        ("function () { return 12 }", 12),
        ("(a, b) => a + b", 3),
        ("args[0] + args[1]", 3),
        ("undefined", None),
        ("null", None),
        ("NaN", "NaN"),
        ("10n", "10n"),
        ("document.querySelector('h1')", "<h1>Small page</h1>"),
        ("document.querySelectorAll('h1')", ["<h1>Small page</h1>"]),
        ("new Map([['k', 1]])", [["k", 1]]),
        ("new Set([1, 2])", [1, 2]),
        ("new Error('odd')", "Error: odd"),
        ("'% s %d'", "% s %d"),
        ("// a comment\n5 // five", 5),
    ],
)
async def test_values(agent: Agent, site: PageServer, source: str, value: Any) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert (await agent.call("evaluate_js", expression=source, args=[1, 2])).get("value") == value


async def test_an_element_is_handed_in(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    button = await ref(agent, 'button "Go"')
    for source in ("element.id", "(el) => el.id", "return element.id"):
        assert (await agent.call("evaluate_js", expression=source, target=button))["value"] == "go"
    both = await agent.call("evaluate_js", expression="(el, more) => el.id + more", target="#go", args=["!"])
    assert both["value"] == "go!"


async def test_worlds(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert await agent.js("typeof keys") == "number"

    async def apart(expression: str, **more: Any) -> Any:
        return (await agent.call("evaluate_js", expression=expression, world="isolated", **more)).get("value")

    assert await apart("typeof keys") == "undefined"
    assert await apart("element.textContent", target="#go") == "Go"
    assert await apart("globalThis.kept = typeof globalThis.kept") == "undefined"
    assert await apart("kept") == "undefined"
    await agent.call("reload")
    assert await apart("typeof kept") == "undefined"
    await agent.call("navigate", url=site.url("frames.html"))
    assert await apart("document.title", target="body") == await agent.js("document.title")


@promise("D06")
async def test_callers_do_not_reach_the_world_that_looks_for_the_policy(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button>Pay now</button>"))
    await agent.call("get_page_state")
    for world in ("page", "isolated"):
        assert (await agent.call("evaluate_js", expression="typeof ph", world=world))["value"] == "undefined"
    change = "globalThis.ph = new Proxy({}, {get: () => () => []}); Array.prototype.map = () => []; 0"
    await agent.call("evaluate_js", expression=change, world="isolated")
    answer = await agent.gate.call(Call("click", {"target": "button"}, agent.caller, patience_s=0))
    assert answer.data["error"]["code"] == "approval_pending"


@promise("C08")
async def test_errors_say_what_and_where(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    thrown = await fails(agent, "page_error", "evaluate_js", expression="const a = 1;\n\nnothing.here(a)")
    assert thrown.message == '"ReferenceError: nothing is not defined"'
    assert thrown.details["line"] == 3
    first = await fails(agent, "page_error", "evaluate_js", expression="nothing.here")
    assert first.details == {"line": 1}
    rejected = await fails(agent, "page_error", "evaluate_js", expression="Promise.reject(new Error('no'))")
    assert rejected.message == '"Error: no"'
    assert "odd" in (await fails(agent, "page_error", "evaluate_js", expression="throw 'odd'")).message
    assert "SyntaxError" in (await fails(agent, "page_error", "evaluate_js", expression="if (")).message
    await fails(agent, "page_error", "evaluate_js", expression="window")


async def test_a_failure_to_parse_data_does_not_run_the_script_twice(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "page_error", "evaluate_js", expression="(window.ran = (window.ran || 0) + 1, JSON.parse('{'))")
    assert await agent.js("ran") == 1


async def test_a_huge_value_is_kept_in_a_file(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer = await agent.ask("evaluate_js", expression="'x'.repeat(100000)")
    assert len(answer.text) < 2000
    path = Path(answer.data["path"])
    assert str(path) in answer.text
    assert path.read_text() == "x" * 100000


@promise("A07")
async def test_lone_surrogates(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("surrogates.html"))
    answer = await agent.ask("evaluate_js", expression="value()")
    assert not answer.failed
    answer.text.encode()
    assert answer.data["value"] == {"half \ufffd here": ["low \ufffd there", {"deep": "half \ufffd here"}]}


@promise("A04")
async def test_script_that_leaves_the_page(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    answer = await agent.ask("evaluate_js", expression="location.href = 'form.html'; await new Promise(() => {})")
    assert not answer.failed
    assert answer.data["url"] == site.url("form.html")
    assert await agent.js("document.title") == "Form"


@promise("A05")
async def test_a_promise_that_never_resolves(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fails(agent, "timeout", "evaluate_js", expression="new Promise(() => {})", timeout_ms=300)
    assert await agent.js("1") == 1


async def test_a_strict_content_policy_does_not_matter(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("headers?Content-Security-Policy=default-src%20'none'"))
    assert await agent.js("const a = 20; a + 1") == 21
    await agent.call("wait_for", function="document.title === 'Headers'")


@pytest.mark.parametrize(
    "source",
    [" " * 500_000 + "1", "(" + " " * 500_000, "a " * 250_000, "(a = " + "b = " * 100_000, "async" + " " * 500_000],
    ids=["blanks", "open", "names", "equals", "async"],
)
def test_odd_source_is_told_apart_at_once(source: str) -> None:
    began = time.process_time()
    assert not is_function(source)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "source", ["\n" * 500_000 + "+ 1", "a;" + "\n" * 500_000, "\n " * 250_000 + "x", ";" * 500_000, "a\n" * 250_000]
)
def test_the_last_statements_are_found_at_once(source: str) -> None:
    began = time.process_time()
    assert len(last_ends(source)) <= 5
    assert time.process_time() - began < 1


def test_what_looks_like_a_function() -> None:
    for source in ("() => 1", " async (a, { b }) => a", "async => 1", "x=>x", "function f() {}", "(a = 1, ...b) => a"):
        assert is_function(source), source
    for source in ("1 + 1", "asynchronous", "functions()", "a == b", "[].every(i => i)", ""):
        assert not is_function(source), source


async def test_a_long_blank_script_holds_nobody_up(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    began = time.process_time()
    assert await agent.js("const a = 3;" + "\n" * 20_000 + "a") == 3
    assert await agent.js("(" + " " * 20_000 + "4)") == 4
    assert time.process_time() - began < 1


@promise("C07")
async def test_dates_are_told_as_json_has_them(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    assert await agent.js("new Date(0)") == "1970-01-01T00:00:00.000Z"
    assert await agent.js("new Set([new Date(0)])") == ["1970-01-01T00:00:00.000Z"]
    assert await agent.js("new Date('no')") == "Invalid Date"
