"""policy.toml: what it may say, read strictly. Who made a mistake in it is told the line and the key.

Above: policy decides by `Rules`, rulebook keeps the file. Below: patterns, RE2, errors. A file that says nothing is
the template of the browser; whatever it does say is checked as a whole before any of it holds.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any, Literal, cast, get_type_hints

import msgspec
import re2  # pyright: ignore[reportMissingTypeStubs]
from msgspec import Meta

from pilothouse.config import kind
from pilothouse.errors import Failure
from pilothouse.guard.patterns import ANYTHING, LISTABLE, Pattern, Place, names, one_spelling, read_pattern

Template = Literal["sandbox", "careful", "locked", "readonly"]
Mode = Literal["auto", "ask", "readonly"]
Default = Literal["allow", "ask", "deny"]

MAX_BYTES = 1_000_000
MAX_RULES = 2_000
MAX_PATTERN_CHARS = 500
MAX_RE2_BYTES = 1 << 20

Compiled = Any  # RE2's own type, which has no stubs


class Rule(msgspec.Struct, frozen=True):
    """What holds for the pages of some hosts. `write` None: as the template says. `at` is when it was set."""

    pattern: Pattern
    read: bool = True
    write: bool | None = None
    approval: bool = False
    max_steps_per_hour: int = 0
    resources: tuple[Pattern, ...] | None = None
    by: str = ""  # empty: somebody wrote it into the file
    at: datetime | None = None

    @property
    def name(self) -> str:
        return f"rule {self.pattern.text}"


class Rules(msgspec.Struct, frozen=True):
    """All of policy.toml. What is empty comes from the template; an empty template depends on the browser."""

    template: Template | Literal[""] = ""
    mode: Mode = "auto"
    default: Default | Literal[""] = ""
    step_budget: int = 0
    sensitive_patterns: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    compiled: tuple[Compiled, ...] = ()
    by_host: dict[tuple[bool, str], tuple[Rule, ...]] = {}

    def of(self, place: Place) -> Rule | None:
        """The most specific rule that fits. Only those of the host and of the domains above it are looked at."""
        fitting = (one for one in self._near(place.host) if one.pattern.fits(place))
        return max(fitting, key=lambda one: one.pattern.rank, default=None)

    def names(self, host: str) -> bool:
        """Whether a rule names a host, whatever the scheme and the port."""
        return names((one.pattern for one in self._near(host) if one.pattern.host), host)

    def _near(self, host: str) -> Iterator[Rule]:
        labels = (host := one_spelling(host)).split(".")
        keys = [(False, host), *((True, ".".join(labels[n:])) for n in range(1, len(labels))), (False, "")]
        return (one for key in dict.fromkeys(keys) for one in self.by_host.get(key, ()))


class _Head(msgspec.Struct, frozen=True):
    template: Template
    mode: Mode
    default: Default
    step_budget: Annotated[int, Meta(ge=0, le=1_000_000_000)]
    sensitive_patterns: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=MAX_PATTERN_CHARS)]], Meta(max_length=100)
    ]
    rules: Annotated[list[dict[str, Any]], Meta(max_length=MAX_RULES)]


class _Entry(msgspec.Struct, frozen=True):
    host: Annotated[str, Meta(min_length=1, max_length=300)]
    read: bool
    write: bool
    approval: bool
    max_steps_per_hour: Annotated[int, Meta(ge=0, le=100_000)]
    resources: Annotated[list[Annotated[str, Meta(max_length=300)]], Meta(max_length=1_000)]
    by: Annotated[str, Meta(max_length=100)]
    at: datetime


_HEAD = get_type_hints(_Head, include_extras=True)
_ENTRY = get_type_hints(_Entry, include_extras=True)
RULE_KEYS = tuple(_ENTRY)


def read_rules(text: str, place: str = "policy.toml") -> Rules:
    """What the text says, or `bad_request` with the place of the first mistake."""
    if len(text) > MAX_BYTES:
        raise Failure("bad_request", f"{place} is larger than {MAX_BYTES} bytes")
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise Failure("bad_request", f"{place}: {error}") from None
    reader = _Reader(text, place)
    head = {key: reader.value(_HEAD, key, value) for key, value in tree.items()}
    patterns = tuple(head.get("sensitive_patterns", ()))
    compiled = tuple(reader.doing("sensitive_patterns", lambda one=one: compile_pattern(one)) for one in patterns)
    rules = tuple(reader.rule(number, entry) for number, entry in enumerate(head.get("rules", ()), 1))
    reader.refuse_twins(rules)
    made: dict[str, Any] = {**head, "sensitive_patterns": patterns, "compiled": compiled, "rules": rules}
    return Rules(**made, by_host=_by_host(rules))


def _by_host(rules: tuple[Rule, ...]) -> dict[tuple[bool, str], tuple[Rule, ...]]:
    found: dict[tuple[bool, str], tuple[Rule, ...]] = {}
    for one in rules:
        key = (one.pattern.below, one.pattern.host)
        found[key] = (*found.get(key, ()), one)
    return found


def compile_pattern(pattern: str) -> Compiled:
    """A person's regular expression, on an engine whose time grows with the text only, and with bounded memory."""
    engine = cast(Any, re2)
    options = engine.Options()
    options.log_errors = False  # RE2 writes to stderr otherwise
    options.max_mem = MAX_RE2_BYTES
    try:
        return engine.compile(pattern, options)
    except engine.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Failure("bad_request", f"{pattern[:100]!r} is not a pattern: {reason}") from None


class _Reader:
    """Knows where things stand in the text."""

    def __init__(self, text: str, place: str) -> None:
        self._lines = text.splitlines()
        self._place = place

    def value(self, known: dict[str, Any], key: str, value: Any, number: int = 0) -> Any:
        if key not in known:
            told = f"{self.where(key, number)}: there is no key {key[:80]!r}{_nearest(key, known)}"
            raise Failure("bad_request", told)
        try:
            return msgspec.convert(value, known[key], strict=True)
        except msgspec.ValidationError as error:
            wanted = kind(known[key]).replace("typing.Any", "…")
            why = (
                str(error)
                if not str(error).startswith("Invalid enum value")
                else f"{str(value)[:80]!r} is none of them"
            )
            raise Failure("bad_request", f"{self.where(key, number)}: {why} (wanted: {wanted})") from None

    def rule(self, number: int, entry: dict[str, Any]) -> Rule:
        told = {key: self.value(_ENTRY, key, value, number) for key, value in entry.items()}
        if "host" not in told:
            raise Failure("bad_request", f"{self.where('', number)}: it needs a host")
        pattern = self.doing("host", lambda: read_pattern(told.pop("host")), number)
        if told.get("read") is False and told.get("write"):
            raise Failure("bad_request", f"{self.where('write', number)}: nobody can write where nobody may read")
        if "resources" in told:
            told["resources"] = self.doing("resources", lambda: _resources(told["resources"]), number)
        if (at := told.get("at")) is not None and at.tzinfo is None:
            told["at"] = at.replace(tzinfo=UTC)
        return Rule(pattern, **told)

    def refuse_twins(self, rules: tuple[Rule, ...]) -> None:
        seen: dict[Pattern, int] = {}
        for number, one in enumerate(rules, 1):
            if (first := seen.setdefault(one.pattern, number)) != number:
                where = self.where("host", number)
                raise Failure("bad_request", f"{where}: {one.pattern.text} has a rule already, no. {first}")

    def doing(self, key: str, work: Callable[[], Any], number: int = 0) -> Any:
        """The work, with the place of the mistake in its complaint."""
        try:
            return work()
        except Failure as failure:
            told = f"{self.where(key, number)}: {failure.message}"
            raise Failure("bad_request", told, suggestions=failure.suggestions) from None

    def where(self, key: str, number: int) -> str:
        name = f"rules no. {number}{': ' if key else ''}{key[:80]}" if number else key[:80]
        line = self._line(key, number)
        return f"{self._place}, line {line}: {name}" if line else f"{self._place}: {name}"

    def _line(self, key: str, number: int) -> int:
        """Where a key stands, as far as can be told without a parser that keeps places; 0 if it cannot."""
        heads = [n for n, line in enumerate(self._lines, 1) if re.match(r"\s*\[", line)]
        tables = [n for n in heads if re.match(r"\s*\[\[\s*rules\s*\]\]", self._lines[n - 1])]
        if number > len(tables):
            return 0
        first = tables[number - 1] if number else 1
        last = (
            next((n for n in heads if n > first), len(self._lines) + 1)
            if number
            else min(heads, default=len(self._lines) + 1)
        )
        wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
        found = (n for n in range(first, last) if wanted.match(self._lines[n - 1])) if key else iter(())
        return next(found, first if number else 0)


def _resources(given: list[str]) -> tuple[Pattern, ...]:
    return tuple(ANYTHING if one.strip() == "*" else _server(one) for one in given)


def _server(text: str) -> Pattern:
    pattern = read_pattern(text)
    if pattern.scheme in LISTABLE:
        raise Failure("bad_request", f"{text[:100]!r}: resources come from hosts")
    return pattern


def _nearest(key: str, known: Iterable[str]) -> str:
    close = get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
