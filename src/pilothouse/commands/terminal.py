"""Where a command was typed: a name that the next command of the same terminal has too, and no later terminal.

Above: the command line, whose sessions belong to it; the daemon, which asks whether it is gone. Below: the system's
table of processes.
"""

from __future__ import annotations

import os
import sys

from pilothouse.reach import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    Process = tuple[int, str, str, list[str]]  # parent, terminal, start, command line

_SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh", "ash"}
# Programs that only run another one; whoever asked for that is behind them.
_WRAPPERS = {"env", "ionice", "nice", "nohup", "setsid", "stdbuf", "strace", "sudo", "time", "timeout", "xargs"}


class _Unknown(Exception):
    """The system does not say."""


def identity() -> str:
    """`PILOTHOUSE_TERMINAL`, else the leader of our terminal, else, without a terminal, the program that runs us."""
    if named := os.environ.get("PILOTHOUSE_TERMINAL"):
        return "named-" + "".join(one if one in PLAIN else "_" for one in named)[:100]
    if sys.platform == "win32":
        return f"{os.getppid()}.0"
    try:
        me = _look(os.getpid())
        if me and me[1]:
            leader = os.getsid(0)
            found = _look(leader)
            return f"{leader}.{found[2] if found else 0}.{me[1]}"
        return _program(os.getppid())
    except _Unknown:
        return f"{os.getppid()}.0"


def is_gone(connection: str) -> bool:
    """Has the process that this terminal is named after ended? What has a name of its own never is."""
    pid, _, rest = connection.removeprefix("terminal-").partition(".")
    if not pid.isdigit() or pid == "0" or sys.platform == "win32":
        return False
    started = rest.partition(".")[0]
    try:
        found = _look(int(pid))
    except _Unknown:
        return False
    return found is None if started == "0" else found is None or found[2] != started


def _program(pid: int) -> str:
    """The nearest program that will still be there for the next command."""
    for _ in range(16):
        found = _look(pid)
        if found is None:
            return f"{pid}.0"
        parent, _, started, command = found
        if pid <= 1 or not _is_passing(command, parent):
            return f"{pid}.{started}"
        pid = parent
    return f"{pid}.0"


def _is_passing(command: list[str], parent: int) -> bool:
    """A shell made for one command line (`sh -c …`, as agents do), a shell's fork of itself, a wrapper."""
    name = os.path.basename(command[0]).lstrip("-") if command else ""
    if name in _WRAPPERS:
        return True
    if name not in _SHELLS:
        return False
    if any(one.startswith("-") and not one.startswith("--") and "c" in one for one in command[1:4]):
        return True
    above = _look(parent)
    return above is not None and above[3] == command


def _look(pid: int) -> Process | None:
    """Parent, terminal, start and command line of a process; None when there is none."""
    try:
        return _from_proc(pid) if sys.platform == "linux" else _from_ps(pid)
    except (OSError, ValueError, IndexError):
        return None


def _from_proc(pid: int) -> Process:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        command = [os.fsdecode(part) for part in file.read(65536).split(b"\0")[:-1]]
    terminal = "" if fields[4] == b"0" else f"tty{int(fields[4])}"
    return int(fields[1]), terminal, fields[19].decode(), command


def _from_ps(pid: int) -> Process:
    import subprocess

    columns = ["ps", "-ww", "-o", "ppid=,tty=,lstart=,command=", "-p", str(pid)]
    try:
        line = subprocess.run(columns, capture_output=True, text=True, check=False, timeout=2).stdout.split()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Unknown from error
    parent, terminal, when, command = line[0], line[1], "-".join(line[2:7]), line[7:]
    plain = "".join(one if one in PLAIN else "_" for one in when).replace(".", "_")
    return int(parent), "" if "?" in terminal else terminal.replace("/", "_"), plain, command
