"""policy.toml as a file: read, changed and replaced as a whole, with every comment of its owner left in place.

Above: the daemon, the person's REST routes, `pilothouse policy`. Below: rules (what it may say), tables, written.
Every edit is checked before it is written: a text that does not hold is never put in place.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pilothouse import tables
from pilothouse.errors import Failure
from pilothouse.guard.patterns import Pattern, read_pattern
from pilothouse.guard.rules import MAX_BYTES, Rule, Rules, read_rules
from pilothouse.written import PRIVATE, replace

NAME = "policy.toml"
SETTINGS = ("template", "mode", "default", "step_budget")
TRIES = 5  # a person may save the file while we write


class Rulebook:
    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        """As it stands; empty if there is no file."""
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_BYTES + 1).decode("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise Failure("bad_request", f"{self.path}: {error}") from None

    def read(self) -> Rules:
        """What it says; `bad_request` if that cannot be told."""
        return read_rules(self.text(), str(self.path))

    def says_nothing(self) -> bool:
        """Whether there is no file, or no setting and no rule in it."""
        try:
            return not tomllib.loads(self.text())
        except (Failure, ValueError, RecursionError):
            return False  # it says something wrong

    def written_at(self) -> datetime | None:
        """When the file was last changed: the best that can be said of rules that somebody wrote into it."""
        try:
            return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
        except OSError:
            return None

    # Changing it

    def put(self, text: str, *, version: str = "") -> Rules:
        """Another text, whole. `version` is the one that it was made from: what somebody else wrote since, stays."""

        def whole(old: str) -> str:
            if version and version != version_of(old):
                hint = "read it again, and make the change there"
                raise Failure("in_use", "policy.toml was changed meanwhile", suggestions=[hint])
            return text

        return self._edit(whole)

    def set_rule(self, host: str, values: dict[str, Any], *, by: str) -> Rules:
        """A rule for a host, or other values in the one there is. None takes a key out."""
        pattern = read_host(host)
        known = {**values, "by": by, "at": datetime.now(UTC).replace(microsecond=0)}

        def changed(text: str) -> str:
            at = _position(read_rules(text, str(self.path)), pattern)
            if at is not None:
                return tables.with_changes(text, "rules", at, known, str(self.path))
            told = {"host": pattern.text, **{key: value for key, value in known.items() if value is not None}}
            return tables.with_entry(text, "rules", told, str(self.path))

        return self._edit(changed)

    def drop_rule(self, host: str) -> Rules:
        pattern = read_host(host)

        def dropped(text: str) -> str:
            rules = read_rules(text, str(self.path))
            at = _position(rules, pattern)
            if at is None:
                known = ", ".join(one.pattern.text for one in rules.rules[:20])
                hint = f"there are rules for: {known}" if known else "there are no rules: see `pilothouse policy show`"
                raise Failure("not_found", f"no rule is written for {pattern.text}", suggestions=[hint])
            return tables.without_entry(text, "rules", at, str(self.path))

        return self._edit(dropped)

    def set(self, key: str, value: str | int | None) -> Rules:
        """One of the settings above the rules; None takes it out."""
        return self.set_all({key: value})

    def set_all(self, wanted: Mapping[str, str | int | None]) -> Rules:
        """Several at once: what would hold between them, never holds."""
        for key in wanted:
            if key not in SETTINGS:
                raise Failure("bad_request", f"{key[:80]!r} is no setting", suggestions=[", ".join(SETTINGS)])

        def change(text: str) -> str:
            for key, value in wanted.items():
                text = _with_setting(text, key, value, str(self.path))
            return text

        return self._edit(change)

    def _edit(self, change: Callable[[str], str]) -> Rules:
        for _ in range(TRIES):
            stamp = _stamp(self.path)
            old = self.text()
            new = change(old.replace("\r\n", "\n"))
            new = new.replace("\n", "\r\n") if "\r\n" in old and "\r\n" not in new else new
            rules = read_rules(new, str(self.path))
            real = Path(os.path.realpath(self.path))  # a link to a file kept elsewhere stays one
            mode = real.stat().st_mode & 0o777 if stamp else PRIVATE
            try:
                if replace(real, new.encode("utf-8"), mode=mode, still=lambda stamp=stamp: _stamp(self.path) == stamp):
                    return rules
            except OSError as error:
                raise Failure("system", f"{self.path} cannot be written: {error.strerror}") from None
        raise Failure("system", f"{self.path} is being written by somebody else", retryable=True)


def refuse_to_forget(book: Rulebook, holds: Rules) -> None:
    """A file that vanished, or that an editor or a full disk left empty, is nobody's word that all may be done."""
    if holds != Rules() and book.says_nothing():
        gone = "is empty" if book.path.exists() else "is gone"
        hint = "put it back, or say what is to hold from now on: `pilothouse policy template sandbox`"
        raise Failure("in_use", f"{book.path} {gone}, which takes no rule back", suggestions=[hint])


def version_of(text: str) -> str:
    """Of what it says, however its lines end: a page's text field knows one way only."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "replace")).hexdigest()[:16]


def told(book: Rulebook, rules: Rules, problem: str = "") -> dict[str, Any]:
    """The file and what holds, for people and programs."""
    text, at = book.text(), book.written_at()
    return {
        "path": str(book.path),
        "text": text,
        "version": version_of(text),
        "problem": problem,
        "policy": {
            "template": rules.template,
            "mode": rules.mode,
            "default": rules.default,
            "step_budget": rules.step_budget,
            "sensitive_patterns": list(rules.sensitive_patterns),
            "rules": [shown(one, at) for one in rules.rules],
        },
    }


def shown(rule: Rule, written_at: datetime | None) -> dict[str, Any]:
    """A rule for people and programs, with who set it and when."""
    at = rule.at or written_at
    told: dict[str, Any] = {
        "host": rule.pattern.text,
        "read": rule.read,
        "write": rule.write,
        "approval": rule.approval,
        "max_steps_per_hour": rule.max_steps_per_hour,
        "by": rule.by or "the file",
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z") if at else "",
    }
    if rule.resources is not None:
        told["resources"] = [one.text for one in rule.resources]
    return told


def read_host(host: str) -> Pattern:
    """As in the file: whoever pastes an address with a path means less than its host, which a rule cannot say."""
    try:
        return read_pattern(host)
    except Failure as failure:
        scheme, separator, rest = host.strip().partition("://")
        where, slash, path = rest.partition("/") if separator else scheme.partition("/")
        if not slash or not path:
            raise
        place = f"{scheme}{separator}{where}" if separator else where
        hints = [f"a rule is for all pages of a host: write {place}", *failure.suggestions]
        raise Failure("bad_request", f"{host[:100]!r} has a path, which no rule can have", suggestions=hints) from None


def _position(rules: Rules, pattern: Pattern) -> int | None:
    return next((at for at, one in enumerate(rules.rules) if one.pattern == pattern), None)


def _with_setting(text: str, key: str, value: str | int | None, place: str) -> str:
    """tomlkit changes a line that is there; a new one comes first of all, where no table has begun yet."""
    import tomlkit

    try:
        wanted = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Failure("bad_request", f"{place}: {error}", suggestions=["mend it first"]) from None
    if value is None:
        wanted.pop(key, None)
    else:
        wanted[key] = value
    document: Any = tomlkit.parse(text)
    if value is not None and key not in document:
        new = f"{key} = {json.dumps(value)}\n{text}"
    else:
        if value is None:
            document.pop(key, None)
        else:
            document[key] = value
        new = document.as_string()
    return tables.checked(new, wanted, place)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
