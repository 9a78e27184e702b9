"""`pilothouse install`: every client's own file in a made-up home, what it keeps, and the way back byte for byte."""

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pilothouse.bridge import parse
from pilothouse.commands import jsonc
from pilothouse.commands.clients import CLIENTS
from tests.command_line import CommandLine
from tests.processes import PILOTHOUSE
from tests.promises import promise

pytestmark = promise("E08")

FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}
OWN = str(Path(PILOTHOUSE).resolve())
KEYS = dict.fromkeys(FILES, "mcpServers") | {"vscode": "servers", "codex": "mcp_servers"}

PLAIN = (
    '{\n  "theme": "dark",\n  "KEY": {\n    "other": {\n      "command": "other"\n    }\n  },\n  "last": [1, 2]\n}\n'
)
COMMENTED = """\
// my servers
{
\t"KEY": {
\t\t// the good one
\t\t"other": { "command": "other", "args": ["--url=http://x//y", "/* no comment */"] }, // really
\t},
\t/* the end, */
}
"""
TOML = """\
# mine
model = "gpt"  # the model

[mcp_servers.other]
command = "other" # keep
args = ["a",
  "b", # two
]

[tui]
theme = "dark"
"""


class Person:
    """Somebody with a home directory of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cli = CommandLine(folder / "pilothouse", HOME=str(folder))
        (folder / "pilothouse").mkdir(mode=0o700)
        self.cli.environment.pop("XDG_CONFIG_HOME", None)

    def install(
        self, client: str, *flags: str, cwd: Path | None = None, answer: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.cli.run("install", client, *flags, cwd=cwd, stdin=answer)

    def file(self, client: str) -> Path:
        return self.folder / FILES[client]

    def entry(self, client: str) -> dict[str, Any]:
        return read(self.file(client).read_text())[KEYS[client]]["pilothouse"]


def read(text: str) -> dict[str, Any]:
    if text.lstrip().startswith(("{", "//")):
        return jsonc.get(text, ())
    return tomllib.loads(text)


def sample(client: str) -> str:
    return TOML if client == "codex" else (COMMENTED if client in ("cursor", "vscode") else PLAIN)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.mark.parametrize(
    ("flags", "written"),
    [
        (["--extension"], ["--extension"]),
        (["--extension", "--yes"], ["--extension"]),
        (["--extension", "work", "--headed"], ["--extension", "work", "--headed"]),
    ],
)
def test_a_client_that_works_in_the_persons_own_chrome(person: Person, flags: list[str], written: list[str]):
    assert person.install("cursor", *flags, "--yes").returncode == 0
    args = person.entry("cursor")["args"]
    assert args == ["mcp", *written]
    hello = parse(args[1:])
    assert hello
    assert (hello["browser"], hello["profile"]) == ("extension", "work" if "work" in flags else "")
    both = person.install("cursor", "--extension", "--profile", "work")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)


@pytest.mark.parametrize("client", FILES)
def test_a_new_file_and_the_way_back(person: Person, client: str):
    done = person.install(client, "--yes", "--tools", "core,network", "--profile", "work")
    assert done.returncode == 0, done.stderr
    entry = person.entry(client)
    assert entry["command"] == OWN
    assert entry["args"] == ["mcp", "--tools", "core,network", "--profile", "work"]
    assert entry["env"] == {"PILOTHOUSE_HOME": str(person.folder / "pilothouse")}
    assert entry.get("type") == ("stdio" if client in ("claude-code", "vscode") else None)
    assert "+" in done.stdout
    assert stat.S_IMODE(person.file(client).stat().st_mode) == 0o600
    assert person.install(client, "--undo", "--yes").returncode == 0
    assert not person.file(client).exists()


@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_everything_there_stays_and_undo_restores_it_byte_for_byte(person: Person, client: str, line_end: str):
    before = sample(client).replace("KEY", KEYS[client]).replace("\n", line_end).encode()
    file = person.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before)
    file.chmod(0o640)
    assert person.install(client, "--yes").returncode == 0
    after = file.read_bytes()
    assert person.entry(client)["args"] == ["mcp"]
    ours = read(after.decode())
    ours[KEYS[client]].pop("pilothouse")
    assert ours == read(before.decode())
    if client != "codex":
        assert all(line in after.splitlines() or line + b"," in after.splitlines() for line in before.splitlines())
        assert (b"\r\n" in after) == (line_end == "\r\n")
        assert after.count(b"\n") == after.count(line_end.encode())
    else:
        assert all(line in after.splitlines() for line in before.splitlines())
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.with_name(file.name + ".before-pilothouse").read_bytes() == before
    person.install(client, "--yes", "--tools", "all")  # once more, with other flags
    assert person.entry(client)["args"] == ["mcp", "--tools", "all"]
    assert person.install(client, "--undo", "--yes").returncode == 0
    assert file.read_bytes() == before
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not file.with_name(file.name + ".before-pilothouse").exists()


@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex"])
def test_undo_keeps_what_came_in_between(person: Person, client: str):
    file = person.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(sample(client).replace("KEY", KEYS[client]))
    person.install(client, "--yes")
    later = file.read_text()
    changed = later.replace("dark", "light") if "dark" in later else later.replace("the good one", "the better one")
    assert changed != later
    file.write_text(changed)
    assert person.install(client, "--undo", "--yes").returncode == 0
    left = file.read_text()
    assert "pilothouse" not in left
    assert ("light" in left) or ("the better one" in left)
    assert read(left)[KEYS[client]] == read(sample(client).replace("KEY", KEYS[client]))[KEYS[client]]


def test_undo_puts_back_an_entry_that_stood_there(person: Person):
    file = person.file("cursor")
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"pilothouse": {"command": "mine"}}, "x": 1}')
    person.install("cursor", "--yes")
    assert person.entry("cursor")["command"] == OWN
    file.write_text(file.read_text().replace('"x": 1', '"x": 2'))
    person.install("cursor", "--undo", "--yes")
    assert json.loads(file.read_text()) == {"mcpServers": {"pilothouse": {"command": "mine"}}, "x": 2}


def test_nothing_happens_unasked(person: Person):
    file = person.file("gemini")
    file.parent.mkdir()
    file.write_text("{}\n")
    for answer in ("n\n", None):
        asked = person.install("gemini", answer=answer)
        assert asked.returncode == 1
        assert '+    "pilothouse": {' in asked.stdout
        assert "nothing was changed" in asked.stdout
        assert file.read_text() == "{}\n"
        assert os.listdir(file.parent) == ["settings.json"]
    assert person.install("gemini", answer="y\n").returncode == 0
    assert person.entry("gemini")["command"] == OWN


def test_tools_that_do_not_exist_are_not_written(person: Person):
    for how in ("--yes", "--print"):
        refused = person.install("gemini", "--tools", "core,clik", how)
        assert refused.returncode == 2
        assert "no tools in 'clik'; did you mean click" in refused.stderr
    assert not person.file("gemini").exists()


def test_print_only_prints(person: Person):
    shown = person.install("vscode", "--print")
    assert json.loads(shown.stdout)["servers"]["pilothouse"]["command"] == OWN
    assert not person.file("vscode").exists()
    assert tomllib.loads(person.install("codex", "--print").stdout)["mcp_servers"]["pilothouse"]["args"] == ["mcp"]


@pytest.mark.parametrize("text", ["{", "[1]", '{"mcpServers": 5}', '{"a": 1 "b": 2}', "\x00\xff", '{"a": undefined}'])
def test_a_file_that_is_not_understood_is_left_alone(person: Person, text: str):
    file = person.file("cursor")
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    told = person.install("cursor", "--yes")
    assert told.returncode == 1
    assert "left as it is" in told.stderr
    assert json.loads(told.stdout)["mcpServers"]["pilothouse"]
    assert file.read_bytes() == text.encode("latin-1")
    assert os.listdir(file.parent) == ["mcp.json"]


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {a={command="a"}}\n',
        "mcp_servers = {}\n[z]\nq = 1\n",
        'mcp_servers.a.command = "a"\n[z]\nq = 1\n',
        "[mcp_servers]\n# none yet\n[z]\nq = 1\n",
        '[mcp_servers.a]\ncommand = "a"\n\n[z]\nq = 1\n\n[mcp_servers.b]\ncommand = "b"\n',
        '[mcp_servers.pilothouse]\ncommand = "old"\n[mcp_servers.pilothouse.env]\nA = "1"\n[z]\nq = 1\n',
    ],
)
def test_toml_says_what_was_meant_however_it_is_written(text: str):
    codex = CLIENTS["codex"]
    entry = codex.entry("/x/pilothouse", ["mcp"], {"PILOTHOUSE_HOME": "/h"})
    tree = tomllib.loads(text)
    new = codex.put(text, entry)
    assert tomllib.loads(new) == {**tree, "mcp_servers": {**tree["mcp_servers"], "pilothouse": entry}}
    assert codex.get(new) == entry
    left = {name: one for name, one in tree["mcp_servers"].items() if name != "pilothouse"}
    assert tomllib.loads(codex.drop(new)).get("mcp_servers", {}) == left


def test_toml_with_something_else_in_our_place_is_left_alone(person: Person):
    person.file("codex").parent.mkdir()
    person.file("codex").write_text("mcp_servers = 5\n")
    told = person.install("codex", "--yes")
    assert (told.returncode, person.file("codex").read_text()) == (1, "mcp_servers = 5\n")
    assert "left as it is" in told.stderr


@pytest.mark.parametrize(
    ("client", "text"),
    [
        (
            "cursor",
            '{"mcpServers": {"a": {"command": "a", "env": {"K": "hush-1"}, "args": ["hush-2"]}}, "o": "hush-3"}',
        ),
        (
            "claude-code",
            '{\n  "mcpServers": {\n    "a": {\n      "url": "hush-1",\n      "headers": {\n        "K": "hush-2"\n      }\n'
            '    }\n  },\n  "oauth": "hush-3"\n}\n',
        ),
        ("codex", '[mcp_servers.a]\ncommand = "a"\nargs = [\n  "hush-1",\n]\n[mcp_servers.a.env]\nK = "hush-2"\n'),
        ("codex", 'mcp_servers = {a={command="a", env={K="hush-1"}}}\n'),
        ("codex", '[mcp_servers.a]\nbearer = "hush-1"\n[z]\nq = "hush-2"\n[mcp_servers.b]\nurl = "hush-3"\n'),
    ],
)
def test_what_others_keep_there_is_not_shown(person: Person, client: str, text: str):
    person.file(client).parent.mkdir(exist_ok=True)
    person.file(client).write_text(text)
    for flags in (["--profile", "work"], ["--undo"]):
        shown = person.install(client, "--yes", *flags)
        assert shown.returncode == 0, shown.stderr
        assert "hush" not in shown.stdout
        assert OWN in shown.stdout
        assert "work" in shown.stdout
    assert person.file(client).read_text() == text


def test_a_link_stays_a_link(person: Person):
    real = person.folder / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = person.file("cursor")
    link.parent.mkdir()
    link.symlink_to(real)
    person.install("cursor", "--yes")
    assert link.is_symlink()
    assert "pilothouse" in real.read_text()


def test_into_a_project(person: Person, tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    told = person.install("claude-code", "--yes", "--project", cwd=project).stdout
    assert "`pilothouse install claude-code --project --undo` takes it back" in told
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["pilothouse"]["type"] == "stdio"
    assert not person.file("claude-code").exists()
    assert person.install("windsurf", "--yes", "--project", cwd=project).returncode == 2


def test_without_a_home_of_its_own_there_is_no_environment(person: Person):
    person.cli.environment.pop("PILOTHOUSE_HOME")
    person.install("cursor", "--yes")
    assert "env" not in person.entry("cursor")


def test_a_second_time_nothing_changes(person: Person):
    person.install("windsurf", "--yes")
    assert "nothing to change" in person.install("windsurf", "--yes").stdout
    person.install("windsurf", "--undo", "--yes")
    assert "nothing to take out" in person.install("windsurf", "--undo", "--yes").stdout


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"x": 1, "me": 2, "y": 3}}',
        '{"a": {"me": 2, "y": 3}}',
        '{"a": {"me": 2}}',
        '{"a": {"x": "\\"}", "me": {"deep": [1, {}]}}} // end',
        '{\n  "a": {\n    "x": 1, // one\n    "me": 2,\n  },\n}',
        '{"a": {"me": 2,}}',
        '{\n  "a": {\n    "me": 2,\n    // two\n    "x": 1\n  }\n}',
        '{\n  "a": {\n    "x": 1, // one\n    "me": 2\n  }\n}',
    ],
)
def test_a_member_goes_and_the_rest_stays(text: str):
    left = jsonc.drop(text, ("a", "me"))
    wanted = jsonc.get(text, ("a",))
    del wanted["me"]
    assert jsonc.get(left, ("a",)) == wanted
    assert ("//" in left) == ("//" in text)


@pytest.mark.parametrize(
    "text", ["", "{}", "{ }", '{"a": {}}', '{"a": {"x": 1}}', "{\n  // nothing yet\n}", "\ufeff{}"]
)
def test_a_member_comes(text: str):
    put = jsonc.put(text, ("a", "b", "me"), {"k": [1, "ü"]})
    assert jsonc.get(put, ("a", "b", "me")) == {"k": [1, "ü"]}
    assert ("// nothing yet" in put) == ("// nothing yet" in text)
    again = jsonc.put(put, ("a", "b", "me"), 5)
    assert jsonc.get(again, ("a", "b")) == {"me": 5}


def test_nesting_has_an_end():
    with pytest.raises(jsonc.Malformed):
        jsonc.parse('{"a":' * 5000 + "1" + "}" * 5000)
