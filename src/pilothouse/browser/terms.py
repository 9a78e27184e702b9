"""What a person allows every session: how many tabs, how much on disk, files from where, how long an answer.

Above: the daemon fills it in from the config; sessions hand it down to tabs. Below: nothing.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec


class Vault(Protocol):
    """A place for secrets, by name."""

    def put(self, name: str, data: bytes) -> Path: ...
    def get(self, name: str) -> bytes: ...


class Secrets(Protocol):
    """What a person registered: typed by name, into fields of its own domains."""

    def named(self, text: str) -> str: ...
    def reveal(self, name: str, origin: str) -> tuple[str, bool]: ...
    def some(self) -> bool: ...


def _as_they_are(headers: Mapping[str, str]) -> dict[str, str]:
    return dict(headers)


def _nothing(browser: str, url: str) -> bool:
    return False


def _never(browser: str, mode: str, place: str, asked: bool) -> bool:
    return False


def _inside(allowed: tuple[str, ...], place: str) -> bool:
    return False


class Terms(msgspec.Struct, frozen=True):
    max_tabs: int = 50
    quota_bytes: int = 500_000_000
    upload_roots: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()  # never uploaded, whatever the roots say: our own keys and logs
    body_max_bytes: int = 102_400
    snapshot_budget: int = 2500
    vault: Vault | None = None  # where log-ins may be kept
    secrets: Secrets | None = None
    # What takes secrets out of files, which nobody reads before they are written.
    redact_text: Callable[[str], str] = str
    redact_registered: Callable[[str], str] = str  # only what a person registered
    redact_headers: Callable[[Mapping[str, str]], dict[str, str]] = _as_they_are
    # Whether what a browser in a mode keeps of a place is out of reach; last, whether a person could be asked.
    bars: Callable[[str, str, str, bool], bool] = _never
    is_outside: Callable[[tuple[str, ...], str], bool] = _inside  # whether a narrowed session has no business there
    forbids: Callable[[str, str], bool] = _nothing  # whether nothing of an address may be told, in a kind of browser
