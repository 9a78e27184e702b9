"""The parts of the relay that need no browser: what a session was told, nulls on their way, pages that stay closed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from pilothouse.providers import nulls
from pilothouse.providers.forbidden import is_forbidden
from pilothouse.providers.ledger import Ledger
from pilothouse.providers.unsupported import INSTEAD, refusal_of
from tests.promises import promise

pytestmark = promise("A03")

ROOT = Path(__file__).parents[2]


def noted(*told: tuple[str, str]) -> list[str]:
    ledger = Ledger()
    for method, params in told:
        ledger.note(method, params.encode())
    return [f"{entry.method} {entry.params.decode()}" for entry in ledger]


def test_the_last_word_counts() -> None:
    assert noted(("Fetch.enable", '{"a":1}'), ("Page.enable", "{}"), ("Fetch.enable", '{"a":2}')) == [
        'Fetch.enable {"a":2}',
        "Page.enable {}",
    ]
    assert noted(("Fetch.enable", "{}"), ("Fetch.disable", "{}")) == []


def test_scripts_and_bindings_are_many() -> None:
    assert len(noted(("Runtime.addBinding", '{"name":"a"}'), ("Runtime.addBinding", '{"name":"b"}'))) == 2


def test_things_of_the_moment_are_not_kept() -> None:
    ledger = Ledger()
    assert ledger.note("Runtime.evaluate", b"{}") is None
    assert ledger.note("Runtime.runIfWaitingForDebugger", b"{}") is not None
    assert list(ledger) == []


def test_what_was_not_heard_is_told_again() -> None:
    ledger = Ledger()
    entry = ledger.note("Page.enable", b"{}")
    assert entry
    assert ledger.unheard() == [entry]
    entry.heard = True
    assert ledger.unheard() == []
    ledger.forget_heard()
    assert ledger.unheard() == [entry]


def test_nulls_are_kept() -> None:
    call = {"functionDeclaration": "(a, b) => a", "arguments": [{"value": None}, {"value": 1}, {"value": [None]}]}
    told = json.loads(bytes(nulls.kept(msgspec.Raw(msgspec.json.encode(call)))))
    assert told["arguments"] == [{"value": "null"}, {"value": 1}, {"value": [None]}]
    assert "i === 0 ? JSON.parse(one)" in told["functionDeclaration"]


def test_a_call_without_nulls_is_left_alone() -> None:
    raw = msgspec.Raw(b'{"functionDeclaration":"a ? b :null","arguments":[{"value":1}]}')
    assert nulls.kept(raw) is raw


@pytest.mark.parametrize(
    "url",
    [
        "chrome://settings",
        "CHROME://settings",
        " chrome://settings",
        "chrome-extension://abc/popup.html",
        "devtools://x",
        "view-source:https://a.test",
        "blob:chrome-extension://abc/1",
        "https://chromewebstore.google.com/x",
        "https://chromewebstore.google.com./x",
        "https://chrome.google.com/webstore/detail",
        "edge://settings",
    ],
)
def test_pages_that_stay_closed(url: str) -> None:
    assert is_forbidden(url)


@pytest.mark.parametrize("url", ["", "about:blank", "https://a.test/", "http://127.0.0.1:3000", "data:text/html,x"])
def test_pages_that_may_be_opened(url: str) -> None:
    assert not is_forbidden(url)


ADDRESSES = {
    "about:blank": False,
    "https://a.test/": False,
    "http://127.0.0.1:3000/": False,
    "data:text/html,x": False,
    "file:///etc/hosts": False,
    "blob:null/0b2c": False,
    "blob:https://a.test/0b2c": False,
    "https://chrome.google.com/": False,
    "chrome://settings": True,
    " CHROME://settings": True,
    "javascript:1": True,
    "about:version": True,
    "view-source:https://a.test": True,
    "blob:https://addons.opera.com/0b2c": True,
    "https://ChromeWebStore.google.com./x": True,
    "https:chromewebstore.google.com": True,
    "https:\\\\chromewebstore.google.com": True,
    "https://user@chromewebstore.google.com:443/": True,
    "https://chromewebstore%2Egoogle.com/": True,
    "https://chromewebstore\u3002google.com/": True,
    "https://chrome.google.com/webstore/detail": True,
}


def test_daemon_and_extension_keep_the_same_pages_closed(tmp_path: Path) -> None:
    """But for the daemon's own pages: its port the extension knows by itself, and here the policy holds them."""
    node = shutil.which("node", path=f"{ROOT / '.tools' / 'node_modules' / '.bin'}:{os.environ['PATH']}")
    assert node, "scripts/tools brings node along"
    for name in ("forbidden.js", "memory.js"):
        shutil.copy(ROOT / "extension" / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    asked = f"import {{ isForbidden }} from './forbidden.js'; const all = {json.dumps(list(ADDRESSES))};"
    (tmp_path / "ask.js").write_text(f"{asked} console.log(JSON.stringify(all.map(isForbidden)))")
    told = subprocess.run([node, "ask.js"], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert told.returncode == 0, told.stderr
    assert dict(zip(ADDRESSES, json.loads(told.stdout), strict=True)) == ADDRESSES
    assert {url: is_forbidden(url) for url in ADDRESSES} == ADDRESSES


@pytest.mark.parametrize("method", [name for name in INSTEAD if " " not in name])
def test_a_refusal_says_what_to_do_instead(method: str) -> None:
    refusal = refusal_of(method, {"code": -32000, "message": "Not allowed"})
    assert refusal
    assert (refusal.code, bool(refusal.suggestions)) == ("unsupported", True)


def test_a_wrong_command_is_no_refusal() -> None:
    assert refusal_of("DOM.describeNode", {"code": -32602, "message": "Invalid parameters"}) is None
