"""`pilothouse mcp`: copies MCP messages between a client's pipe and the daemon, and outlives the daemon.

Above: an MCP client on stdin and stdout. Below: instance, and the daemon's local door. Only the standard library, and
of it only what is needed: what costs milliseconds is imported after the first message is on its way.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import start_new_thread
from select import PIPE_BUF, POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, poll

from pilothouse import __version__, instance
from pilothouse.home import directory
from pilothouse.overlong import MAX_BYTES, Ends
from pilothouse.reach import OtherVersion, Way, attach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

# How much may wait for a slow reader before the other side is no longer read.
HIGH_WATER_BYTES = 1024 * 1024
# A client that closes its end may still read answers, as in `printf … | pilothouse mcp`. Clients that mean it kill
# us after two seconds.
LAST_ANSWERS_S = 1.0
GOODBYE_S = 0.25
# A daemon that takes longer to greet is waited for in the thread, where the client's end is not missed.
INLINE_S = 0.5

_GONE = POLLERR | POLLHUP | POLLNVAL
GONE = "the daemon went away while this call ran; it may or may not have taken effect: look before you repeat it"
HELP = """\
Usage: pilothouse mcp [OPTIONS]

MCP on stdin and stdout. Starts the daemon when none runs.

  --tools SETS     tools to list: core (default), all, or names and groups separated by commas
  --isolated       sessions in a fresh, private browser context (default)
  --profile NAME   sessions in the browser profile NAME
  --extension [NAME]  sessions in the user's own Chrome, through the extension; NAME when several are paired
  --cdp NAME       sessions in the browser at the configured endpoint NAME
  --headed         with a window
  --help           this text
"""


class UsageError(Exception):
    pass


def main(arguments: list[str]) -> int:
    try:
        hello = parse(arguments)
    except UsageError as error:
        sys.stderr.write(f"pilothouse mcp: {error}\nTry 'pilothouse mcp --help'.\n")
        return 2
    if hello is None:
        sys.stdout.write(HELP)
        return 0
    try:
        Bridge(directory(), hello).run()
    except KeyboardInterrupt:
        pass
    except PermissionError as error:  # the home is not ours; everything later is answered to the client
        _warn(str(error))
        return 1
    # The plain way out would wait for the thread that may be starting a daemon: `threading`, imported in there first,
    # takes it for the main thread.
    os._exit(0)


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """The first line for the daemon, out of the flags; None when help is asked for."""
    hello: dict[str, Any] = {"pilothouse": __version__, "door": "mcp", "tools": "", "browser": "isolated"}
    hello |= {"profile": "", "headed": False, "endpoint": ""}
    chosen = ""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        flag, equals, value = argument.partition("=")
        if flag in ("-h", "--help"):
            return None
        if flag in ("--tools", "--profile", "--cdp"):
            value = value if equals else rest.pop(0) if rest else ""
            if not value or (value.startswith("--") and not equals):
                raise UsageError(f"{flag} needs a value")
        elif (equals and flag != "--extension") or flag not in ("--isolated", "--extension", "--headed"):
            raise UsageError(f"unknown argument {argument!r}")
        if flag == "--extension" and not equals and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        if flag in ("--isolated", "--profile", "--extension", "--cdp"):
            if chosen and chosen != flag:
                raise UsageError(f"{chosen} and {flag} exclude each other")
            chosen = flag
            hello["browser"] = flag[2:]
        if flag == "--headed":
            hello["headed"] = True
        elif key := _VALUES.get(flag):
            hello[key] = value
    return hello


_VALUES = {"--tools": "tools", "--profile": "profile", "--extension": "profile", "--cdp": "endpoint"}


class Lines:
    """Cuts a stream into lines. Of one that grows too long only the ends are kept, in `overlong`."""

    def __init__(self, max_bytes: int = 0) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._ends: Ends | None = None  # of the line that comes, when it is too long already
        self.overlong: list[Ends] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete now, each with its newline."""
        scanned = len(self._buffer)
        self._buffer += chunk
        lines: list[bytes] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, scanned)) + 1) > 0:
            if self._fits(end - start):
                lines.append(bytes(self._buffer[start:end]))
            else:
                self.overlong.append(self._shortened(start, end - 1))
                self._ends = None
            start = end
        del self._buffer[:start]
        if not self._fits(len(self._buffer)):
            self._ends = self._shortened(0, len(self._buffer))
            self._buffer.clear()
        return lines

    def finish(self) -> list[bytes]:
        """The last line, if its newline never came."""
        return self.feed(b"\n") if self._buffer or self._ends else []

    def _fits(self, size: int) -> bool:
        return self._ends is None and not (self._max_bytes and size > self._max_bytes + 1)

    def _shortened(self, start: int, end: int) -> Ends:
        ends = self._ends or Ends()
        ends.add(self._buffer[start:end])
        return ends


class Bridge:
    """One client, and at any time at most one connection to a daemon.

    Everything happens in one loop; only reaching a daemon that does not answer at once, which can take seconds, is
    left to a thread, so that the end of the client is always noticed.
    """

    def __init__(self, home: str, hello: dict[str, Any]) -> None:
        self._home = home
        self._hello = hello
        self._link: socket | None = None
        self._arrival: socket | str = ""
        self._arriving = False
        self._wake, self._waker = os.pipe()
        self._out = poll()
        self._out.register(1, POLLOUT)
        self._way = Way(home)

        self._from_client = Lines(MAX_BYTES)
        self._from_daemon = Lines()
        self._waiting: list[bytes] = []  # lines of the client that no daemon has been given yet
        self._to_daemon = bytearray()
        self._to_client = bytearray()

        self._pending: dict[str, str] = {}  # id, as JSON, to method
        self._initialize = self._initialized = b""
        self._swallow = ""  # id of the `initialize` that we, not the client, repeated
        self._retried = False

        self._client_done = False
        self._client_gone = False
        self._deadline = 0.0
        self._said_goodbye = False

    def run(self) -> None:
        try:
            self._link = attach(self._home, self._hello, timeout_s=INLINE_S)
        except (OSError, OtherVersion, instance.StartError):
            self._arrive()
        self._turn(0)  # a client that has spoken already should not wait for what now follows
        _end_on_sigterm()
        while not self._finished():
            self._turn(self._patience_ms())

    def _turn(self, timeout_ms: int | None) -> None:
        watch = poll()
        link = self._link
        if not self._client_done:  # its end is noticed even while we take nothing from it
            unsent = len(self._to_daemon) + sum(map(len, self._waiting))
            watch.register(0, POLLIN if unsent < HIGH_WATER_BYTES else 0)
        if link is not None:
            listen = POLLIN if len(self._to_client) < HIGH_WATER_BYTES else 0
            watch.register(link, listen | (POLLOUT if self._to_daemon else 0))
        watch.register(1, POLLOUT if self._to_client else 0)
        watch.register(self._wake, POLLIN)
        ready = dict(watch.poll(timeout_ms))
        if self._wake in ready:
            self._arrived()
        if link is not None and (event := ready.get(link.fileno(), 0)):
            self._serve_daemon(event)
        if 0 in ready:
            self._serve_client()
        if ready.get(1, 0) & _GONE:
            self._leave()
        self._pass_on()

    # --- the client's side

    def _serve_client(self) -> None:
        try:
            chunk = os.read(0, 65536)
        except OSError:
            chunk = b""
        self._client_done = not chunk
        lines = self._from_client.feed(chunk) if chunk else self._from_client.finish()
        self._waiting += lines
        if self._link is None and lines:
            self._arrive()
        self._deliver()  # before the notes, which cost the first time
        self._note(lines)
        while self._from_client.overlong:
            if refusal := self._from_client.overlong.pop(0).refusal():
                self._say(refusal)

    def _note(self, lines: list[bytes]) -> None:
        """Remember what the client waits for, and the handshake, which a new daemon has to see too."""
        import json

        for line in lines:
            message = _loads(line)
            method = message.get("method")
            if method == "notifications/initialized":
                self._initialized = line
            elif method == "notifications/cancelled":
                # There will be no answer to that one.
                self._pending.pop(json.dumps(_tree(message.get("params")).get("requestId")), None)
            elif isinstance(method, str) and isinstance(message.get("id"), str | int):
                self._pending[json.dumps(message["id"])] = method
                if method == "initialize":
                    self._initialize = line

    def _pass_on(self) -> None:
        """As much as the client takes at once."""
        while self._to_client and not self._client_gone and (ready := self._out.poll(0)):
            if ready[0][1] & _GONE:
                self._leave()
                return
            try:
                # A pipe that was just asked takes this much without blocking, and our end of it may not be made
                # non-blocking: it can be a terminal that others share.
                written = os.write(1, self._to_client[:PIPE_BUF])
            except OSError:
                self._leave()
                return
            del self._to_client[:written]

    def _leave(self) -> None:
        """The client is gone: it says nothing more, and hears nothing."""
        self._client_done = self._client_gone = True

    def _say(self, message: dict[str, Any]) -> None:
        import json

        self._to_client += json.dumps(message).encode() + b"\n"

    # --- the daemon's side

    def _serve_daemon(self, event: int) -> None:
        if event & POLLOUT:
            self._write_daemon()
        if self._link is None or not event & (POLLIN | POLLERR | POLLHUP):
            return
        try:
            chunk = self._link.recv(262144)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._lost()
            return
        lines = self._from_daemon.feed(chunk)
        if self._swallow:
            lines = [line for line in lines if not self._swallowed(line)]
        self._to_client += b"".join(lines)
        self._pass_on()  # before the notes, which take the longer the more there is to read
        for line in lines:
            self._settle(line)

    def _swallowed(self, line: bytes) -> bool:
        """Whether it answers the `initialize` that we repeated: the client has had its answer long ago."""
        if not self._swallow or _answered(_loads(line)) != self._swallow:
            return False
        self._swallow = ""
        self._to_daemon += self._initialized
        self._deliver()
        return True

    def _settle(self, line: bytes) -> None:
        """Strike what a message answers off the list."""
        message = _loads(line)
        if self._pending.pop(_answered(message), "") == "initialize":
            self._retried = False
            if "error" in message:  # few clients show why it was refused
                _warn(str(_tree(message["error"]).get("message")))

    def _write_daemon(self) -> None:
        if self._link is None or not self._to_daemon:
            return
        try:
            sent = self._link.send(self._to_daemon)
        except BlockingIOError:
            return
        except OSError:
            return  # reading will tell, after what the daemon had still to say
        del self._to_daemon[:sent]

    def _deliver(self) -> None:
        """Give the daemon what waits for it, unless it has yet to answer the `initialize` that we repeated."""
        if self._link is not None and not self._swallow:
            self._to_daemon += b"".join(self._waiting)
            self._waiting.clear()
            self._write_daemon()

    def _lost(self) -> None:
        """The daemon ended. A new one is started when the client next wants something of it, not before, so that
        `pilothouse stop` stops it."""
        self._drop_link()
        handshake = next((key for key, method in self._pending.items() if method == "initialize"), "")
        if handshake and not self._retried and not self._client_done:
            self._retried = True
            del self._pending[handshake]
            self._fail(GONE)
            self._pending[handshake] = "initialize"
            self._waiting = [self._initialize]
            self._arrive()
        else:
            self._fail(GONE)

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.close()
            self._hello["again"] = True  # so that the next daemon can tell what was lost
        self._link = None
        self._swallow = ""
        self._waiting.clear()
        self._to_daemon.clear()
        self._from_daemon = Lines()

    def _fail(self, why: str, code: str = "browser_gone") -> None:
        """Answer everything that is pending."""
        import json

        for key, method in self._pending.items():
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": json.loads(key)}
            if method == "tools/call":
                answer["result"] = _tool_error(code, why)
            else:
                answer["error"] = {"code": -32603, "message": why}
            self._say(answer)
        self._pending.clear()

    # --- getting to a daemon

    def _arrive(self) -> None:
        if not self._arriving:
            self._arriving = True
            start_new_thread(self._travel, ())

    def _travel(self) -> None:
        """In a thread: reach a daemon, whatever it takes."""
        try:
            self._arrival = self._way.reach(self._hello)
        except instance.StartError as error:
            self._arrival = str(error)
        except Exception as error:  # a thread that ends without a word would leave the client waiting
            self._arrival = f"no connection to the daemon: {error!r}"
        os.write(self._waker, b".")

    def _arrived(self) -> None:
        """Back in the loop: the thread has ended."""
        os.read(self._wake, 1)
        self._arriving = False
        arrival, self._arrival = self._arrival, ""
        if isinstance(arrival, str):
            _warn(arrival)
            self._waiting.clear()
            self._fail(arrival, "system")
            return
        if self._way.note:
            _warn(self._way.note)
            self._way.note = ""
        self._link = arrival
        self._greet_again()
        self._deliver()

    def _greet_again(self) -> None:
        """The new daemon has not met our client yet. If its `initialize` is still waiting, it goes by itself."""
        if not self._initialize or "initialize" in self._pending.values():
            return
        import json

        self._swallow = json.dumps(_loads(self._initialize)["id"])
        self._to_daemon += self._initialize
        self._write_daemon()

    # --- the end

    def _finished(self) -> bool:
        """After the client's last word: deliver, collect the answers, say goodbye; each within bounds."""
        if not self._client_done:
            return False
        if self._client_gone:
            return True
        if self._arriving and self._pending:
            return False
        if not self._deadline:
            self._deadline = time.monotonic() + LAST_ANSWERS_S
        if time.monotonic() > self._deadline or (self._link is None and not self._to_client):
            return True
        if self._link is not None and not self._said_goodbye and not self._pending and not self._to_daemon:
            from _socket import SHUT_WR

            self._said_goodbye = True
            self._deadline = time.monotonic() + GOODBYE_S
            try:
                self._link.shutdown(SHUT_WR)
            except OSError:
                return not self._to_client
        return False

    def _patience_ms(self) -> int | None:
        if not self._deadline:
            return None
        return max(0, int((self._deadline - time.monotonic()) * 1000)) + 1


def _loads(line: bytes) -> dict[str, Any]:
    """A message, or nothing: what is no message is the daemon's to refuse."""
    import json

    try:
        return _tree(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _answered(message: dict[str, Any]) -> str:
    """The id of the request that it answers, as JSON; empty if it is no answer."""
    import json

    return json.dumps(message["id"]) if "id" in message and "method" not in message else ""


def _tree(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _tool_error(code: str, message: str) -> dict[str, Any]:
    from pilothouse.errors import Failure

    failure = Failure(code, message)
    return {
        "content": [{"type": "text", "text": failure.to_text()}],
        "structuredContent": {"error": failure.to_dict()},
        "isError": True,
    }


def _end_on_sigterm() -> None:
    import signal

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)


def _warn(text: str) -> None:
    sys.stderr.write(f"pilothouse: {text}\n")
    sys.stderr.flush()
