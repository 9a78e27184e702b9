"""What a tab's scripts said: console calls, uncaught exceptions and the browser's own log, in a ring.

Above: tab, stream, tools. Below: cdp.
"""

import itertools
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pilothouse.browser import patterns
from pilothouse.cdp.connection import Channel

RING = 1000
MAX_TEXT = 4000
MAX_WORDS = 100
MAX_PLACE = 300  # an address, or one call of a stack
MAX_ARGUMENT = 2000
MAX_ARGUMENTS = 8000  # all of one line together
_LEVELS = {"warning": "warn", "verbose": "debug", "trace": "log", "assert": "error"}
_PLACES = re.compile("%([sdifoOc%])")
_PLAIN = {"log", "debug", "info", "warn", "error"}


class Line(msgspec.Struct, frozen=True):
    number: int
    level: str  # log | debug | info | warn | error
    text: str
    source: str  # console | exception | network | violation …
    time_ms: int
    url: str = ""
    line: int = 0
    column: int = 0
    arguments: list[Any] = []
    stack: list[str] = []


class Console:
    def __init__(self, on_error: Callable[[Line], None]) -> None:
        self._ring: deque[Line] = deque(maxlen=RING)
        self._numbers = itertools.count(1)
        self._on_error = on_error
        self._listeners: set[Callable[[Line], None]] = set()
        self.last_number = 0
        self._said: dict[tuple[float, int], None] = {}

    def follow(self, channel: Channel) -> None:
        channel.on("Runtime.consoleAPICalled", self._called)
        channel.on("Runtime.exceptionThrown", lambda p: self._thrown(p["exceptionDetails"], p["timestamp"]))
        channel.on("Log.entryAdded", lambda p: self._logged(p["entry"]))

    def subscribe(self, listener: Callable[[Line], None]) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def clear(self) -> int:
        count = len(self._ring)
        self._ring.clear()
        return count

    def lines(self) -> list[Line]:
        return list(self._ring)

    def _called(self, params: dict[str, Any]) -> None:
        level = _LEVELS.get(params["type"], params["type"])
        arguments = params.get("args", [])
        self._add(
            level=level if level in _PLAIN else "log",
            text=_format(arguments),
            source="console",
            time_ms=params["timestamp"],
            stack=params.get("stackTrace"),
            arguments=_plain(arguments[:20]),
        )

    def _thrown(self, details: dict[str, Any], timestamp: float) -> None:
        thrown = details.get("exception", {})
        said = _word(thrown) if thrown else ""
        text = f"{details.get('text', 'Uncaught')} {said}".strip()
        stack = details.get("stackTrace") or {"callFrames": [details]}
        self._add(level="error", text=text, source="exception", time_ms=timestamp, stack=stack)

    def _logged(self, entry: dict[str, Any]) -> None:
        level = str(_LEVELS.get(entry["level"], entry["level"]))
        place = {"url": entry.get("url", ""), "lineNumber": entry.get("lineNumber", -1), "columnNumber": -1}
        stack = entry.get("stackTrace") or {"callFrames": [place]}
        text = _format([{"type": "string", "value": entry["text"]}, *entry.get("args", [])]).removesuffix(" %o")
        self._add(level=level, text=text, source=entry["source"], time_ms=entry["timestamp"], stack=stack)

    def _add(
        self,
        *,
        level: str,
        text: str,
        source: str,
        time_ms: float,
        stack: dict[str, Any] | None,
        arguments: list[Any] | None = None,
    ) -> None:
        if self._is_replay(time_ms, text):
            return
        calls: list[dict[str, Any]] = (stack or {}).get("callFrames", [])
        top: dict[str, Any] = calls[0] if calls else {}
        self.last_number = next(self._numbers)
        line = Line(
            number=self.last_number,
            level=level,
            text=text[:MAX_TEXT],
            source=source,
            time_ms=int(time_ms) or int(time.time() * 1000),
            url=top.get("url", "")[:MAX_PLACE],
            line=top.get("lineNumber", -1) + 1,
            column=top.get("columnNumber", -1) + 1,
            arguments=arguments or [],
            stack=[_call(one) for one in calls[:10] if one.get("functionName") or len(calls) > 1],
        )
        self._ring.append(line)
        for listener in tuple(self._listeners):
            listener(line)
        if level == "error":
            self._on_error(line)

    def _is_replay(self, time_ms: float, text: str) -> bool:
        """A document that comes back from the cache says everything once more, with its old times (M)."""
        said = (time_ms, hash(text))
        if time_ms and said in self._said:
            return True
        self._said[said] = None
        if len(self._said) > RING:
            del self._said[next(iter(self._said))]
        return False


def choice(level: Sequence[str], pattern: str, redact: patterns.Redact) -> Callable[[Line], bool]:
    """Whether a line, as it would be shown, is of these levels and fits the pattern; what is empty asks for nothing."""
    fits = patterns.regular(pattern) if pattern else None
    return lambda line: (not level or line.level in level) and (fits is None or fits(redact(line.text)))


def _call(call: dict[str, Any]) -> str:
    name = call.get("functionName") or "(anonymous)"
    place = f":{call.get('lineNumber', 0) + 1}:{call.get('columnNumber', 0) + 1}"
    return f"{name[:100]} {call.get('url', '')}"[: MAX_PLACE - len(place)] + place


def _format(arguments: list[dict[str, Any]]) -> str:
    """The arguments as DevTools would print them, `%s` and `%c` in the first one included."""
    words = [_word(one)[:MAX_TEXT] for one in arguments[:MAX_WORDS]]
    if len(words) > 1 and arguments[0].get("type") == "string" and "%" in words[0]:
        words = _fill_in(words[0], words[1:])
    return " ".join(words)


def _fill_in(pattern: str, words: list[str]) -> list[str]:
    def place(found: re.Match[str]) -> str:
        kind = found[1]
        if kind == "%" or not words:
            return "%" if kind == "%" else found[0]
        word = words.pop(0)
        return "" if kind == "c" else word

    return [_PLACES.sub(place, pattern), *words]


def _word(remote: dict[str, Any]) -> str:
    if "value" in remote:
        value = remote["value"]
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if remote.get("subtype") == "error":
        return remote.get("description", "Error")
    if preview := remote.get("preview"):
        return _preview(preview)
    return str(remote.get("description") or remote.get("unserializableValue") or remote.get("type", ""))


def _preview(preview: dict[str, Any]) -> str:
    items = [_property(one, preview.get("subtype") == "array") for one in preview.get("properties", [])]
    items += [f"{_entry(one)}" for one in preview.get("entries", [])]
    if preview.get("overflow"):
        items.append("…")
    inner = ", ".join(items)
    if preview.get("subtype") == "array":
        return f"[{inner}]"
    name = preview.get("description", "")
    return f"{name if name != 'Object' else ''}{{{inner}}}"


def _property(item: dict[str, Any], bare: bool) -> str:
    value = item.get("value", item.get("type", ""))
    shown = f'"{value}"' if item.get("type") == "string" else value
    return shown if bare else f"{item['name']}: {shown}"


def _entry(item: dict[str, Any]) -> str:
    value = item["value"].get("description", "")
    return f"{item['key'].get('description', '')} => {value}" if "key" in item else value


def _plain(remotes: list[dict[str, Any]]) -> list[Any]:
    """The arguments as data, as many as there is room for. Numbers and the like are short by themselves."""
    found: list[Any] = []
    room = MAX_ARGUMENTS
    for remote in remotes:
        value: Any = remote["value"] if "value" in remote else _word(remote)
        if isinstance(value, str):
            value = value[: min(MAX_ARGUMENT, room)]
            room -= len(value)
        found.append(value)
    return found
