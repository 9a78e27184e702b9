"""tools.json: written by the daemon, made by the command line when there is none, true to the declarations."""

import json
import stat
from pathlib import Path

import pytest

from pilothouse import __version__
from pilothouse.commands import manifest
from pilothouse.commands.arguments import UsageError, parse, seconds
from pilothouse.commands.describe import describe_all
from pilothouse.tool import declared
from tests.command_line import CommandLine
from tests.processes import Process
from tests.promises import promise

pytestmark = promise("C04", "E08")


def test_the_daemon_writes_it_at_its_start(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tools.json").write_text('{"version": "0.0.0", "tools": []}')
    daemon = Process("serve", home=home)
    try:
        daemon.read()
        written = json.loads((home / "tools.json").read_text())
        assert written["version"] == __version__
        assert written == describe_all()
        assert stat.S_IMODE((home / "tools.json").stat().st_mode) == 0o600
        assert not list(home.glob("tools.json.*"))
    finally:
        daemon.end()


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"version": "0.0.1", "tools": []}'])
def test_without_one_that_fits_it_is_made_and_kept(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "tools.json").write_text(text)
    made = manifest.read(str(tmp_path))
    assert made == describe_all()
    assert json.loads((tmp_path / "tools.json").read_text()) == made


def test_help_needs_no_daemon(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    cli = CommandLine(home)
    assert "Usage: pilothouse click TARGET" in cli.text("click", "--help")
    assert "fill-form" in cli.text("tools")
    assert cli.run("status").returncode == 1


def test_a_home_that_cannot_be_written_to_costs_only_time(tmp_path: Path):
    gone = tmp_path / "gone"
    assert manifest.read(str(gone))["tools"]


def test_it_says_what_the_declarations_say():
    known = {one["name"]: one for one in describe_all()["tools"]}
    ours = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.")]
    assert set(known) == {one.name for one in ours}
    for tool in ours:
        entry = known[tool.name]
        assert entry["about"] == tool.description
        assert [one["name"] for one in entry["parameters"]] == list(tool.arguments.__struct_fields__)
        required = {one["name"] for one in entry["parameters"] if one.get("required")}
        assert required == set(tool.input_schema.get("required", []))
    click = {one["name"]: one for one in known["click"]["parameters"]}
    assert click["target"] == {
        "name": "target",
        "kind": "string",
        "many": True,
        "about": "ref, CSS, text=, label=, role=[name=]",
        "required": True,
    }
    assert click["button"]["choices"] == ["left", "middle", "right"]
    assert (click["count"]["least"], click["count"]["most"], click["count"]["default"]) == (1, 3, 1)
    assert click["tab"]["place"]
    (token,) = (one for one in known["browser_debug_get_network"]["parameters"] if one["name"] == "token")
    assert (token["word"], token["about"]) == ("handle", "of browser_debug_list_tabs")
    assert "handle" not in json.dumps(next(one for one in ours if one.name == "browser_debug_get_network").input_schema)


def test_tools_are_listed_by_set(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    cli = CommandLine(home)
    listed = cli.text("tools", "--set", "forms,click")
    assert "fill-form" in listed
    assert "click" in listed
    assert "navigate" not in listed
    core = json.loads(cli.text("tools", "--set", "core", "--json"))
    assert {one["name"] for one in core} == {one["name"] for one in describe_all()["tools"] if one["core"]}
    wrong = cli.run("tools", "--set", "nonsense")
    assert wrong.returncode == 2
    assert "forms" in wrong.stderr


TOOL = {
    "name": "bake",
    "synonyms": {"oven": "place"},
    "parameters": [
        {"name": "bread", "kind": "string", "required": True},
        {"name": "toppings", "kind": "list", "of": {"kind": "string"}, "required": True},
        {"name": "place", "kind": "string", "longest": 50, "word": "shelf"},
        {"name": "degrees", "kind": "number"},
        {"name": "crust", "kind": "boolean", "default": True},
        {"name": "extra", "kind": "map"},
        {"name": "seeds", "kind": "list", "of": {"kind": "choice", "choices": ["Rye", "Oat"]}},
    ],
}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rye salt", {"bread": "rye", "toppings": ["salt"]}),
        ("rye salt oil,nuts", {"bread": "rye", "toppings": ["salt", "oil,nuts"]}),
        ("--toppings salt,oil rye", {"bread": "rye", "toppings": ["salt", "oil"]}),
        ('rye ["a","b"]', {"bread": "rye", "toppings": ["a", "b"]}),
        ("rye -- --salt -5", {"bread": "rye", "toppings": ["--salt", "-5"]}),
        ("rye s --degrees -5.5 --no-crust", {"bread": "rye", "toppings": ["s"], "degrees": -5.5, "crust": False}),
        ("rye s --crust=false --oven=@home", {"bread": "rye", "toppings": ["s"], "crust": False, "place": "@home"}),
        ("rye s --shelf low", {"bread": "rye", "toppings": ["s"], "place": "low"}),
        ("rye s --extra a=1,b=x", {"bread": "rye", "toppings": ["s"], "extra": {"a": 1, "b": "x"}}),
        ("rye s --seeds rye,OAT", {"bread": "rye", "toppings": ["s"], "seeds": ["Rye", "Oat"]}),
    ],
)
def test_a_line_becomes_arguments(typed: str, meant: dict[str, object]):
    assert parse(TOOL, typed.split())[0] == meant


@pytest.mark.parametrize(
    "typed",
    ["", "rye", "rye s --degrees hot", "rye s --no-place", "rye s --place a --place b", "rye s --crust=perhaps"],
)
def test_a_line_that_is_none(typed: str):
    with pytest.raises(UsageError):
        parse(TOOL, typed.split())


def test_times():
    assert [seconds(one) for one in ("2", "2s", "500ms", "1.5m")] == [2, 2, 0.5, 90]
    for wrong in ("", "0", "-1", "x", "nan", "1h", "inf"):
        with pytest.raises(UsageError):
            seconds(wrong)
