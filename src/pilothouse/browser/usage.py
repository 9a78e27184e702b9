"""What browsers cost: memory and CPU time of their processes, and which of those a page runs in.

Above: warden. Below: browser, cdp, the operating system.
"""

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.browser.browser import Browser
from pilothouse.browser.world import World
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

ASK_S = 2.0
_ANCESTORS = 5
_PID_DIGITS = 10
# From our own world, whatever the page did to its globals. The address leaves no trace: no entry in the page's list of
# resources, none in ours.
_PROBE = "(() => { const x = new XMLHttpRequest(); x.open('GET', '%s'); x.send(); })()"


class Process(msgspec.Struct, frozen=True):
    pid: int
    kind: str
    cpu_s: float
    memory_bytes: int  # 0 where the system does not tell


class _One(msgspec.Struct):
    id: int
    type: str
    cpuTime: float  # noqa: N815 (CDP's spelling)


class _Told(msgspec.Struct):
    processInfo: list[_One]  # noqa: N815


async def processes(browser: Browser, *, elsewhere: bool = False) -> list[Process]:
    """All of one browser; none if it does not tell (others' browsers do not), or is about to end.

    The numbers of one elsewhere mean other processes here, or none. It is asked only while somebody waits for it: idle
    ones are many, and each question goes through a Grid.
    """
    if elsewhere and not browser.connection.waits:
        return []
    try:
        told = await browser.root.send("SystemInfo.getProcessInfo", timeout=ASK_S)
        found = msgspec.convert(told, _Told, strict=False).processInfo
    except (Failure, ProtocolError, msgspec.ValidationError):
        return []
    main = next((one.id for one in found if one.type == "browser"), 0)
    memory = {} if elsewhere else await asyncio.to_thread(memory_of, main, [one.id for one in found])
    return [Process(one.id, one.type, one.cpuTime, memory.get(one.id, 0)) for one in found]


async def pid_of(world: World) -> int:
    """The process of a document: requests that it makes bear the pid in their ids (M). 0 when it does not answer."""
    url, pids = f"data:,{secrets.token_hex(8)}", [0]

    def note(params: dict[str, Any]) -> None:
        if params["request"]["url"] == url:
            pids[0] = pid_in(params["requestId"])

    unsubscribe = world.channel.on("Network.requestWillBeSent", note)
    try:
        await world.channel.send("Runtime.evaluate", expression=_PROBE % url, uniqueContextId=world.uid, timeout=ASK_S)
    except (Failure, ProtocolError):
        return 0
    finally:
        unsubscribe()
    return pids[0]


def pid_in(request_id: str) -> int:
    """0 for requests that the browser itself makes, as it does for documents."""
    head, dot, _ = request_id.partition(".")
    return int(head) if dot and head.isdecimal() and head.isascii() and len(head) <= _PID_DIGITS else 0


def memory_of(main: int, pids: Iterable[int]) -> dict[int, int]:
    """Bytes by pid, what several share being divided among them. Empty where that cannot be known: a browser that
    we did not start may run on another machine, where the same numbers mean other processes."""
    if sys.platform == "linux":
        return {pid: pss_of(pid) for pid in pids} if _is_ours(main) else {}
    if sys.platform == "darwin":
        return _from_ps(main, pids)
    return {}


def pss_of(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, IndexError, ValueError):  # a sandbox may forbid the better number
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _is_ours(pid: int) -> bool:
    """Whether we started it, perhaps through a wrapper."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        for _ in range(_ANCESTORS):
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if pid == os.getpid():
                return True
    return False


def _from_ps(main: int, pids: Iterable[int]) -> dict[int, int]:
    command = ["ps", "-o", "pid=,ppid=,rss=", "-p", ",".join(map(str, pids))]
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        said = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False).stdout
        rows = [list(map(int, line.split())) for line in said.splitlines()]
        if any(pid == main and parent == os.getpid() for pid, parent, _ in rows):
            return {pid: kilobytes * 1024 for pid, _, kilobytes in rows}
    return {}
