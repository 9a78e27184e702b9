"""One declaration: what `@tool` makes of an annotated function, and how arguments are taken and refused."""

import time
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from pilothouse import tool as module
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Progress, Registry, Runner, Target, TimeoutMs, Tool, Url, declared, tool
from tests.promises import promise

pytestmark = promise("C04")


class Tab:
    """Stands for the browser's: the name of the class is what a declaration says."""


class Session:
    pass


class OwnSessions:
    pass


class Done(msgspec.Struct):
    done: str
    note: str = ""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools declared here stay here."""
    monkeypatch.setattr(module, "_declared", [])


def poke_tool() -> Tool:
    @tool(Access.WRITE, core=True, example={"target": "#go"}, aliases=("browser.poke",), synonyms={"times": "count"})
    async def poke(
        tab: Tab,
        target: Target,
        count: Annotated[int, Meta(ge=1, le=3)] = 1,
        button: Literal["left", "right"] = "left",
        timeout_ms: TimeoutMs = 1000,
    ) -> Result[Done]:
        """Poke an element,
        gently."""
        return Result("poked", Done(str(count)))

    return declared()[-1]


def test_the_function_is_the_declaration():
    poke = poke_tool()
    assert (poke.name, poke.group, poke.scope) == ("poke", "test_tool", "Tab")
    assert poke.description == "Poke an element, gently."
    assert poke.access is Access.WRITE
    assert list(poke.input_schema["properties"]) == ["target", "count", "button", "timeout_ms", "session", "tab"]
    assert poke.input_schema["required"] == ["target"]
    assert poke.output_schema["properties"] == {"done": {"type": "string"}}
    assert poke.takes == {"target", "count", "button", "timeout_ms"}


def test_what_the_gate_hands_in_is_no_argument():
    @tool(Access.WRITE, example={})
    async def steps(session: Session, run: Runner, progress: Progress, url: Url = "") -> Result[Done]:
        """Run."""
        return Result("", Done(""))

    (made,) = declared()
    assert (made.runner_name, made.progress_name, made.url_names) == ("run", "progress", ("url",))
    assert list(made.input_schema["properties"]) == ["url", "session"]


def test_a_tool_without_a_place_takes_no_session():
    @tool(Access.READ, example={})
    async def count_sessions(sessions: OwnSessions) -> Result[Done]:
        """Count."""
        return Result("", Done(""))

    (made,) = declared()
    assert made.input_schema["properties"] == {}
    with pytest.raises(Failure) as refused:
        made.parse({"session": "s1"})
    assert refused.value.suggestions == ["count_sessions takes no arguments"]


@pytest.mark.parametrize(("access", "queued"), [("READ", False), ("VISIT", True), ("WRITE", True), ("SENSITIVE", True)])
@promise("B12")
def test_reads_run_beside_others_and_the_rest_in_order(access: str, queued: bool):
    @tool(Access[access], example={})
    async def one(tab: Tab) -> Result[Done]:
        """One."""
        return Result("", Done(""))

    @tool(Access[access], example={}, queued=not queued)
    async def other(tab: Tab) -> Result[Done]:
        """Other."""
        return Result("", Done(""))

    assert [made.queued for made in declared()] == [queued, not queued]


# Arguments


def parse(**args: Any) -> Any:
    return poke_tool().parse(args)


@promise("C01")
@pytest.mark.parametrize("name", ["target", "selector", "ref", "ref_id", "element"])
def test_other_names_of_the_same_thing(name: str):
    assert parse(**{name: "#go"}).target == "#go"


@promise("C01")
def test_a_tool_may_have_synonyms_of_its_own():
    assert parse(target="#go", times=2, timeout=5, tabId="t2", session_id="s").count == 2
    taken = parse(target="#go", timeout=5, tabId="t2", session_id="s")
    assert (taken.timeout_ms, taken.tab, taken.session) == (5, "t2", "s")


@promise("C01")
def test_one_argument_under_two_names_is_refused():
    with pytest.raises(Failure, match="given twice: target and selector both mean target"):
        parse(target="#go", selector="#other")


@promise("C06")
def test_a_target_may_be_a_list_of_alternatives():
    assert parse(target=["#go", "text=Go"]).target == ["#go", "text=Go"]


def test_text_passes_for_a_number():
    assert parse(target="#go", count="2").count == 2


@promise("C01", "C08")
@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "target"),
        ({"target": "#go", "count": 4}, "<= 3"),
        ({"target": "#go", "count": "many"}, "int"),
        ({"target": "#go", "button": "middle"}, "middle"),
        ({"target": "#go", "button": "middle"}, "it can be left, right"),
        ({"target": 5}, "str"),
        ({"target": "#go", "nonsense": 1}, "nonsense"),
        ({"target": "#go", "timeout_ms": 0}, ">= 1"),
    ],
)
def test_a_refusal_says_what_was_wrong_and_what_was_expected(args: dict[str, Any], said: str):
    with pytest.raises(Failure) as refused:
        parse(**args)
    failure = refused.value
    assert failure.code == "bad_request"
    assert failure.message.startswith("poke: ")
    assert said in failure.message
    assert failure.suggestions == ["poke takes target, count?, button?, timeout_ms?, session?, tab?"]
    assert failure.details["expected"]["required"] == ["target"]


# The registry


def registry() -> Registry:
    poke_tool()

    @tool(Access.READ, example={})
    async def look(tab: Tab) -> Result[Done]:
        """Look."""
        return Result("", Done(""))

    return Registry(declared())


@promise("C02")
def test_an_alias_is_callable_and_not_listed():
    tools = registry()
    assert tools.find("browser.poke") is tools.find("poke")
    assert [one.name for one in tools.listed("all")] == ["poke", "look"]


@promise("C05")
@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ("core", ["poke"]),
        ("", ["poke"]),
        ("all", ["poke", "look"]),
        ("look", ["look"]),
        ("core, look", ["poke", "look"]),
        ("test_tool", ["poke", "look"]),
    ],
)
def test_sets(sets: str, names: list[str]):
    assert [one.name for one in registry().listed(sets)] == names


@promise("C05")
def test_an_unknown_set_is_refused_with_those_that_exist():
    with pytest.raises(Failure) as refused:
        registry().listed("core,nope")
    assert "nope" in refused.value.message
    assert refused.value.suggestions == ["sets: all, core, test_tool"]


@promise("C08")
def test_an_unknown_tool_is_refused_with_the_nearest():
    with pytest.raises(Failure) as refused:
        registry().find("pok")
    assert (refused.value.code, refused.value.suggestions[0]) == ("unknown_tool", "did you mean poke?")
    with pytest.raises(Failure) as long:
        registry().find("x" * 1000)
    assert len(long.value.message) < 200


@pytest.mark.parametrize(
    "name", ["x" * 3_000_000, " - at `$." * 100_000 + "\n", " - at `$." + "[" * 300_000, " - at `$.steps"]
)
def test_a_name_of_any_length_is_refused_at_once_and_in_few_words(name: str):
    began = time.monotonic()
    with pytest.raises(Failure) as refused:
        poke_tool().parse({"target": "a", name: 1})
    assert time.monotonic() - began < 1
    assert "unknown field" in refused.value.message
    assert len(refused.value.message) < 1000
