"""What is said at the hub, by the names of the founding document; what arrives is hostile until it fits these.

Above: hub, the signaling door. Below: msgspec, errors. `token` in what a browser says is the proxy's; in what a client
asks it is a handle that the hub gave out.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure

MAX_FRAME = 16 * 1024 * 1024  # the extension tells at most 12 MiB at once
MAX_TOGETHER = 1000

Token = Annotated[str, Meta(max_length=2048)]
Handle = Annotated[str, Meta(max_length=64)]
Short = Annotated[str, Meta(max_length=200)]
Words = Annotated[str, Meta(max_length=2000)]
Address = Annotated[str, Meta(max_length=65_536)]
Text = Annotated[str, Meta(max_length=12_000_000)]
Time = Annotated[float, Meta(ge=0, le=1e15)]
Fields = Annotated[dict[Short, Annotated[str, Meta(max_length=65_536)]], Meta(max_length=500)]
Status = Annotated[int, Meta(ge=0, le=999)]
Level = Literal["log", "debug", "info", "warn", "error"]
T = TypeVar("T")


class Said(msgspec.Struct, frozen=True, tag_field="type"):
    """Anything that a browser or a client says."""


class Hello(Said, frozen=True, tag="browser_debug_hello"):
    browser_id: Short


class TabAvailable(Said, frozen=True, tag="browser_debug_tab_available"):
    token: Token
    browser_id: Short
    url: Address
    title: Words = ""
    favicon: Address | None = None
    ticket: Short = ""


class TabClosed(Said, frozen=True, tag="browser_debug_tab_closed"):
    token: Token


class TabUpdated(Said, frozen=True, tag="browser_debug_tab_updated"):
    token: Token
    url: Address
    title: Words = ""


class Happened(msgspec.Struct, frozen=True):
    """Of a request: what is known with one event."""

    request_id: Short
    timestamp: Time
    method: Short | None = None
    url: Address | None = None
    headers: Fields | None = None
    body: Text | None = None
    status: Status | None = None
    status_text: Words | None = None
    mime_type: Short | None = None
    body_truncated: bool = False
    duration_ms: Time | None = None
    error: Words | None = None


class NetworkEvent(Said, frozen=True, tag="browser_debug_network_event"):
    token: Token
    event: Literal["request", "response", "finished", "failed"]
    data: Happened


class ConsoleEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    timestamp: Time
    level: Level
    message: Annotated[str, Meta(max_length=1_000_000)]
    args: Annotated[list[Any], Meta(max_length=100)] = []
    source: Address | None = None
    line: int | None = None
    column: int | None = None
    stack_trace: Annotated[str, Meta(max_length=100_000)] | None = None


class ConsoleEvent(Said, frozen=True, tag="browser_debug_console_event"):
    token: Token
    entry: ConsoleEntry


class NetworkRequest(msgspec.Struct, omit_defaults=True):
    request_id: Short
    timestamp: Time
    method: Short = ""
    url: Address = ""
    request_headers: Fields | None = None
    request_body: Text | None = None
    status: Status | None = None
    status_text: Words | None = None
    response_headers: Fields | None = None
    response_body: Text | None = None
    response_body_truncated: bool | None = None
    mime_type: Short | None = None
    duration_ms: Time | None = None
    error: Words | None = None


class NetworkData(Said, frozen=True, tag="browser_debug_network_data"):
    request_id: Short
    requests: Annotated[list[NetworkRequest], Meta(max_length=10_000)]


class ConsoleData(Said, frozen=True, tag="browser_debug_console_data"):
    request_id: Short
    entries: Annotated[list[ConsoleEntry], Meta(max_length=20_000)]


class NetworkTold(Said, frozen=True, tag="browser_debug_network_data"):
    """The same from a browser, where each is read by itself."""

    request_id: Short
    requests: Annotated[list[msgspec.Raw], Meta(max_length=10_000)]


class ConsoleTold(Said, frozen=True, tag="browser_debug_console_data"):
    request_id: Short
    entries: Annotated[list[msgspec.Raw], Meta(max_length=20_000)]


class NetworkFilters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    url_pattern: Words = ""
    method: Annotated[list[Short], Meta(max_length=50)] = []
    status_min: Status = 0
    status_max: Status = 999
    since: Time = 0
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100


class ConsoleFilters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    level: Annotated[list[Level], Meta(max_length=10)] = []
    message_pattern: Words = ""
    since: Time = 0
    limit: Annotated[int, Meta(ge=1, le=20_000)] = 100


class ListTabs(Said, frozen=True, tag="browser_debug_list_tabs"):
    request_id: Short = ""


class GetNetwork(Said, frozen=True, tag="browser_debug_get_network"):
    request_id: Short
    token: Handle
    filters: NetworkFilters = NetworkFilters()


class GetConsole(Said, frozen=True, tag="browser_debug_get_console"):
    request_id: Short
    token: Handle
    filters: ConsoleFilters = ConsoleFilters()


class Follow(Said, frozen=True, tag="browser_debug_follow"):
    """Everything that happens in a tab from now on, as it happens."""

    request_id: Short
    token: Handle


class TabInfo(msgspec.Struct, frozen=True):
    """A tab as its owner sees it. `token` is the handle."""

    token: str
    browser_id: str
    url: str
    title: str
    cocoon_id: str
    cocoon_name: str


class Tabs(Said, frozen=True, tag="browser_debug_tabs"):
    tabs: Annotated[list[TabInfo], Meta(max_length=10_000)]
    request_id: Short = ""


class Missed(msgspec.Struct, frozen=True):
    """Of what was followed, so many things are left out: they came faster than they were read."""

    missed: int


class Followed(Said, frozen=True, omit_defaults=True, tag="browser_debug_followed"):
    """A request that is done or a line of the console, or how many of them are left out; or the tab is gone."""

    request_id: Short
    request: NetworkRequest | None = None
    entry: ConsoleEntry | None = None
    missed: Annotated[int, Meta(ge=0)] = 0
    closed: bool = False


class HubError(Said, frozen=True, tag="browser_debug_error"):
    error: dict[str, Any]
    request_id: Short = ""


FromBrowser = Hello | TabAvailable | TabClosed | TabUpdated | NetworkEvent | ConsoleEvent | NetworkTold | ConsoleTold
FromClient = ListTabs | GetNetwork | GetConsole | Follow
FromHub = Tabs | NetworkData | ConsoleData | Followed | HubError
from_browser = msgspec.json.Decoder(FromBrowser)
from_client = msgspec.json.Decoder(FromClient)
from_hub = msgspec.json.Decoder(FromHub)


def readable(told: Iterable[msgspec.Raw], kind: type[T]) -> list[T]:
    """Of a browser's answer, what fits; a page may have had its hand in the rest."""
    decoder, found = msgspec.json.Decoder(kind), list[T]()
    for raw in told:
        try:
            found.append(decoder.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return found


def no_such_tab() -> Failure:
    return Failure(
        "not_found",
        "there is no such tab (any more): a page that is left or reloaded gets a new one",
        suggestions=["browser_debug_list_tabs lists those of now"],
    )
