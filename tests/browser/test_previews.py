"""Values of scripts as the console prints them: short, readable, bounded."""

import pytest

from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A16")

PAGE = "<button id=go class='wide blue'>Go</button>"


async def said(agent: Agent, site: PageServer, script: str) -> list[str]:
    await agent.call("navigate", url=site.inline(PAGE))
    await agent.js(f"{script}; return 0")
    return [line["text"] for line in (await agent.call("get_console_logs"))["lines"]]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ("{a: 1, b: 'x', c: null, d: undefined, e: true}", '{a: 1, b: "x", c: null, d: undefined, e: true}'),
        ("{o: {p: {q: 1}}, l: [1, 2], f() {}, get g() { return 1 }}", "{o: {…}, l: Array(2), f: function, g: getter}"),
        ("{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}", "{a: 1, b: 2, c: 3, d: 4, e: 5, …}"),
        ("{said: 'a \"word\"'}", '{said: "a \\"word\\""}'),
        ("[1, 'x', [2], {}]", '[1, "x", Array(1), {…}]'),
        ("[], {}", "[] {}"),
        ("Array(200).fill(7)", f"Array(200) [{'7, ' * 20}…]"),
        ("new Map([['k', {v: 1}], [1, 'x']])", 'Map(2) {"k" => {v: 1}, 1 => "x"}'),
        ("new Set([1, 'a', null])", 'Set(3) {1, "a", null}'),
        ("new (class Point { x = 1; self = this })", "Point {x: 1, self: Point {…}}"),
        ("document.querySelector('#go')", "<button#go.wide.blue>"),
        ("{button: document.querySelector('#go')}", "{button: <button#go.wide.blue>}"),
        ("document.querySelectorAll('button')", "NodeList(1) [<button#go.wide.blue>]"),
        ("document, document.createTextNode('hi')", '#document #text "hi"'),
        ("[new Date(0).getTime(), /x/g, Symbol('s'), NaN, -0, 1n]", "[0, /x/g, Symbol(s), NaN, -0, 1n]"),
        ("/x/g, Symbol('s'), NaN, -0, 1n", "/x/g Symbol(s) NaN -0 1n"),
        ("(a) => a + 1", "(a) => a + 1"),
        ("{e: new Error('inside')}", "{e: Error: inside}"),
        ("/b(.)/.exec('abc')", '["bc", "c", index: 1, input: "abc", groups: undefined]'),
        ("new Uint8Array(3)", "Uint8Array(3) [0, 0, 0]"),
    ],
)
async def test_a_value_reads(agent: Agent, site: PageServer, values: str, text: str) -> None:
    assert await said(agent, site, f"console.log({values})") == [text]


async def test_an_error_says_where_it_was_made(agent: Agent, site: PageServer) -> None:
    script = "function inner() { return new Error('boom') } function outer() { return inner() } console.log(outer())"
    (text,) = await said(agent, site, script)
    assert text.startswith("Error: boom\n    at inner (")
    assert text.count("\n") == 1
    (line,) = (await agent.call("get_console_logs"))["lines"]
    assert "at outer" in line["arguments"][0]


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        (
            "console.table([{name: 'Ada', age: 36}, {name: 'Eve', city: 'Rome'}])",
            ['(index) | name | age | city\n0 | "Ada" | 36 | \n1 | "Eve" |  | "Rome"'],
        ),
        ("console.table([[1, 2], [3, 4]])", ["(index) | 0 | 1\n0 | 1 | 2\n1 | 3 | 4"]),
        ("console.table({first: {a: 1}}, ['a'])", ["(index) | a\nfirst | 1"]),
        ("console.table('no table')", ["no table"]),
        ("console.assert(false)", ["Assertion failed"]),
        ("console.assert(1 === 2, 'sums', {a: 1})", ["Assertion failed: sums {a: 1}"]),
        ("console.count('hits'); console.count('hits')", ["hits: 1", "hits: 2"]),
        ("console.group('Load', {id: 7}); console.log('in'); console.groupEnd()", ["Group: Load {id: 7}", "in"]),
        ("console.groupCollapsed(); console.groupEnd()", ["Group"]),
    ],
)
async def test_a_call_reads(agent: Agent, site: PageServer, script: str, texts: list[str]) -> None:
    assert await said(agent, site, script) == texts


async def test_a_trace_has_its_calls(agent: Agent, site: PageServer) -> None:
    (text,) = await said(agent, site, "function inner() { console.trace('here') } function outer() { inner() } outer()")
    first, at_inner, at_outer, *_ = text.split("\n")
    assert first == "Trace: here"
    assert at_inner.strip().startswith("at inner ")
    assert at_outer.strip().startswith("at outer ")


async def test_what_lies_in_a_group_is_set_in(agent: Agent, site: PageServer) -> None:
    script = "console.group('a'); console.group('b'); console.log('c'); console.groupEnd(); console.groupEnd(); console.log('d')"
    await said(agent, site, script)
    printed = await agent.text("get_console_logs")
    assert "\n[log] Group: a" in printed
    assert "\n  [log] Group: b" in printed
    assert "\n    [log] c" in printed
    assert "\n[log] d" in printed
    await said(agent, site, "console.group('never closed')")
    await said(agent, site, "console.log('of the next page')")
    assert "\n[log] of the next page" in await agent.text("get_console_logs")


async def test_what_a_page_left_open_is_not_another_ones(agent: Agent, site: PageServer) -> None:
    """Each process counts its documents from one on."""
    for n in range(4):
        page = "<script>console.group('never closed'); console.group('nor this')</script>"
        await agent.call("navigate", url=site.inline(page, other=n % 2 == 1))
    for n in range(2):
        await agent.call("navigate", url=site.inline(f"<script>console.log('alone {n}')</script>", other=n == 1))
    await agent.js("console.group('open'); console.clear(); console.log('cleared')")
    printed = await agent.text("get_console_logs")
    for line in ("alone 0", "alone 1", "cleared"):
        assert f"\n[log] {line}" in printed


async def test_a_long_table_is_cut_and_says_so(agent: Agent, site: PageServer) -> None:
    (text,) = await said(agent, site, "console.table(Array.from({length: 90}, (_, n) => ({n})))")
    assert text.count("\n") == 31
    assert text.endswith("\n… Array(90)")
