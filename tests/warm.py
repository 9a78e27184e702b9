"""`pilothouse` commands as processes of their own, forked from one that has imported what they need: a command costs
a tenth of its time (M), and a daemon starts a second sooner. Each has its own arguments, environment, folder and pipes, and ends as the installed one does.

Above: command_line, processes. Below: the command's own entry. How the installed script starts is for test_entry.
"""

import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import pilothouse.tools
from pilothouse import entry

START_S = 20.0
_IMPORTED = ("admin", "commands.call", "commands.clients", "commands.completion", "daemon", "doors.mcp")


class Forked:
    """A command's process: as much of `subprocess.Popen` as tests use."""

    def __init__(self, line: socket.socket, stdin: IO[bytes] | None, stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self._line = line
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.pid = _number(line)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                self.returncode = _number(self._line)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("pilothouse", timeout or 0) from None
            self._line.close()
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # its end is not told yet
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Warm:
    """The process that forks. It ends with the one that started it: then its stdin does."""

    def __init__(self, script: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm-")
        self._address = f"{self._folder.name}/socket"
        python = Path(script).resolve().with_name("python")
        self._process = subprocess.Popen([python, "-m", __name__, script, self._address], stdin=subprocess.PIPE)

    def run(
        self, arguments: list[str], environment: dict[str, str], folder: Path, stdin: str | None, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        deadline = time.monotonic() + timeout_s
        with tempfile.TemporaryFile() as given:
            given.write((stdin or "").encode())
            given.seek(0)
            process = self._fork(arguments, environment, folder, given.fileno())
        with process.stdout as said, process.stderr as warned:
            try:
                texts = _read((said, warned), deadline)
                return subprocess.CompletedProcess(arguments, process.wait(timeout_s), *texts)
            except (TimeoutError, subprocess.TimeoutExpired):
                process.kill()
                process.wait()
                raise subprocess.TimeoutExpired(arguments, timeout_s) from None

    def open(self, arguments: list[str], environment: dict[str, str]) -> Forked:
        """One that runs on, with its three pipes."""
        theirs, ours = os.pipe()
        try:
            process = self._fork(arguments, environment, Path.cwd(), theirs)
        finally:
            os.close(theirs)
        process.stdin = os.fdopen(ours, "wb")
        return process

    def _fork(self, arguments: list[str], environment: dict[str, str], folder: Path, stdin: int) -> Forked:
        told = json.dumps([arguments, environment, str(folder)]).encode()
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        line = self._connected()
        try:
            socket.send_fds(line, [len(told).to_bytes(4, "big")], [stdin, out_end, err_end])
            line.sendall(told)
        finally:
            os.close(out_end)
            os.close(err_end)
        return Forked(line, None, os.fdopen(out, "rb"), os.fdopen(err, "rb"))

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + START_S
        while True:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(self._address)
                line.settimeout(START_S)
                return line
            except OSError:  # it still imports
                line.close()
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)


@functools.cache
def warm(script: str) -> Warm:
    return Warm(script)


def _read(streams: tuple[IO[bytes], IO[bytes]], deadline: float) -> list[str]:
    """Both to their ends, as whoever runs a command in a pipe does."""
    read: dict[int, bytes] = {one.fileno(): b"" for one in streams}
    with selectors.DefaultSelector() as selector:
        for one in read:
            selector.register(one, selectors.EVENT_READ)
        while selector.get_map():
            if not (ready := selector.select(max(0.0, deadline - time.monotonic()))):
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                read[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
    return [data.decode().replace("\r\n", "\n") for data in read.values()]


def _number(line: socket.socket) -> int:
    data = line.recv(4, socket.MSG_WAITALL)
    assert len(data) == 4
    return int.from_bytes(data, "big", signed=True)


def _serve(address: str) -> list[str]:
    """Returns in every command's process, with its arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the guardians
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen(50)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            if any(key.fd == 0 for key, _ in selector.select()):
                os._exit(0)
            line, _ = listener.accept()
            with line:
                if os.fork() == 0:
                    selector.close()
                    listener.close()
                    return _guarded(line)


def _guarded(line: socket.socket) -> list[str]:
    """The command's process, and its guardian, which tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, ends, _, _ = socket.recv_fds(line, 4, 3)
    arguments, environment, folder = json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    if (pid := os.fork()) == 0:
        line.close()
        _become(ends, environment, folder)
        return arguments
    for end in (0, *ends):
        os.close(end)
    line.sendall(pid.to_bytes(4, "big"))
    _, status = os.waitpid(pid, 0)
    line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def _become(ends: list[int], environment: dict[str, str], folder: str) -> None:
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=stream is sys.stderr)  # as Python begins where there is no terminal


if __name__ == "__main__":
    for name in (*_IMPORTED, *(f"tools.{one.name}" for one in pkgutil.iter_modules(pilothouse.tools.__path__))):
        importlib.import_module(f"pilothouse.{name}")
    for follower in ("reload", "adjusting"):  # files are looked at more often than people need
        vars(importlib.import_module(f"pilothouse.{follower}"))["EVERY_S"] = 0.2
    gc.freeze()
    script, address = sys.argv[1:]
    sys.argv = [script, *_serve(address)]
    sys.exit(entry.main())
