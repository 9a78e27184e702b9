"""`pilothouse` commands as processes of their own, forked from one that has imported what they need: a command costs
a tenth of its time (M). Each has its own arguments, environment, folder and pipes, and ends as the installed one does.

Above: command_line. Below: the command's own entry. How the installed script starts is for test_entry.
"""

import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from pilothouse import entry

START_S = 20.0
_IMPORTED = ("admin", "commands.call", "commands.clients", "commands.completion")


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
        told = json.dumps([arguments, environment, str(folder)]).encode()
        (out, theirs_out), (err, theirs_err) = os.pipe(), os.pipe()
        with (
            self._connected() as line,
            tempfile.TemporaryFile() as given,
            open(out, "rb") as said,
            open(err, "rb") as warned,
        ):
            given.write((stdin or "").encode())
            given.seek(0)
            line.settimeout(timeout_s)
            with open(theirs_out, "wb"), open(theirs_err, "wb"):
                socket.send_fds(line, [len(told).to_bytes(4, "big")], [given.fileno(), theirs_out, theirs_err])
                line.sendall(told)
            pid = _number(line)
            try:
                texts = _read((said, warned), deadline)
                return subprocess.CompletedProcess(arguments, _number(line), *texts)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, timeout_s) from None

    def _connected(self) -> socket.socket:
        deadline = time.monotonic() + START_S
        while True:
            line = socket.socket(socket.AF_UNIX)
            try:
                line.connect(self._address)
                return line
            except OSError:  # it still imports
                line.close()
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)


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
    for name in _IMPORTED:
        importlib.import_module(f"pilothouse.{name}")
    gc.freeze()
    script, address = sys.argv[1:]
    sys.argv = [script, *_serve(address)]
    sys.exit(entry.main())
