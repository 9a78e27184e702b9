"""Hints as a person would type them."""

import pytest

from pilothouse.commands.hints import answered, in_commands
from tests.promises import promise

pytestmark = promise("E08", "C08")
TOOLS = {"handle_dialog", "get_page_state", "wait", "drag", "find"}


@pytest.mark.parametrize(
    ("hint", "typed"),
    [
        ("answer it: handle_dialog(accept=true)", "answer it: pilothouse handle-dialog --accept"),
        ("or handle_dialog(accept=false)", "or pilothouse handle-dialog --no-accept"),
        ('drag(target="e3", to="e7")', 'pilothouse drag --target "e3" --to "e7"'),
        ("wait(time_ms=500), then look", "pilothouse wait --time-ms 500, then look"),
        ("look at the page (get_page_state)", "look at the page (pilothouse get-page-state)"),
        ("wait until you find it", "wait until you find it"),
        ("try a longer timeout_ms", "try a longer timeout_ms"),
    ],
)
def test_a_call_is_shown_as_a_command(hint: str, typed: str):
    assert in_commands(f"timeout: late\n- {hint}\nend", [hint], TOOLS) == f"timeout: late\n- {typed}\nend"


def test_what_a_page_says_stays():
    said = "not_found: no\n- do: find it\n<page>\n- handle_dialog(accept=true)"
    assert in_commands(said, ["do: find it"], TOOLS) == said


def test_what_a_schema_calls_a_place_is_told_as_it_was_typed():
    tool = {"name": "open_page", "parameters": [{"name": "view_port", "kind": "object"}]}
    message = "open_page: Expected `int`, got `str` - at `$.view_port.width`"
    steps = ["view_port takes width, height", "open_page takes view_port?"]
    text = "\n- ".join([f"bad_request: {message}", *steps])
    error = {"code": "bad_request", "message": message, "suggestions": steps}
    told = answered({"text": text, "data": {"error": error}}, tool, {"tools": [tool]})["text"]
    assert told.splitlines() == [
        "bad_request: open-page: --view-port.width: expected `int`, got `str`",
        "- --view-port takes width, height",
        "- Try 'pilothouse open-page --help'.",
    ]
