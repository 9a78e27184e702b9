"""`pilothouse status`: the daemon, its sessions, its browsers, and the memory they take.

Above: admin. Below: line, for what only the daemon knows; the system's table of processes for the rest.
"""

import os
from pathlib import Path
from typing import Any

from pilothouse.commands import person
from pilothouse.commands.line import Line
from pilothouse.commands.sessions import line as session_line
from pilothouse.errors import Failure
from pilothouse.guard.audit import fault
from pilothouse.instance import StartError

Entry = dict[str, Any]

ASK_TIMEOUT_S = 3.0


def look(home: str, info: Entry | None) -> Entry:
    """What there is to know, given what the daemon published."""
    if info is None:
        return {"running": False, "home": home}
    recording = {"audit_problem": why} if (why := fault(Path(home))) else {}
    return {"running": True, "home": home, **info, **_inside(), **recording, **processes(int(info["pid"]))}


def _inside() -> Entry:
    """What the daemon tells of itself, if it answers in time. Sessions are those of this terminal."""
    line = Line()
    try:
        answer = line.call("list_sessions", {}, timeout_s=ASK_TIMEOUT_S)
    except (TimeoutError, StartError):
        return {"answers": False}
    finally:
        line.close()
    return {"answers": True, "sessions": answer["data"].get("sessions", []), **_of_the_person()}


def _of_the_person() -> Entry:
    """What waits for them, everybody's sessions, and whether policy.toml holds; nothing for who may not ask."""
    try:
        problem = person.ask("GET", "/api/policy")["problem"]
        every = person.ask("GET", "/api/sessions")["sessions"]
        waiting = len(person.ask("GET", "/api/approvals")["pending"])
    except (Failure, person.NotThere):
        return {}
    return {"every_session": every, "waiting": waiting} | ({"policy_problem": problem} if problem else {})


def processes(pid: int) -> Entry:
    """Resident memory of the daemon and of what it started, where the system tells (Linux)."""
    if not os.path.isdir("/proc/self"):
        return {}
    parents = {one: _parent(one) for one in map(int, filter(str.isdigit, os.listdir("/proc")))}
    own = [one for one in parents if _descends(one, pid, parents)]
    browsers = [one for one in own if parents[one] == pid and _is_browser(one)]
    return {
        "memory_mb": round(_memory(pid)),
        "browsers": [{"pid": one, "memory_mb": round(_tree_memory(one, parents))} for one in browsers],
    }


def describe(found: Entry) -> str:
    if not found["running"]:
        return f"not running\nhome: {found['home']}"
    lines = [f"running: {found['url']}, pid {found['pid']}, version {found['version']}", f"home: {found['home']}"]
    if "proxy" in found:
        lines.append(f"debug proxy: {found['proxy']}; `pilothouse cocoon list` has the addresses behind it")
    if not found["answers"]:
        lines.append(f"it does not answer within {ASK_TIMEOUT_S:.0f} s; `pilothouse stop` ends it")
    if "audit_problem" in found:
        lines.append(
            "calls are refused as soon as the log has to be opened, for none could be recorded: "
            f"{found['audit_problem']}; see `pilothouse doctor`"
        )
    if "policy_problem" in found:
        lines.append(f"policy.toml is not taken over, the policy before it holds: {found['policy_problem']}")
    if "memory_mb" in found:
        lines.append(f"memory: {found['memory_mb']} MB")
        lines += [f"browser: pid {one['pid']}, {one['memory_mb']} MB" for one in found["browsers"]]
    own = [one["session"] for one in found.get("sessions", [])]
    for one in found.get("every_session", []):
        lines.append(f"session{' of this terminal' if one['session'] in own else ''}: {session_line(one)}")
    if found.get("waiting"):
        lines.append(f"waiting for your answer: {found['waiting']}; `pilothouse approvals` shows what")
    return "\n".join(lines)


def _is_browser(pid: int) -> bool:
    """A daemon in the foreground may have its shell's children, too."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"--user-data-dir=" in file.read()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0  # it ended just now


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    for _ in range(32):
        pid = parents.get(pid, 0)
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
    return False


def _tree_memory(pid: int, parents: dict[int, int]) -> float:
    return _memory(pid) + sum(_memory(one) for one in parents if _descends(one, pid, parents))


def _memory(pid: int) -> float:
    """What it has for itself and its share of the rest; several Chrome processes hold the same pages."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    except (OSError, ValueError):
        return 0.0
