"""A line to the daemon on which tools are called, one after the other, or a session is followed.

Above: the command line, the demo. Below: reach and the daemon's door for commands. Only the standard library.
"""

from __future__ import annotations

import os
import sys
import time

from pilothouse import __version__
from pilothouse.commands.terminal import identity
from pilothouse.home import directory
from pilothouse.reach import OtherVersion, Way, attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import Any

    Entry = dict[str, Any]
    OnProgress = OnLine = Callable[[Entry], None]
    Hears = dict[str, Callable[[Entry], None]]

# No call may be given more than 600 s; a daemon that says nothing for longer than that is stuck.
SILENCE_S = 630.0
INLINE_S = 2.0
MAX_BYTES = 4 * 1024 * 1024
_STARTED = "no daemon was running: a new one was started"
_GONE = "; the tabs, cookies and refs of an earlier session are gone"


class Line:
    """Opened by the first call. `terminal` names whose sessions these are."""

    def __init__(self, *, terminal: str = "", headed: bool = False) -> None:
        self.home = directory()
        self.note = ""
        self._hello: Entry = {"pilothouse": __version__, "door": "call", "terminal": terminal or identity()}
        self._hello["headed"] = headed
        self._link: socket | None = None
        self._rest = b""
        self._number = 0

    def call(self, tool: str, args: Entry, *, timeout_s: float = 0, on_progress: OnProgress | None = None) -> Entry:
        """The answer. `StartError`: there is no daemon and none can be started. `TimeoutError`: we gave up."""
        hears: Hears = {"progress": on_progress} if on_progress else {}
        return self._ask({"tool": tool, "args": args}, hears, SILENCE_S, timeout_s)

    def follow(self, wanted: Entry, session: str, *, live: bool, on_line: OnLine) -> Entry:
        """What a session says and does, line by line; the answer comes with its end. Errors as of `call`."""
        return self._ask({"watch": wanted, "session": session, "live": live}, {"line": on_line}, None, 0)

    def follow_offered(self, tool: str, args: Entry, *, on_line: OnLine) -> Entry:
        """What a debug tool tells, line by line, and what comes after it until the tab is gone."""
        return self._ask({"follow": tool, "args": args}, {"line": on_line}, None, 0)

    def _ask(self, asked: Entry, hears: Hears, silence_s: float | None, timeout_s: float) -> Entry:
        import json

        self._number += 1
        line = json.dumps({"id": self._number, **asked}).encode() + b"\n"
        if len(line) > MAX_BYTES:
            return failed("bad_request", f"the arguments are larger than {MAX_BYTES} bytes")
        link = self._opened()
        deadline = time.monotonic() + timeout_s if timeout_s else 0
        try:
            link.settimeout(silence_s)
            link.sendall(line)
            while True:
                message = json.loads(self._next(link, deadline))
                if "error" in message:  # of the line, not of the tool
                    self.close()
                    return failed("system", message["error"]["message"])
                if message.get("id", self._number) != self._number:
                    continue  # of a call that we gave up
                if "answer" in message:
                    return message["answer"]
                for kind in hears.keys() & message.keys():
                    hears[kind](message[kind])
        except TimeoutError:
            self.close()  # which cancels it
            raise
        except OSError:
            self.close()
            return lost()

    def close(self) -> None:
        """What there is to know about the daemon is told here, when no progress is in the way."""
        if self._link is not None:
            self._link.close()
        self._link, self._rest = None, b""
        if self.note:
            sys.stderr.write(f"pilothouse: {self.note}\n")
            self.note = ""

    def _opened(self) -> socket:
        if self._link is None:
            try:
                self._link = attach(self.home, self._hello, timeout_s=INLINE_S)
            except (OSError, OtherVersion):
                way, lived = Way(self.home), os.path.exists(os.path.join(self.home, "audit.jsonl"))
                self._link = way.reach(self._hello)
                self.note = way.note or (way.started and _STARTED + (_GONE if lived else "")) or ""
        return self._link

    def _next(self, link: socket, deadline: float) -> bytes:
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            if deadline:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError
                link.settimeout(left_s)
            chunk = link.recv(1 << 20)
            if not chunk:
                raise ConnectionResetError("the daemon hung up")
            chunks.append(chunk)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line


def lost() -> Entry:
    return failed(
        "browser_gone",
        "the daemon went away while this call ran; it may or may not have taken effect: look before you repeat it",
    )


def failed(code: str, message: str, suggestions: list[str] | None = None) -> Entry:
    """An answer of our own, in the shape of the daemon's."""
    from pilothouse.errors import Failure

    failure = Failure(code, message, suggestions=suggestions)
    return {"text": failure.to_text(), "data": {"error": failure.to_dict()}, "images": [], "failed": True}
