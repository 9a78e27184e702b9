"""Browser events and messages as a client reads them: how loud each is, and the resource that keeps the events.

Above: mcp. Below: browser.watch.
"""

from typing import Any, Literal, NamedTuple

import msgspec

from pilothouse.browser.watch import Event
from pilothouse.result import clean

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

LEVELS: tuple[Level, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
DEFAULT_LEVEL: Level = "warning"
LOGGER = "pilothouse"
TEMPLATE = "pilothouse://session/{id}/events"

_LEVEL_OF: dict[str, Level] = {
    "navigation": "info",
    "tab_opened": "info",
    "tab_closed": "info",
    "download": "notice",
    "console_error": "warning",
    "dialog": "warning",
    "file_chooser": "warning",
    "crash": "error",
    "browser": "error",
    "limit": "error",
}


class Notice(NamedTuple):
    """A log message to a client; one that set no level hears those of `floor` and above."""

    level: Level
    data: Any
    logger: str = LOGGER
    floor: Level = DEFAULT_LEVEL

    def to_wire(self) -> dict[str, Any]:
        return {"level": self.level, "logger": self.logger, "data": self.data}


def notice_of(event: Event) -> Notice:
    return Notice(level_of(event), data_of(event))


def level_of(event: Event) -> Level:
    return _LEVEL_OF.get(event.kind, "info")


def admits(floor: Level, level: Level) -> bool:
    return LEVELS.index(level) >= LEVELS.index(floor)


def data_of(event: Event) -> dict[str, str | int]:
    return {
        "kind": event.kind,
        "session": event.session,
        "tab": event.tab,
        "text": clean(event.text),
        "time_ms": event.time_ms,
    }


def uri_of(session: str) -> str:
    return TEMPLATE.replace("{id}", session)


def session_of(uri: str) -> str | None:
    """The session a resource address names, if it is one of ours."""
    before, after = TEMPLATE.split("{id}")
    session = uri.removeprefix(before).removesuffix(after)
    return session if session and "/" not in session and uri == uri_of(session) else None


def to_json(events: list[Event]) -> str:
    return msgspec.json.encode([{"number": event.number, **data_of(event)} for event in events]).decode()
