"""A call on its way through the house: who calls, what is asked for, what has been found out so far, what comes back.

Above: the doors make calls and read answers, the gate walks with them. Below: browser (the
place of a call), guard (what the policy was asked and said), tool.
"""

import time
from typing import Any

import msgspec

from pilothouse.browser.aim import Held, Pointing
from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab
from pilothouse.guard.policy import Approved, Decision, Question
from pilothouse.result import Image, Result
from pilothouse.tool import Dialog, Progress, Tool


class Defaults(msgspec.Struct, frozen=True):
    """What a connection was started with."""

    tools: str = "core"
    browser: str = "isolated"
    profile: str = ""
    headed: bool = False
    endpoint: str = ""
    again: bool = False  # the connection is an old one: the daemon it knew is gone

    def over(self, daemon: "Defaults") -> "Defaults":
        """What the connection did not say is as the daemon was started."""
        return msgspec.structs.replace(self, tools=self.tools or daemon.tools, headed=self.headed or daemon.headed)


class Caller(msgspec.Struct, frozen=True):
    """Who calls: the name of an agent key, and the connection it came by (empty for stateless callers)."""

    key: str
    connection: str
    door: str
    defaults: Defaults = Defaults()


class Call(msgspec.Struct):
    tool: str
    args: dict[str, Any]
    caller: Caller
    progress: Progress | None = None
    dialog: Dialog | None = None
    patience_s: float | None = None  # how long the caller may wait for a person; None: until they answer


class Answer(msgspec.Struct, frozen=True):
    tool: str
    text: str
    data: dict[str, Any]
    images: list[Image] = []
    failed: bool = False
    status: int = 200
    session: str = ""  # the one it was done in
    tab: str = ""  # the one it was done in, or what is current afterwards in the session


class Visit:
    """One call on its way: what has been found out so far."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.began = time.monotonic()
        self.tool: Tool | None = None
        self.session: Session | None = None
        self.tab: Tab | None = None
        self.is_new = False
        self.comes_back = False  # its connection knew a daemon before this one, and has not been told
        self.placing_s = 0.0
        self.has_turn = False  # in its tab
        self.asking_s = 0.0  # a person's time, which is not the call's
        self.question: Question | None = None
        self.decision: Decision | None = None
        self.approved: list[Approved] = []
        self.record = 0
        self.hidden: frozenset[str] = frozenset()  # tabs at pages that may not be read
        self.pointing: Pointing | None = None  # how it points at a page
        self.held: Held | None = None
        self.acting = False  # its tool has begun
        self.args: msgspec.Struct | None = None  # as they were given, parsed
        self.count: Progress | None = None  # by which its tool tells how far it is, if anybody hears
        self.stood: dict[str, str] = {}  # where the session's tabs were when its tool began
        self.touches: tuple[str, ...] = ()  # places beside the page that the call changes or reads

    @property
    def tab_name(self) -> str:
        """The tab it was done in; of what is done in a session, the one that is current now."""
        tab = self.tab or (self.session.current if self.session and not self.session.closed else None)
        return tab.name if tab else ""

    def tab_of(self, result: Result[Any] | None) -> Tab | None:
        """The one it was done in; some tools of a session answer about one tab of it."""
        name = getattr(result.data, "tab", "") if result and self.session and not self.tab else ""
        return self.tab or next((tab for tab in self.session.tabs if tab.name == name), None) if self.session else None

    @property
    def elapsed_ms(self) -> float:
        return (time.monotonic() - self.began - self.asking_s) * 1000
