"""What a tab's scripts said: console calls, uncaught exceptions and the browser's own log, in a ring.

Above: tab, stream, tools. Below: previews, cdp.
"""

import itertools
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pilothouse.browser import patterns
from pilothouse.browser.previews import table, word
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
_TRACED = 5  # calls that console.trace tells
_GROUPS_KEPT = 100
_UNSAID = re.compile(r"console\.\w+\Z")  # what the browser says where a call had nothing to say


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
    group: int = 0  # how many groups it lies in


class Console:
    def __init__(self, on_error: Callable[[Line], None]) -> None:
        self._ring: deque[Line] = deque(maxlen=RING)
        self._numbers = itertools.count(1)
        self._on_error = on_error
        self._listeners: set[Callable[[Line], None]] = set()
        self.last_number = 0
        self.forgotten = 0  # older ones, for which there was no room
        self._said: dict[tuple[float, int], None] = {}
        self._groups: dict[tuple[Channel, int], int] = {}  # open ones of each document

    def follow(self, channel: Channel) -> None:
        channel.on("Runtime.consoleAPICalled", lambda p: self._called(channel, p))
        channel.on("Runtime.exceptionThrown", lambda p: self._thrown(p["exceptionDetails"], p["timestamp"]))
        channel.on("Log.entryAdded", lambda p: self._logged(p["entry"]))
        channel.on("Runtime.executionContextsCleared", lambda p: self._regroup(channel))

    def subscribe(self, listener: Callable[[Line], None]) -> Callable[[], None]:
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def clear(self) -> int:
        count = len(self._ring)
        self._ring.clear()
        self.forgotten = 0
        return count

    def lines(self) -> list[Line]:
        return list(self._ring)

    def _called(self, channel: Channel, params: dict[str, Any]) -> None:
        call, arguments = params["type"], params.get("args", [])
        level = _LEVELS.get(call, call)
        group = self._group(channel, params)
        if call == "endGroup":
            return
        if call == "clear":
            self._regroup(channel)
        self._add(
            level=level if level in _PLAIN else "log",
            text=_spoken(call, arguments, params.get("stackTrace", {}).get("callFrames", [])),
            source="console",
            time_ms=params["timestamp"],
            stack=params.get("stackTrace"),
            arguments=_plain(arguments[:20]),
            group=group,
        )

    def _group(self, channel: Channel, params: dict[str, Any]) -> int:
        """How many groups this call lies in; it may open or close one itself."""
        where = channel, params.get("executionContextId", 0)
        inside = self._groups.pop(where, 0)
        step = {"startGroup": 1, "startGroupCollapsed": 1, "endGroup": -1}.get(params["type"], 0)
        if (then := min(inside + step, _GROUPS_KEPT)) > 0:
            self._groups[where] = then
        while len(self._groups) > _GROUPS_KEPT:
            del self._groups[next(iter(self._groups))]
        return inside

    def _regroup(self, channel: Channel) -> None:
        """What a document has left open ends with it: the numbers of documents begin anew in each process."""
        for where in [one for one in self._groups if one[0] is channel]:
            del self._groups[where]

    def _thrown(self, details: dict[str, Any], timestamp: float) -> None:
        thrown = details.get("exception", {})
        said = word(thrown) if thrown else ""
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
        group: int = 0,
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
            group=group,
        )
        self.forgotten += len(self._ring) == RING
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


def folded(lines: Sequence[Line]) -> list[tuple[Line, int]]:
    """Equal neighbours as one, the last of them, with their number."""
    found: list[tuple[Line, int]] = []
    for line in lines:
        if found and _same(found[-1][0], line):
            found[-1] = line, found[-1][1] + 1
        else:
            found.append((line, 1))
    return found


def _same(one: Line, other: Line) -> bool:
    said = ((line.level, line.text, line.source, line.url, line.line, line.group) for line in (one, other))
    return next(said) == next(said)


def _spoken(call: str, arguments: list[dict[str, Any]], calls: list[dict[str, Any]]) -> str:
    """What a call of the console prints: tables as tables, a trace with its calls."""
    if call == "table" and arguments:
        return table(arguments[0])
    if call in ("assert", "trace", "startGroup", "startGroupCollapsed"):
        begins = {"assert": "Assertion failed", "trace": "Trace"}.get(call, "Group")
        said = "" if len(arguments) == 1 and _UNSAID.match(str(arguments[0].get("value"))) else _format(arguments)
        after = [f"    at {_call(one)}" for one in calls[:_TRACED]] if call == "trace" else []
        return "\n".join([f"{begins}: {said}" if said else begins, *after])
    return _format(arguments)


def _format(arguments: list[dict[str, Any]]) -> str:
    """The arguments as DevTools would print them, `%s` and `%c` in the first one included."""
    words = [word(one)[:MAX_TEXT] for one in arguments[:MAX_WORDS]]
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


def _plain(remotes: list[dict[str, Any]]) -> list[Any]:
    """The arguments as data, as many as there is room for. Numbers and the like are short by themselves."""
    found: list[Any] = []
    room = MAX_ARGUMENTS
    for remote in remotes:
        value: Any = remote["value"] if "value" in remote else _whole(remote)
        if isinstance(value, str):
            value = value[: min(MAX_ARGUMENT, room)]
            room -= len(value)
        found.append(value)
    return found


def _whole(remote: dict[str, Any]) -> str:
    """Errors with their stack: it may be the only one."""
    return remote.get("description", "") if remote.get("subtype") == "error" else word(remote)
