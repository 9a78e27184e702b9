"""Options: four layers, one declaration, complaints that name the place."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.config import kind, load, wanted
from pilothouse.errors import Failure
from pilothouse.options import Config, Option, options, table_keys
from tests.promises import promise

pytestmark = promise("E09")


def write(path: Path, text: str) -> Path:
    file = path / "config.toml"
    file.write_text(text)
    return file


def test_defaults_without_a_file(tmp_path: Path):
    assert load(tmp_path / "config.toml") == Config()
    assert load() == Config()


def test_flags_beat_environment_beats_file(tmp_path: Path):
    file = write(tmp_path, "[server]\nport = 1\nhost = '::1'\n[limits]\nsessions = 2\n[log]\nlevel = 'debug'\n")
    environ = {"PILOTHOUSE_SERVER_PORT": "3", "PILOTHOUSE_LIMITS_SESSIONS": "4", "PATH": "/bin"}
    config = load(file, environ, {"server.port": 5, "server.host": None})
    assert (config.server.port, config.server.host) == (5, "::1")
    assert (config.limits.sessions, config.log.level) == (4, "debug")


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("PILOTHOUSE_BROWSER_SANDBOX", "auto", "auto"),
        ("PILOTHOUSE_BROWSER_SANDBOX", "false", False),
        ("PILOTHOUSE_BROWSER_PATH", "true", "true"),
        ("PILOTHOUSE_CHROME", "/opt/chrome", "/opt/chrome"),
        ("PILOTHOUSE_BROWSER_ARGS", "--a, --b=c", ["--a", "--b=c"]),
        ("PILOTHOUSE_BROWSER_ARGS", '["--x=1,2"]', ["--x=1,2"]),
        ("PILOTHOUSE_NETWORK_HOSTS", "shop.test=127.0.0.1, b.test=::1", {"shop.test": "127.0.0.1", "b.test": "::1"}),
        ("PILOTHOUSE_NETWORK_HOSTS", '{"b.test" = "::1"}', {"b.test": "::1"}),
        ("PILOTHOUSE_NETWORK_HOSTS", '{"b.test": "::1"}', {"b.test": "::1"}),
        ("PILOTHOUSE_LIMITS_IDLE_MINUTES", "0.5", 0.5),
    ],
)
def test_environment_is_read_as_data(variable: str, text: str, value: Any):
    config = load(environ={variable: text})
    changed = [
        getattr(getattr(config, option.section), option.key)
        for option in options()
        if getattr(getattr(config, option.section), option.key) != option.default
    ]
    assert changed == ([value] if value != "auto" else [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[server]\nprot = 1", r"config.toml: \[server\] has no key prot; did you mean server.port\?"),
        ("[sever]\nport = 1", r"config.toml: there is no section \[sever\]; did you mean server\?"),
        ("[server]\nport = '1'", r"config.toml: server.port: Expected `int`, got `str` \(wanted: int\)"),
        ("[server]\nport = 70000", r"config.toml: server.port: Expected `int` <= 65535"),
        ("[log]\nlevel = 'loud'", r"config.toml: log.level: .*'loud' \(wanted: \"debug\" \| \"info\""),
        ("server = 1", r"config.toml: server is a section"),
        ("[server\nport = 1", r"config.toml: .*line 1"),
        ("[profiles]\nid = 'a'", r"config.toml: profiles is a list; write \[\[profiles\]\]"),
        ("[[profiles]]\nname = 'a'", r"config.toml: profiles no. 1: it needs an id"),
        ("[[profiles]]\nid = 'A b'", r"config.toml: profiles no. 1: id: it has to be lower-case letters, digits"),
        ("[[profiles]]\nid = 'a'\n[[profiles]]\nid = 'a'", r"profiles no. 2: its id a is that of no. 1"),
        ("[[profiles]]\nid = 'a'\nlanguage = 'de'", r"no. 1 has no key language; did you mean lang\?"),
        ("[[profiles]]\nid = 'a'\nviewport = 3", r"no. 1: viewport: .* \(wanted: {width, height}\)"),
        ("[[profiles]]\nid = 'a'\nheadless = 'no'", r"no. 1: headless: .* \(wanted: bool\)"),
        ("[[profiles]]\nid = 'a'\nproxy_server = 'x://h'", r"no. 1: proxy_server: "),
        ("[[prifiles]]\nid = 'a'", r"there is no section \[prifiles\]; did you mean profiles\?"),
    ],
)
def test_mistakes_in_the_file_name_their_place(tmp_path: Path, text: str, complaint: str):
    with pytest.raises(Failure, match=complaint) as caught:
        load(write(tmp_path, text))
    assert caught.value.code == "bad_request"


NO_SUCH = " #?@ "


@pytest.mark.parametrize(
    "option", [one for one in (*options(), *table_keys()) if "pattern" in json.dumps(msgspec.json.schema(one.type))]
)
def test_nobody_is_shown_a_regular_expression(tmp_path: Path, option: Option):
    """What is wanted is said in words, with an example."""
    value = [NO_SUCH] if "list" in kind(option.type) else NO_SUCH
    header = f"[{option.section}]" if option.env else f"[[{option.section}]]"
    file = write(tmp_path, f"{header}\n{option.key} = {json.dumps(value)}")
    complaint = f"{option.key}: it has to be {wanted(option.type)}"
    with pytest.raises(Failure) as caught:
        load(file)
    assert str(caught.value).endswith(complaint)
    assert any(sign in complaint for sign in ("such as", "://", "`pilothouse"))


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("wss://hub.example.com/signaling", True),
        ("ws://127.0.0.1:8778/signaling", True),
        ("ws://hub.example.com/signaling", False),
        ("https://hub.example.com/signaling", False),
        ("hub.example.com", False),
    ],
)
def test_the_address_of_a_hub(url: str, is_one: bool):
    if is_one:
        assert load(environ={"PILOTHOUSE_HUB_URL": url}).hub.url == url
        return
    with pytest.raises(Failure) as caught:
        load(environ={"PILOTHOUSE_HUB_URL": url})
    assert str(caught.value) == (
        "PILOTHOUSE_HUB_URL: it has to be wss://hub.example.com/signaling, or ws://127.0.0.1:8778/signaling for one on "
        "this machine (wss elsewhere; no user, ? or #); or nothing"
    )


def test_profiles_are_read(tmp_path: Path):
    lines = ["id = 'a'", "proxy_server = 'socks5://u:p@[::1]:1080'", "tags = ['x']", "[profiles.viewport]"]
    file = write(tmp_path, "\n".join(["[[profiles]]", *lines, "width = 800", "height = 600"]))
    (profile,) = load(file, {"PILOTHOUSE_SERVER_TOOLS": "all"}).profiles
    assert profile.viewport
    assert (profile.id, profile.tags, profile.headless, profile.viewport.height) == ("a", ["x"], None, 600)


def test_the_set_of_tools(tmp_path: Path):
    file = write(tmp_path, "[server]\ntools = 'core,tabs'\nrest = false\n")
    assert (load(file).server.tools, load(file).server.rest) == ("core,tabs", False)
    assert load(file, {"PILOTHOUSE_SERVER_TOOLS": "all"}).server.tools == "all"
    assert load(file, {"PILOTHOUSE_SERVER_TOOLS": "all"}, {"server.tools": "core"}).server.tools == "core"


def test_mistakes_elsewhere_name_theirs():
    with pytest.raises(Failure, match="PILOTHOUSE_SERVER_PROT; did you mean PILOTHOUSE_SERVER_PORT"):
        load(environ={"PILOTHOUSE_SERVER_PROT": "1"})
    with pytest.raises(Failure, match="PILOTHOUSE_SERVER_PORT: Expected `int`"):
        load(environ={"PILOTHOUSE_SERVER_PORT": "many"})
    with pytest.raises(Failure, match="flag --port: Expected `int`"):
        load(flags={"server.port": "x"})


def test_unreadable_file_is_said(tmp_path: Path):
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(Failure, match=r"config\.toml"):
        load(tmp_path / "config.toml")


def test_every_option_is_documented_and_reachable():
    assert all(key.description.endswith(".") and kind(key.type) for key in table_keys())
    found = list(options())
    assert len({option.env for option in found}) == len(found)
    for option in found:
        assert option.description.endswith("."), option.name
        assert kind(option.type), option.name
        assert option.env == f"PILOTHOUSE_{option.section}_{option.key}".upper()
        assert tomllib.loads(f"[{option.section}]\n{option.key} = 0")
