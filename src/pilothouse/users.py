"""Users of the hub as they stand in config.toml, each with the hash of a key that is shown once and kept nowhere.

Above: the `user` commands. Below: config, editing, tables. A hub that runs reads the file when it changes.
"""

import hashlib
import secrets
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.config import parse
from pilothouse.editing import edited, read_text
from pilothouse.errors import Failure
from pilothouse.options import A_NAME, LOCAL, Config, User
from pilothouse.tables import with_changes, with_entry, without_entry


class Users:
    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> list[User]:
        return self._parsed(read_text(self._file)).users

    def add(self, name: str) -> str:
        """A new key for a user, who may be new too; the one before opens nothing any more."""
        _check(name)
        key = secrets.token_urlsafe(32)
        hashed = hashlib.sha256(key.encode()).hexdigest()

        def added(text: str) -> tuple[str, None]:
            names = [one.name for one in self._parsed(text).users]
            values: dict[str, Any] = {"key_sha256": hashed}
            if name in names:
                return with_changes(text, "users", names.index(name), values, str(self._file)), None
            return with_entry(text, "users", {"name": name, **values}, str(self._file)), None

        edited(self._file, added)
        return key

    def remove(self, name: str) -> None:
        def removed(text: str) -> tuple[str, None]:
            known = self._parsed(text)
            names = [one.name for one in known.users]
            if name not in names:
                hint = f"users: {', '.join(names[:20])}" if names else "none yet: `pilothouse user add NAME` makes one"
                raise Failure("not_found", f"there is no user {name[:64]!r}", suggestions=[hint])
            owned = [one.id for one in known.cocoons if one.owner == name]
            if owned:
                why = f"{name} owns {', '.join(owned[:10])}: first remove {'it' if len(owned) == 1 else 'them'}"
                steps = [f"pilothouse cocoon remove {one}" for one in owned[:10]]
                at_once = f"`pilothouse user add {name}` ends the key of now at once: it puts another in its place"
                raise Failure("bad_request", why, suggestions=[*steps, at_once])
            return without_entry(text, "users", names.index(name), str(self._file)), None

        edited(self._file, removed)

    def _parsed(self, text: str) -> Config:
        return parse(text, str(self._file))


def _check(name: str) -> None:
    try:
        msgspec.convert({"name": name}, User)
    except msgspec.ValidationError:
        raise Failure("bad_request", f"{name[:64]!r} cannot be the name of a user", suggestions=[A_NAME]) from None
    if name == LOCAL:
        hint = "`pilothouse key add NAME` makes keys for agents here"
        raise Failure("bad_request", "local is you, on this machine: it needs no key", suggestions=[hint])
