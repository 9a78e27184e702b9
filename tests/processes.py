"""Bridges and daemons as real processes, and a daemon that is only a socket, for the tests of both."""

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pilothouse import __version__, instance
from pilothouse.home import socket_path
from tests.warm import Forked, warm

PILOTHOUSE = str(Path(sys.executable).with_name("pilothouse"))
SHELL = shutil.which("chromium-headless-shell") or ""
# What most tests run in: the same engine, in a third of the work of all of Chromium (M); empty: whatever is found.
ENGINE = os.environ.get("PILOTHOUSE_CHROME") or SHELL
TIMEOUT_S = 20.0


def wait_until(condition: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    """For what tells nobody when it happens: another process's files and its end."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
    return found


def is_alive(pid: int) -> bool:
    """A process that ended and is not yet reaped by its parent counts as gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def call(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(number: int | str = 0) -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    return call(number, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _installed(arguments: tuple[str, ...], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen([PILOTHOUSE, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


class Process:
    """A `pilothouse` command; its lines of output are read in a thread, each by `read`. Daemons are not judged by how
    soon they start, and are forked; their browsers are the engine alone, unless PILOTHOUSE_CHROME says otherwise."""

    def __init__(self, *arguments: str, home: Path, **environment: str) -> None:
        env = {"PILOTHOUSE_CHROME": ENGINE} | os.environ
        env |= {"PILOTHOUSE_HOME": str(home), "PILOTHOUSE_SERVER_PORT": "0"} | environment
        self.started = time.perf_counter()
        self.process = self._start(arguments, env)
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stdin, self._stdout, self._stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=self._collect, daemon=True), threading.Thread(target=self._listen)]
        for thread in self._threads:
            thread.start()

    def _start(self, arguments: tuple[str, ...], environment: dict[str, str]) -> "subprocess.Popen[bytes] | Forked":
        if arguments[0] == "serve":
            return warm(PILOTHOUSE).open(list(arguments), environment)
        return _installed(arguments, environment)

    def _collect(self) -> None:
        for line in self._stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _listen(self) -> None:
        for line in self._stderr:
            self.errors.append(line.decode())

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            self.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.stdin.flush()

    def read(self, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
        line = self._lines.get(timeout=timeout_s)
        assert line, f"it ended: {self.error_text()}"
        return json.loads(line)

    def at_end(self) -> bool:
        """Nothing more comes on stdout."""
        return self._lines.get(timeout=TIMEOUT_S) == b""

    def error_text(self) -> str:
        self._threads[1].join(TIMEOUT_S)
        return "".join(self.errors)

    def wait(self, timeout_s: float = TIMEOUT_S) -> int:
        return self.process.wait(timeout_s)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()


class Installed(Process):
    """A daemon, too, is started as a person starts it."""

    def _start(self, arguments: tuple[str, ...], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        return _installed(arguments, environment)


class FakeDaemon:
    """Listens where the daemon of a home would. What a test wants answered is in `answer`."""

    def __init__(self, home: Path, *, version: str = __version__) -> None:
        self.greeting: dict[str, Any] = {"pilothouse": version, "pid": os.getpid()}
        self.stop_answer: dict[str, Any] = {"stopping": False, "why": "2 clients connected"}
        self.hellos: list[dict[str, Any]] = []
        self.received: queue.Queue[bytes] = queue.Queue()
        self.answer: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda message: {"echo": message["method"]}
        self._clients: list[socket.socket] = []
        path = socket_path(home)
        Path(path).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(50)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client, client.makefile("rb") as lines:
            hello = json.loads(lines.readline())
            self.hellos.append(hello)
            self._write(client, self.stop_answer if hello["door"] == "stop" else self.greeting)
            if hello["door"] == "stop" and self.stop_answer["stopping"]:
                self.close()
            for line in lines:
                self.received.put(line)
                self._respond(client, line)

    def _respond(self, client: socket.socket, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._write(client, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no message"}})
            return
        if "id" in message and (result := self.answer(message)) is not None:
            self._write(client, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _write(self, client: socket.socket, message: dict[str, Any]) -> None:
        client.sendall(json.dumps(message).encode() + b"\n")

    def write_raw(self, data: bytes) -> None:
        """To the client that came last."""
        self._clients[-1].sendall(data)

    def next(self) -> dict[str, Any]:
        return json.loads(self.received.get(timeout=TIMEOUT_S))

    def close(self) -> None:
        """As a daemon that is killed: everything is gone at once."""
        with contextlib.suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


def kill_daemon(home: Path) -> None:
    """Whatever daemon a test left."""
    lock = home / "daemon.lock"
    if lock.exists() and instance.is_held(str(home)):
        os.kill(int(lock.read_text()), signal.SIGKILL)
        assert instance.wait_gone(str(home), 5)


def processes_of(home: Path) -> list[int]:
    """Browsers of a home, by their command lines."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if str(home).encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return found
