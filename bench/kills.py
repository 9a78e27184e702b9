"""A daemon that is killed at any moment, again and again, under load: what it did is what its log says it would do.

`scripts/soak --kill 50` runs it. Pages tell a server of ours what was really done to them, by names that stand in the
arguments of the calls; every name that came must have its line, and no answer of a person may outlive the daemon.
"""

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import httpx

from bench.load import Door, Http, Place, Rest
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME
from tests.processes import Process, is_alive, processes_of

AGENTS = 4
FIRST_S = 60.0  # until the first thing happens in a browser that was just started
LOAD_S = 1.5
START_S = 1.2  # about as long as a start takes: some are killed in it
EARLY_EVERY = 5
BUTTONS = 200
_DONE = re.compile(r"[a-z]+-\d+-\d+-\d+")
_PAGE = """<!doctype html><title>Ledger</title><script>
const told = (name) => fetch('/did/' + name, {{method: 'POST', keepalive: true}});
for (let n = 0; n < {count}; n++) {{
  const name = '{name}-' + n;
  document.write(`<button id=press-${{name}} onclick="told(this.id)">${{n}}</button>
    <input id=type-${{name}} aria-label="field ${{n}}" oninput="told(this.id)">`);
}}
</script>"""


class Home(Protocol):
    """What this needs of soak.Trial."""

    home: Path
    process: Process | None
    place: Place

    def launch(self) -> None: ...
    def await_ready(self) -> None: ...
    def stop(self) -> list[str]: ...


class Ledger:
    """The web that is acted on. `did` holds what was really done, by name."""

    def __init__(self) -> None:
        self.did: set[str] = set()
        self.something = threading.Event()
        ledger = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def _answer(self) -> None:
                kind, _, name = self.path.strip("/").partition("/")
                if kind in ("did", "visit"):
                    ledger.note(name)
                body = _PAGE.format(name=name, count=BUTTONS if kind == "page" else 0).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, name: str) -> None:
        if _DONE.fullmatch(name):
            self.did.add(name)
            self.something.set()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Agent(threading.Thread):
    """Does things, each under a name of its own, until the daemon is gone."""

    def __init__(self, open_door: Callable[[Place], Door], place: Place, ledger: Ledger, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.codes: set[str] = set()
        self._open_door, self._place, self._ledger = open_door, place, ledger

    def run(self) -> None:
        with contextlib.suppress(httpx.HTTPError, OSError, ValueError, KeyError):  # the daemon was killed
            door = self._open_door(self._place)
            while True:
                self._do(door, "navigate", url=f"{self._ledger.url}/page/{self.name}")
                for number in range(BUTTONS):
                    self._do(door, "click", target=f"#press-{self.name}-{number}")
                    self._do(door, "type_text", target=f"#type-{self.name}-{number}", text="x")
                    if number % 10 == 9:
                        self._do(door, "navigate", url=f"{self._ledger.url}/visit/visit-{self.name}-{number}")
                        self._do(door, "navigate", url=f"{self._ledger.url}/page/{self.name}")

    def _do(self, door: Door, tool: str, **args: Any) -> None:
        code, _ = door.call(tool, **args)
        self.codes.add(code)


def kill_often(trial: Home, times: int, say: Callable[[str], None], seed: int = 0) -> list[str]:
    """Start, load, kill, look; the answer is what is wrong."""
    chance, ledger, wrong = random.Random(seed or time.time_ns()), Ledger(), list[str]()
    try:
        for number in range(1, times + 1):
            early = number % EARLY_EVERY == 0
            codes = _die_starting(trial, chance) if early else _die_working(trial, ledger, chance, number)
            found = [f"kill {number}: {one}" for one in _judged(trial, ledger)]
            wrong += found
            report = chain.verify_log(trial.home / NAME)
            say(
                f"kill {number:3d} {'while starting' if early else 'under load':<14} {len(ledger.did):6d} deeds, "
                f"{report.records:6d} records, {report.torn} torn, {len(report.unfinished)} without an end"
                f"{', ' + ', '.join(sorted(codes)) if codes else ''}{'  WRONG' if found else ''}"
            )
        wrong += _last_start(trial)
    finally:
        ledger.close()
    return wrong if ledger.did else [*wrong, "nothing was done at all"]


def _die_starting(trial: Home, chance: random.Random) -> set[str]:
    trial.launch()
    time.sleep(chance.uniform(0, START_S))
    _kill(trial)
    return set()


def _die_working(trial: Home, ledger: Ledger, chance: random.Random, number: int) -> set[str]:
    trial.launch()
    trial.await_ready()
    ledger.something.clear()
    doors: list[Callable[[Place], Door]] = [Rest, Http]
    agents = [Agent(doors[n % 2], trial.place, ledger, f"{number}-{n}") for n in range(AGENTS)]
    for agent in agents:
        agent.start()
    if ledger.something.wait(FIRST_S):
        time.sleep(chance.uniform(0, LOAD_S))
    _kill(trial)
    for agent in agents:
        agent.join(20)
    return set[str]().union(*(agent.codes for agent in agents)) - {"ok"}


def _kill(trial: Home) -> None:
    assert trial.process
    os.kill(trial.process.pid, signal.SIGKILL)
    trial.process.end()
    end = time.monotonic() + 10  # its browsers follow it by themselves
    while any(is_alive(pid) for pid in processes_of(trial.home / "browsers")) and time.monotonic() < end:
        time.sleep(0.05)


def _judged(trial: Home, ledger: Ledger) -> list[str]:
    """After a kill: is the log whole, and has everything that was done its line?"""
    path = trial.home / NAME
    report = chain.verify_log(path)
    wrong = [f"the log is broken at {one}" for one in report.faults[:3]]
    announced = {
        found
        for record in chain.records(path)
        if record["event"] == "before"
        for value in record["args"].values()
        for found in _DONE.findall(str(value))
    }
    unknown = sorted(ledger.did - announced)
    wrong += [f"{len(unknown)} things were done that have no line: {', '.join(unknown[:5])}"] if unknown else []
    left = [pid for pid in processes_of(trial.home / "browsers") if is_alive(pid)]
    return wrong + ([f"{len(left)} processes of the browser live on"] if left else [])


def _last_start(trial: Home) -> list[str]:
    """It starts again after all that, remembers no answer of a person, and goes on with the same chain."""
    before = chain.verify_log(trial.home / NAME)
    trial.launch()
    trial.await_ready()
    wrong = _approvals_left(trial)
    wrong += trial.stop()
    after = chain.verify_log(trial.home / NAME, seen=[before.digest])
    if not after.whole or not after.seen or after.last <= before.last:
        wrong.append("the log does not go on where it ended")
    return wrong


def _approvals_left(trial: Home) -> list[str]:
    """What the person's door shows of questions and grants, right after a start."""
    key = (trial.home / "person.key").read_text().strip()
    wrong: list[str] = []
    for path, name in (("/api/approvals", "pending"), ("/api/grants", "grants")):
        answer = httpx.get(f"{trial.place.url}{path}", headers={"X-API-Key": key}, timeout=30)
        if answer.status_code == 200 and answer.json()["data"][name]:
            wrong.append(f"{name} outlived the daemon: {answer.json()['data'][name]}")
    return wrong
