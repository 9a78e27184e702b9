"""The one daemon of a home: who holds it, where it listens, how it is started and asked to leave.

Above: the daemon, the bridge, the administrative commands. Below: home. Only the standard library, and most of it is
imported where it is needed: the bridge has 50 ms from its start to its first answer.
"""

from __future__ import annotations

import os
import sys
import time
from _socket import SOCK_STREAM, socket  # `socket` itself costs 10 ms (enum, selectors) and adds nothing here

from pilothouse.home import daemon_file, socket_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START_TIMEOUT_S = 30.0
HELLO_TIMEOUT_S = 10.0
SETTLE_TIMEOUT_S = 3.0
LOG_MAX_BYTES = 1_000_000


class StartError(Exception):
    """No daemon could be reached or started; the text says why, in the daemon's own words where it had any."""


class Claim:
    """The home's lock, held as long as the daemon lives: the kernel lets go of it however the daemon ends."""

    def __init__(self, home: str) -> None:
        self._file = _open_lock(home, "daemon.lock")
        # Somebody may be looking at this very moment whether the lock is free, so one refusal proves nothing.
        for pause_s in (0.02, 0.05, 0.1, 0):
            if _lock(self._file, wait=False):
                break
            time.sleep(pause_s)
        else:
            holder = _holder(self._file)
            os.close(self._file)
            raise StartError(f"another daemon ({holder}) already runs for {home}; `pilothouse stop` ends it")
        os.ftruncate(self._file, 0)
        os.write(self._file, b"%d" % os.getpid())

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def is_held(home: str) -> bool:
    """Does a daemon live here, be it starting, serving or ending?"""
    file = _open_lock(home, "daemon.lock")
    try:
        return not _lock(file, wait=False)
    finally:
        os.close(file)


def publish(home: str, info: dict[str, Any]) -> None:
    """Write daemon.json, which others may only ever see whole."""
    import json

    from pilothouse import written

    written.publish(daemon_file(home), json.dumps(info).encode() + b"\n")


def withdraw(home: str) -> None:
    """Remove what `publish` and the local door left in the file system."""
    import contextlib

    for path in (daemon_file(home), socket_path(home)):
        with contextlib.suppress(OSError):  # never written, or removed by hand
            os.unlink(path)


def published(home: str) -> dict[str, Any] | None:
    """What the running daemon wrote; None when none runs (a file left by a killed one says nothing)."""
    import json

    try:
        with open(daemon_file(home), encoding="utf-8") as file:
            info: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return None
    return info if is_held(home) else None


def settled(home: str, timeout_s: float = SETTLE_TIMEOUT_S) -> dict[str, Any] | None:
    """As `published`, for whoever would do a daemon's work where none runs: one that starts or ends is waited for."""
    deadline = time.monotonic() + timeout_s
    while (info := published(home)) is None and is_held(home):
        if time.monotonic() > deadline:
            raise StartError("a daemon is starting or ending")
        time.sleep(0.02)
    return info


def connect(home: str, timeout_s: float = HELLO_TIMEOUT_S) -> socket:
    """A connection to the daemon's local door; OSError when nobody listens."""
    if sys.platform == "win32":  # no unix sockets in Python there: loopback, and the hello carries the secret
        from _socket import AF_INET

        info = published(home)
        if info is None:
            raise FileNotFoundError(daemon_file(home))
        family, address = AF_INET, ("127.0.0.1", int(info["local_port"]))
    else:
        from _socket import AF_UNIX

        family, address = AF_UNIX, socket_path(home)
    link = socket(family, SOCK_STREAM)
    link.settimeout(timeout_s)
    link.connect(address)
    return link


def greet(link: socket, hello: bytes) -> bytes:
    """Send the first line, return the daemon's."""
    link.sendall(hello + b"\n")
    reply = b""
    while not reply.endswith(b"\n"):
        chunk = link.recv(65536)
        if not chunk:
            raise ConnectionResetError("the daemon hung up before it answered")
        reply += chunk
    return reply


def ask(home: str, hello: bytes) -> dict[str, Any]:
    """One question, one answer, on a connection of its own."""
    import json

    link = connect(home)
    try:
        return json.loads(greet(link, hello))
    finally:
        link.close()


def ensure(home: str) -> bool:
    """Return once a daemon listens. However many ask at once, one is started; True if it was we who did."""
    deadline = time.monotonic() + START_TIMEOUT_S
    lock = _open_lock(home, "start.lock")
    started = False
    try:
        _lock(lock, wait=True)
        while not _listens(home):
            if time.monotonic() > deadline:
                raise StartError(f"the daemon was not ready within {START_TIMEOUT_S:.0f} s; see {_log_path(home)}")
            if is_held(home):
                time.sleep(0.02)  # one that nobody told us of is starting or ending
            else:
                _spawn(home, deadline)
                started = True
    finally:
        os.close(lock)
    return started


def wait_gone(home: str, timeout_s: float) -> bool:
    """Wait until no daemon holds the home."""
    deadline = time.monotonic() + timeout_s
    while is_held(home):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def detach() -> None:
    """Leave the process that started us and its terminal, so that our end is nobody's zombie and ^C not our end."""
    if sys.platform != "win32":
        if os.fork():
            os._exit(0)
        os.setsid()


def trim_log(path: str, max_bytes: int) -> None:
    """Keep the log of a detached daemon bounded: one full file is kept beside the running one."""
    try:
        if os.path.getsize(path) > max_bytes:
            os.replace(path, path + ".1")
    except OSError:
        pass  # there is none yet


def port_owner(port: int) -> str:
    """Who listens on a TCP port, as far as this system tells: `pid 123 (nginx)`, or `another program`."""
    for inode in _listeners(port):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if _has_socket(pid, inode):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    return f"pid {pid} ({file.read().strip()})"
    return "another program"


def _listens(home: str) -> bool:
    try:
        connect(home).close()
    except OSError:
        return False
    return True


def _spawn(home: str, deadline: float) -> None:
    """Start a daemon and wait for its one line on stdout."""
    import select
    import subprocess

    log = _log_path(home)
    trim_log(log, LOG_MAX_BYTES)
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as errors:
        heard = errors.tell()
        command = [sys.executable, "-m", "pilothouse.entry", "serve", "--auto"]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=home)
    assert child.stdout is not None
    with child.stdout:
        left_s = max(0.0, deadline - time.monotonic())
        in_time = sys.platform == "win32" or select.select([child.stdout], [], [], left_s)[0]
        line = child.stdout.readline() if in_time else b""
    if sys.platform != "win32":
        child.wait()  # it detached, so this is only the empty shell of it
    if in_time and b'"ready": true' not in line and wait_gone(home, 0.5):
        raise StartError(f"the daemon did not start: {_last_words(log, heard)}")


def _last_words(log: str, offset: int) -> str:
    with open(log, "rb") as file:
        file.seek(offset)
        lines = file.read().decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return said[-1] if said else f"it said nothing; see {log}"


def _log_path(home: str) -> str:
    return os.path.join(home, "daemon.log")


def _open_lock(home: str, name: str) -> int:
    return os.open(os.path.join(home, name), os.O_RDWR | os.O_CREAT, 0o600)


def _lock(file: int, *, wait: bool) -> bool:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, 1 << 30, os.SEEK_SET)  # far behind the pid, which others want to read
        modes = (msvcrt.LK_NBLCK, msvcrt.LK_LOCK)
        lock = lambda: msvcrt.locking(file, modes[wait], 1)
    else:
        import fcntl

        lock = lambda: fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    try:
        lock()
    except OSError:
        return False
    return True


def _holder(file: int) -> str:
    pid = os.pread(file, 20, 0) if hasattr(os, "pread") else b""
    return f"pid {pid.decode()}" if pid.isdigit() else "just starting"


def _listeners(port: int) -> list[str]:
    """Socket inodes that listen on the port, from Linux's tables; empty elsewhere."""
    found: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        found += [row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port]
    return found


def _has_socket(pid: str, inode: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{fd}") == f"socket:[{inode}]" for fd in os.listdir(folder))
    except OSError:
        return False  # another user's process, or one that just ended
