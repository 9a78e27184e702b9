"""Takes secrets out of what is stored, logged or shown.

Above: the gate (results), the audit log, the daemon's log, files that sessions write. Below: shapes (what a secret
looks like), known (those that a person registered). All patterns run on RE2, so no page can make them slow, and one
search over all of them lets a text without secrets pass untouched (M: 100 KB in 0.3 ms).

Three degrees: what a page shows loses only what has a secret's shape; headers, bodies, addresses and what programs
print also lose what stands under a secret's name; logs also lose who a person is. Registered values are in none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from re import Match, Pattern
from typing import Any, cast

from pilothouse.guard.known import TOO_MANY, known
from pilothouse.guard.linear import compiled
from pilothouse.guard.numbers import is_fraction
from pilothouse.guard.shapes import ADDRESSES, CARDS, HEADERS, KEYS, MASK, NAMED, PERSONAL, SECRET_NAME, Rule

__all__ = ["MASK", "Degree", "is_secret_name", "redact_headers", "redact_text", "redact_tree", "redact_url"]

_MOST_PASSES = 6  # what one rule leaves may be another's; two are enough for nearly everything
_LEAST_NUMBER = 1000  # under a secret's name: a PIN, not a count
_LEAST_CARD = 10**13
_SHORT = 300  # what is longer is not worth remembering
_NAMING, _NAMED_BY = ("name", "key", "field"), ("value", "values")
# Of one rule in one text: some hundred milliseconds. What comes after is no text that anybody means to read.
_MOST_FOUND = 5000


class Degree:
    """How much is taken out. `by_name`: also what stands under a secret's name in plain data."""

    def __init__(self, rules: Iterable[Rule], *, by_name: bool) -> None:
        rules = list(rules)
        self.by_name = by_name
        self._any = compiled("|".join(f"(?:{rule.pattern})" for rule in rules), groups=False) if rules else None
        self._rules = [(rule, compiled(rule.pattern)) for rule in rules]

        # Addresses, titles and arguments come again with every call, and RE2 is asked twice about each.
        self._remembered = lru_cache(maxsize=1024)(self._found)

    def suspects(self, text: str) -> bool:
        if not text:
            return False
        return self._remembered(text, known.version) if len(text) <= _SHORT else self._found(text)

    def _found(self, text: str, _version: int = 0) -> bool:
        text = _plain(text)
        return known.holds(text) or (self._any is not None and self._any.search(text) is not None)

    def text(self, text: str) -> str:
        if not self.suspects(text):
            return text
        text = known.mask(_plain(text))
        for _ in range(_MOST_PASSES):
            before = text
            for rule, pattern in self._rules:
                text = _masked(rule, pattern, text)
            if text == before:
                break
        return text

    def tree(self, data: Any) -> Any:
        """Plain data with strings redacted, keys too; the same object if it is clean.

        All strings are searched at once first: a call of RE2 costs 4 µs, and a result may hold thousands of strings.
        """
        strings: list[str] = []
        if not self._gather(data, strings) and not self.suspects("\n".join(strings)):
            return data
        return self._redacted(data)

    def _gather(self, data: Any, strings: list[str]) -> bool:
        """Collect the strings of plain data; true as soon as something stands under a secret's name."""
        if isinstance(data, str):
            strings.append(data)
        elif isinstance(data, dict):
            for key, under, item in _standing(cast(dict[Any, Any], data)):
                if isinstance(key, str):
                    strings.append(key)
                if self._holds_secret(under, item) or self._gather(item, strings):
                    return True
        elif isinstance(data, list | tuple):
            return any(self._gather(item, strings) for item in cast(list[Any], data))
        elif isinstance(data, int) and data >= _LEAST_CARD:
            strings.append(str(data))
        return False

    def _redacted(self, data: Any) -> Any:
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            items = _standing(cast(dict[Any, Any], data))
            return {self._redacted(key): self._value(under, item) for key, under, item in items}
        if isinstance(data, list | tuple):
            return [self._redacted(item) for item in cast(list[Any], data)]
        if isinstance(data, int) and data >= _LEAST_CARD and (shown := self.text(str(data))) != str(data):
            return shown
        return data

    def _value(self, key: Any, item: Any) -> Any:
        if not self._holds_secret(key, item):
            return self._redacted(item)
        if isinstance(item, list):
            return [self._value(key, one) for one in cast(list[Any], item)]
        if isinstance(item, dict):
            return {self._redacted(one): self._value(key, held) for one, held in cast(dict[Any, Any], item).items()}
        shown = known.mask(_plain(item)) if isinstance(item, str) else ""
        return shown if _is_mark(shown) else MASK

    def _holds_secret(self, key: Any, item: Any) -> bool:
        if not self.by_name or not isinstance(key, str) or not is_secret_name(key):
            return False
        if isinstance(item, list):
            return any(self._holds_secret(key, one) for one in cast(list[Any], item))
        if isinstance(item, dict):
            return any(self._holds_secret(key, one) for one in cast(dict[Any, Any], item).values())
        if isinstance(item, str):
            return item not in ("", MASK) and not _is_mark(item)
        return isinstance(item, int) and item >= _LEAST_NUMBER


def _standing(fields: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Each key, the name that its item stands under, and the item: `{"name": "password", "value": …}` is a password."""
    named = next((name for one in _NAMING if isinstance(name := fields.get(one), str) and is_secret_name(name)), "")
    for key, item in fields.items():
        yield key, named if named and key in _NAMED_BY else key, item


def _masked(rule: Rule, pattern: Pattern[str], text: str) -> str:
    made: list[str] = []
    at = 0
    for count, found in enumerate(pattern.finditer(text)):
        if count == _MOST_FOUND:
            return "".join([*made, TOO_MANY])
        made += [text[at : found.start()], _hidden(rule, found)]
        at = found.end()
    return "".join([*made, text[at:]]) if made else text


def _hidden(rule: Rule, found: Match[str]) -> str:
    before, value, *after = found.groups() or ("", found[0])
    if rule.number and is_fraction(found.string, found.start()):
        return value
    if rule.within:
        return before + rule.within(value)
    if _is_mark(value) or (rule.really and not rule.really(value)):
        return found[0]
    return "".join([before, rule.mask, *after])


def _is_mark(value: str) -> bool:
    """The mask of a registered value tells more than ours: it stays."""
    return value.startswith("[secret:") and value.endswith("]") and value.count("[") == 1


def _plain(text: str) -> str:
    """RE2 cannot read a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


_NAME = compiled(f"(?i)(?:{SECRET_NAME})")
SHAPES = [*KEYS, *CARDS, *ADDRESSES]
REGISTERED = Degree([], by_name=False)
SHOWN = Degree(SHAPES, by_name=False)
SAID = Degree([*SHAPES, *NAMED], by_name=True)
LOGGED = Degree([*SHAPES, *NAMED, *PERSONAL], by_name=True)

# What was asked for by name (cookies, storage) is given; what a person registered is not, to anybody.
redact_registered: Callable[[str], str] = REGISTERED.text
redact_page: Callable[[str], str] = SHOWN.text
redact_text: Callable[[str], str] = SAID.text
redact_tree: Callable[[Any], Any] = SAID.tree
for_log: Callable[[str], str] = LOGGED.text
for_log_tree: Callable[[Any], Any] = LOGGED.tree


def redact_url(url: str) -> str:
    """The address with passwords, tokens and keys masked, in user info, query and fragment."""
    return redact_text(url)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Sensitive headers keep their name, in their own spelling, and lose their value; the rest are read as text."""
    return {name: MASK if is_secret_name(name) else redact_text(value) for name, value in headers.items()}


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether a field, parameter or header of this name holds a secret."""
    if not name.isascii() or len(name) > 200:
        return False
    low = name.lower()
    return low in HEADERS or low.endswith(("-token", "-secret", "-api-key")) or _NAME.fullmatch(name) is not None
