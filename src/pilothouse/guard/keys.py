"""The secrets that say who is calling: agent keys by name, and the one key of the person.

Above: the doors ask `who(secret)`. Below: errors. Each key is a 0600 file in the home, made on first use; a file that
others can read is refused, because what they may have read is no secret any more (`who` passes it by). Whoever sets
`on_change` hears of keys that came and went, before one of them opens anything.
"""

import hmac
import logging
import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pilothouse.errors import Failure
from pilothouse.written import create

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_MAX_BYTES = 4096
# A link may lead anywhere, and opening a named pipe would wait for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_log = logging.getLogger(__name__)


class Key(NamedTuple):
    """One that was just made."""

    secret: str
    path: Path


def _nobody(secrets: dict[str, str]) -> None:
    return None


class Keys:
    """Keys are read at each question, so that a new or removed file counts at once (M: 0.1 ms for three keys).

    `learn` hears the secrets by their owners, whenever they change: wherever they come up, they are to be masked.
    """

    def __init__(self, home: Path, learn: Callable[[dict[str, str]], None] = _nobody) -> None:
        self._home = home
        self._learn = learn
        self._told: dict[Path, str] = {}
        self._seen: dict[str, str] | None = None
        self.on_change: Callable[[list[str], list[str]], None] = lambda came, went: None

    def agent(self, name: str = "default") -> str:
        """The secret of an agent key, made if there is none yet."""
        return _read_or_make(self._path(name))

    def person(self) -> str:
        """The secret of the person's key, made if there is none yet."""
        return _read_or_make(self._home / "person.key")

    def hive(self) -> str:
        """What debug tokens are signed with where nobody set HIVE_SECRET: proxy and hub are one daemon then."""
        return _read_or_make(self._home / "hive.key")

    def add(self, name: str) -> Key:
        """A new agent key; one that is there already is not shown again, for whoever asks may be another."""
        path = self._path(name)
        if path.exists():
            raise Failure(
                "bad_request",
                f"there is a key {name} already, in {path}",
                suggestions=[
                    f"pilothouse key revoke {name}  # then add it again, if it was lost",
                    "or choose another name",
                ],
            )
        return Key(_make(path), path)

    def revoke(self, name: str) -> None:
        """The key opens nothing from now on; what a door is still saying to it ends too."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            known = ", ".join(self.names())
            hint = f"keys: {known}" if known else "none yet: `pilothouse key add NAME` makes one"
            raise Failure("not_found", f"there is no key {name}", suggestions=[hint]) from None
        except OSError as error:
            raise Failure("system", f"cannot remove the key {name}: {error.strerror}") from None

    def made_at(self, name: str) -> float:
        """When, in seconds since 1970: a key file is written once."""
        return self._path(name).stat().st_mtime

    def names(self) -> list[str]:
        """The agent keys that exist."""
        more = sorted(path.stem for path in (self._home / "keys").glob("*.key") if _is_name(path.stem))
        return (["default"] if self._path("default").exists() else []) + [name for name in more if name != "default"]

    def who(self, secret: str) -> str | None:
        """`person`, `agent:NAME`, or None. Every key is compared, so time tells nothing about which one came near."""
        given = secret.encode("utf-8", "surrogatepass")
        found: str | None = None
        for owner, kept in self.look().items():
            if hmac.compare_digest(given, kept.encode()):
                found = owner
        return found

    def look(self) -> dict[str, str]:
        """Every key that opens something now. One made anew under an old name is another: the old one went."""
        kept = {owner: key for owner, path in self._all() if (key := self._usable(path)) is not None}
        before, self._seen = self._seen, kept
        if kept != before:
            self._learn(kept)
        if before is not None and kept != before:
            came = [owner for owner, key in kept.items() if before.get(owner) != key]
            went = [owner for owner, key in before.items() if kept.get(owner) != key]
            self.on_change(came, went)
        return kept

    def _usable(self, path: Path) -> str | None:
        """A key file that is refused opens nothing; the other keys still do. The log hears of it once."""
        try:
            kept = _read(path)
        except Failure as failure:
            if self._told.get(path) != failure.message:
                self._told[path] = failure.message
                _log.warning("this key is not accepted: %s", failure.message)
            return None
        self._told.pop(path, None)
        return kept

    def _all(self) -> list[tuple[str, Path]]:
        return [(f"agent:{name}", self._path(name)) for name in self.names()] + [("person", self._home / "person.key")]

    def _path(self, name: str) -> Path:
        if not _is_name(name):
            raise Failure("bad_request", f"{name[:40]!r} is no key name: use a-z, 0-9, - and _, at most 32")
        return self._home / "agent.key" if name == "default" else self._home / "keys" / f"{name}.key"


def _is_name(name: str) -> bool:
    """An agent called `person` would look like one in the log."""
    return _NAME.fullmatch(name) is not None and name != "person"


def _read_or_make(path: Path) -> str:
    found = _read(path)
    return _make(path) if found is None else found


def _make(path: Path) -> str:
    """Two daemons that start together agree: what the first one made is read by both."""
    secret = secrets.token_urlsafe(32)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        create(path, f"{secret}\n".encode())
    except OSError as error:
        raise Failure("system", f"cannot make the key file {path}: {error.strerror}") from None
    found = _read(path)
    if found is None:
        raise Failure("system", f"the key file {path} vanished while it was made")
    return found


def _read(path: Path) -> str | None:
    """The secret in a key file; None when there is no file."""
    try:
        secret = read_private(path, _MAX_BYTES).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failure("system", f"cannot read the key file {path}: {error.strerror}") from None
    if len(secret) < 16:
        raise Failure("system", f"the key file {path} is too short", suggestions=[f"rm {path}  # a new one is made"])
    return secret


def read_private(path: Path, most: int) -> bytes:
    """What a file of this user's alone says, up to so many bytes. The one that is looked at is the one that is read."""
    descriptor = os.open(path, _FLAGS)
    try:
        refuse_open_to_others(path, os.fstat(descriptor))
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


def refuse_open_to_others(path: Path, status: os.stat_result) -> None:
    if os.name == "nt":  # there the home's access list holds, and mode bits mean nothing
        return
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        raise Failure("system", f"{path} is not a file of this user", suggestions=[f"rm {path}  # a new one is made"])
    if status.st_mode & 0o077:
        raise Failure(
            "system",
            f"the key file {path} can be read by other users (mode {stat.S_IMODE(status.st_mode):03o})",
            suggestions=[f"chmod 600 {path}", f"rm {path}  # if someone may have read it: a new one is made"],
        )
