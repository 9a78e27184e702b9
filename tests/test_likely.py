"""Names that other servers use, and names misspelled, lead to the tool that was meant, and to nothing that destroys."""

import importlib
import pkgutil

import pytest

import pilothouse.tools
from pilothouse.errors import Failure
from pilothouse.likely import _ELSEWHERE, likely  # pyright: ignore[reportPrivateUsage]
from pilothouse.tool import Registry, declared
from tests.promises import promise

pytestmark = promise("C02", "C08")

for _module in pkgutil.iter_modules(pilothouse.tools.__path__):
    importlib.import_module(f"pilothouse.tools.{_module.name}")
OURS = Registry(one for one in declared() if one.handler.__module__.startswith("pilothouse.tools."))
NAMES = [one.name for one in OURS]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("browser_click", ["click"]),
        ("browserClick", ["click"]),
        ("mcp__playwright__browser_type", ["type_text"]),
        ("playwright.evaluate", ["evaluate_js"]),
        ("browser_snapshot", ["get_page_state"]),
        ("take_snapshot", ["get_page_state"]),
        ("browser_take_screenshot", ["screenshot"]),
        ("puppeteer_fill", ["type_text"]),
        ("Navigate-Back", ["go_back"]),
        ("list-tabs", ["list_tabs"]),
        ("nope", []),
        ("", []),
    ],
)
def test_what_other_servers_call_it(name: str, meant: list[str]):
    assert likely(name, NAMES) == meant


def test_every_name_from_elsewhere_means_a_tool_of_ours():
    assert set(_ELSEWHERE.values()) <= set(NAMES)
    assert not set(_ELSEWHERE) & set(NAMES)


def test_what_is_spelled_alike():
    assert likely("clik", NAMES)[0] == "click"
    assert likely("get_cookie", NAMES)[0] == "get_cookies"


@pytest.mark.parametrize(
    "name", ["browser_close", "browser", "bill_browser", "get_browser", "launch", "profile", "url"]
)
def test_nothing_that_destroys_is_named_to_who_has_not_asked_for_it(name: str):
    verbs = {one.partition("_")[0] for one in likely(name, NAMES)}
    assert not verbs & {"kill", "delete", "clear", "block"}, likely(name, NAMES)


def test_who_asked_for_it_finds_it():
    assert likely("delete_cookie", NAMES)[0] == "delete_cookies"
    assert likely("browser_close_tab", NAMES) == ["close_tab"]


def test_who_is_near_nothing_is_told_what_there_is():
    with pytest.raises(Failure) as refused:
        OURS.find("nope")
    (told,) = refused.value.suggestions
    assert told.startswith("the core set is batch, ")
    assert "get_page_state" in told
