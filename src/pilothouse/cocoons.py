"""Cocoons as they stand in config.toml: the apps behind the debug proxy, who owns each, and where each is seen.

Above: the proxy, the hub, the person's routes and commands. Below: config, editing, tables, guard's addresses. The list
is read anew when the file changes, so that a cocoon that was added is there with the next request.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pilothouse.config import parse
from pilothouse.editing import edited, read_text
from pilothouse.errors import Failure
from pilothouse.guard.address import authority, check_url
from pilothouse.options import A_COCOON_ID, A_NAME, COCOON_ID, LOCAL, NAME, Cocoon, Config, Proxy
from pilothouse.tables import with_entry, without_entry

_FOR_A_HUB = "where `pilothouse hub` runs alone it needs none, if [proxy] in config.toml has no `enabled = true`"


class Place(msgspec.Struct, frozen=True):
    """A cocoon with what holds for it: its own words, and `[proxy]` where it has none."""

    id: str
    name: str
    owner: str
    target: str
    origin: str
    enabled: bool
    content_types: frozenset[str]
    exclude_paths: tuple[str, ...]
    response_body_max_size: int


class Cocoons:
    """All cocoons of one file. `forbidden_ports` are ours: no target may lead there. `served`: a hub alone serves none,
    and needs no target to know whose they are. `on_mistake` is told, once, what in the file does not count."""

    def __init__(
        self,
        file: Path,
        settings: Proxy,
        *,
        forbidden_ports: set[int],
        served: bool = True,
        on_mistake: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._file = file
        self._forbidden_ports = forbidden_ports
        self.proxy = settings
        self._stamp: object = ()
        self._places: dict[str, Place] = {}
        self._left_out: dict[str, str] = {}
        self._mistake = ""
        self._users: dict[str, str] = {}
        self.on_users: Callable[[str, str], None] = lambda name, change: None  # "added" or "removed"; both: a new key
        self._served = served
        self._on_mistake = on_mistake
        self._refresh()

    def find(self, cocoon_id: str) -> Place | None:
        self._refresh()
        return self._places.get(cocoon_id)

    def all(self) -> list[Place]:
        self._refresh()
        return list(self._places.values())

    def left_out(self) -> dict[str, str]:
        """What in the file does not count, by id, and why."""
        self._refresh()
        return dict(self._left_out)

    def mistake(self) -> str:
        """Why the file as it is now does not count, and what was there before holds; empty when it does."""
        self._refresh()
        return self._mistake

    def user_of(self, key: str) -> str | None:
        """Whose key this is. Every hash is compared, so time tells nothing about which one came near."""
        self._refresh()
        given = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        found: str | None = None
        for name, kept in self._users.items():
            if hmac.compare_digest(given, kept):
                found = name
        return found

    def one_owner(self) -> bool:
        """Whether cocoons may share an origin: then each can read what the others keep in the browser."""
        return len({one.owner for one in self.all()}) <= 1

    def add(self, values: dict[str, Any]) -> Place:
        self.write(values)
        return self.placed(values["id"])

    def remove(self, cocoon_id: str) -> None:
        """This and `write` change the file and nothing here: they may run in a thread, the rest may not."""
        edited(self._file, lambda text: (self.without(text, cocoon_id), None))

    def write(self, values: dict[str, Any]) -> None:
        edited(self._file, lambda text: (self.having(text, values), None))

    def placed(self, cocoon_id: str) -> Place:
        """One that was just written."""
        found = self.find(cocoon_id)
        if found is None:
            raise Failure("system", f"the cocoon {cocoon_id} vanished while it was added", retryable=True)
        return found

    def having(self, text: str, values: dict[str, Any]) -> str:
        """The file's text with one more cocoon, or why there cannot be this one."""
        known = self._parsed(text)
        if any(one.id == values["id"] for one in known.cocoons):
            hint = f"pilothouse cocoon remove {values['id']}"
            raise Failure("bad_request", f"there is a cocoon {values['id']} already", suggestions=[hint])
        entry = {key: value for key, value in values.items() if value not in ("", None)}
        new = with_entry(text, "cocoons", entry, str(self._file))
        try:
            added = self._parsed(new).cocoons[-1]
        except Failure as failure:  # the file was read above: the mistake is in what was given, which is in no file
            place = f"{self._file}: cocoons no. {len(known.cocoons) + 1}: "
            raise Failure(failure.code, failure.message.removeprefix(place)) from None
        self._check(added, known)
        return new

    def without(self, text: str, cocoon_id: str) -> str:
        ids = [one.id for one in self._parsed(text).cocoons]
        if cocoon_id not in ids:
            hint = f"cocoons: {', '.join(ids[:20])}" if ids else "none yet: `pilothouse cocoon add ID TARGET` adds one"
            raise Failure("not_found", f"there is no cocoon {cocoon_id[:80]!r}", suggestions=[hint])
        return without_entry(text, "cocoons", ids.index(cocoon_id), str(self._file))

    def text(self) -> str:
        return read_text(self._file)

    def _parsed(self, text: str) -> Config:
        return parse(text, str(self._file))

    def _check(self, cocoon: Cocoon, known: Config) -> None:
        if not cocoon.target and self._served:
            hints = [f"pilothouse cocoon add {cocoon.id} http://127.0.0.1:3000", _FOR_A_HUB]
            raise Failure("bad_request", "a cocoon needs a target", suggestions=hints)
        if not re.fullmatch(NAME, cocoon.owner):  # who cannot be added is not suggested
            raise Failure("bad_request", f"{cocoon.owner[:64]!r} cannot be the name of a user", suggestions=[A_NAME])
        if cocoon.owner != LOCAL and cocoon.owner not in {one.name for one in known.users}:
            hint = f"pilothouse user add {cocoon.owner[:64]}"
            raise Failure("bad_request", f"there is no user {cocoon.owner[:64]!r}", suggestions=[hint])
        self._target(cocoon)

    def _target(self, cocoon: Cocoon) -> str:
        if not cocoon.target:
            return ""
        target = check_url(cocoon.target, self._forbidden_ports)
        if authority(target)[1] == 0:
            hint = "name the port that the app listens on, such as http://127.0.0.1:3000"
            raise Failure("bad_request", "nobody can listen on port 0", suggestions=[hint])
        return target.rstrip("/")

    def _refresh(self) -> None:
        """A file with a mistake in it changes nothing, and is told of once."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        before = self._users
        self._mistake = ""
        try:
            config = self._parsed(self.text())
            self._left_out = {}
            self._places = {one.id: self._place(one) for one in config.cocoons if self._usable(one, config)}
            self._users = {one.name: one.key_sha256 for one in config.users if one.key_sha256}
        except Failure as failure:
            self._mistake = f"users and cocoons stay as they were: {failure}"
            self._on_mistake(self._mistake)
        self._stamp = stamp
        for name, change in _changes(before, self._users):
            self.on_users(name, change)

    def _usable(self, cocoon: Cocoon, config: Config) -> bool:
        try:
            self._check(cocoon, config)
        except Failure as failure:
            self._left_out[cocoon.id] = str(failure)
            self._on_mistake(f"the cocoon {cocoon.id} does not count: {failure}")
            return False
        return True

    def _place(self, cocoon: Cocoon) -> Place:
        base = self.proxy
        return Place(
            id=cocoon.id,
            name=cocoon.name or cocoon.id,
            owner=cocoon.owner,
            target=self._target(cocoon),
            origin=origin_of(cocoon.id, base),
            enabled=cocoon.enabled is not False,
            content_types=frozenset(_own(cocoon.content_types, base.content_types)),
            exclude_paths=tuple(_own(cocoon.exclude_paths, base.exclude_paths)),
            response_body_max_size=_own(cocoon.response_body_max_size, base.response_body_max_size),
        )


def shown(place: Place) -> dict[str, Any]:
    """As people and programs are told of it."""
    told = {"id": place.id, "name": place.name, "owner": place.owner, "target": place.target, "url": f"{place.origin}/"}
    return {**told, "enabled": place.enabled}


def listed(cocoons: Cocoons) -> dict[str, Any]:
    left_out = [{"id": cocoon_id, "why": why} for cocoon_id, why in cocoons.left_out().items()]
    told = {"cocoons": [shown(one) for one in cocoons.all()], "left_out": left_out, "mistake": cocoons.mistake()}
    return {**told, "proxy": cocoons.proxy.enabled}


def checked_id(text: str) -> str:
    if not re.fullmatch(COCOON_ID, text):
        raise Failure("bad_request", "this is no id of a cocoon", suggestions=[A_COCOON_ID])
    return text


def origin_of(cocoon_id: str, proxy: Proxy) -> str:
    """What the browser calls the origin of a cocoon; with an empty id, that of the proxy itself."""
    port = proxy.public_port or proxy.port
    host = f"{cocoon_id}.{proxy.base_host}" if cocoon_id else proxy.base_host
    usual = 443 if proxy.https else 80
    return f"{'https' if proxy.https else 'http'}://{host}{'' if port == usual else f':{port}'}"


def host_of(origin: str) -> str:
    return urlsplit(origin).netloc


def _changes(before: dict[str, str], now: dict[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((name, "removed") for name, key in before.items() if now.get(name) != key)
    yield from ((name, "added") for name, key in now.items() if before.get(name) != key)


def _own(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _stamp(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
