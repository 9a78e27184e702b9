"""What a tab shows and waits for: its document, an open dialog, an open file chooser, what the caller has read of it.

Above: tab, navigate, snapshot. Below: cdp.
"""

import asyncio
import itertools

import msgspec

from pilothouse.cdp.connection import Channel
from pilothouse.result import quoted


class Document:
    """One loaded document of the main frame. `whole`: it did not have to load, as one that the browser had kept.
    `unreachable` is the address that could not be loaded."""

    def __init__(self, loader_id: str, url: str, *, whole: bool = False, unreachable: str = "") -> None:
        self.loader_id = loader_id
        self.url = url
        self.whole = whole
        self.dom_ready = whole
        self.loaded = whole
        self.given_up = False  # its DOM was waited for long enough: some never end
        self.unreachable = unreachable
        self.titled = False  # it tells its title itself, and each change of it
        self.told: set[tuple[str, int]] = set()  # of each world the nodes whose click listeners its walker knows of
        self.ahead: asyncio.Future[None] | None = None  # tells of them before anybody looks,
        self.ahead_began = False  # as soon as nobody needs the page
        self.telling: asyncio.Future[None] | None = None  # of those whom nobody waited for
        self.untold = False  # it was too busy to say who listens


_numbers = itertools.count(1)


class Dialog(msgspec.Struct, frozen=True):
    """`number` is its own: a page may open one after the other with the same words."""

    kind: str  # alert | confirm | prompt | beforeunload
    message: str
    default: str
    number: int = msgspec.field(default_factory=_numbers.__next__)

    @property
    def guards(self) -> bool:
        """Whether it asks before the page is left."""
        return self.kind == "beforeunload"

    @property
    def words(self) -> str:
        """What it says. Of the one that guards a page the browser tells no words."""
        if self.message:
            return f"{self.kind} {quoted(self.message, 350)}"
        asks = "asks whether to leave the page" if self.guards else "says nothing"
        return f"{self.kind}, which {asks}"


class FileChooser(msgspec.Struct, frozen=True):
    """Node numbers mean something on their own channel only."""

    channel: Channel
    backend_node_id: int
    multiple: bool
    frame_id: str = ""


Place = tuple[str, int]  # a world, and a number of its own
Key = str | Place  # what a line is known by: its element's ref, or where its words stand


class Base(msgspec.Struct):
    """What the last look showed, for the next one to be compared with."""

    view: tuple[bool, bool, int]  # full, interactive, depth
    lines: list[str] = []
    said: dict[str, list[Place]] = {}  # where those of its lines stand that have no ref
    aside: dict[Key, str] = {}  # known from earlier looks, there, not shown at the last
    outside: set[Key] = set()  # those of them that were told as outside the view
    counts: dict[str, int] = {}  # of changes that each frame's world had seen then


class Seen:
    """What the caller has read of this tab: the bases of differences, by what was looked at, and of the next page."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()  # of looks: each reads on where the one before has come to
        self.begin(None)

    def begin(self, document: Document | None) -> None:
        self.document = document
        self.bases: dict[Place, Base] = {}
        self.pages: dict[int, list[str]] = {}  # page number -> its lines
