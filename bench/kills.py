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
MAX_DEEDS, LOAD_S = 60, 4.0  # after so many things, or so long, whichever comes first
START_S = 1.2  # about as long as a start takes: some are killed in it
EARLY_EVERY = 5
BUTTONS = 200
ASKED = 90  # the number of the agent whose actions need a person
_POLICY = '[[rules]]\nhost = "localhost"\napproval = true\n'
_REMEMBERED = (("/api/approvals", "pending"), ("/api/grants", "grants"))
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
        self.asking_url = f"http://localhost:{self._server.server_port}"  # a rule asks about this one
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, name: str) -> None:
        if _DONE.fullmatch(name):
            self.did.add(name)
            self.something.set()

    def wait_for(self, count: int, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while len(self.did) < count and time.monotonic() < end:
            time.sleep(0.005)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Agent(threading.Thread):
    """Does things at `url`, each under a name of its own, until the daemon is gone."""

    def __init__(self, open_door: Callable[[Place], Door], place: Place, url: str, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.codes: set[str] = set()
        self._open_door, self._place, self._url = open_door, place, url

    def run(self) -> None:
        with contextlib.suppress(httpx.HTTPError, OSError, ValueError, KeyError):  # the daemon was killed
            door = self._open_door(self._place)
            while True:
                self._do(door, "navigate", url=f"{self._url}/page/{self.name}")
                for number in range(BUTTONS):
                    self._do(door, "click", target=f"#press-{self.name}-{number}")
                    self._do(door, "type_text", target=f"#type-{self.name}-{number}", text="x")
                    if number % 10 == 9:
                        self._do(door, "navigate", url=f"{self._url}/visit/visit-{self.name}-{number}")
                        self._do(door, "navigate", url=f"{self._url}/page/{self.name}")

    def _do(self, door: Door, tool: str, **args: Any) -> None:
        code, _ = door.call(tool, **args)
        self.codes.add(code)


class Person(threading.Thread):
    """Says yes to typing, for as long as may be, and nothing at all to clicks: those are open when the daemon dies."""

    def __init__(self, place: Place, key: str) -> None:
        super().__init__(daemon=True)
        self.left_open: set[str] = set()
        self._client = httpx.Client(base_url=place.url, headers={"X-API-Key": key}, timeout=10)

    def remembered(self) -> list[str]:
        """What is wrong when a daemon has just started and there are questions or grants already."""
        found = [self._client.get(path).json()["data"][name] for path, name in _REMEMBERED]
        left = [str(one["id"]) for group in found for one in group]
        return [f"questions or grants outlived the daemon: {', '.join(left)}"] if left else []

    def run(self) -> None:
        with contextlib.suppress(httpx.HTTPError, OSError, ValueError):  # the daemon was killed
            while True:
                for one in self._client.get("/api/approvals").json()["data"]["pending"]:
                    if one["tool"] == "type_text":
                        answer = {"answer": "allow", "scope": one["scopes"][-1]}
                        self._client.post(f"/api/approvals/{one['id']}", json=answer)
                    else:
                        self.left_open.add(one["id"])
                time.sleep(0.05)


def kill_often(
    trial: Home, times: int, say: Callable[[str], None], *, seed: int = 0, agents: int = AGENTS
) -> list[str]:
    """Start, load, kill, look; the answer is what is wrong."""
    chance, ledger, wrong = random.Random(seed or time.time_ns()), Ledger(), list[str]()
    (trial.home / "policy.toml").write_text(_POLICY)
    try:
        for number in range(1, times + 1):
            early = number % EARLY_EVERY == 0
            codes = set[str]()
            left = list[str]()
            if early:
                _die_starting(trial, chance)
            else:
                left = _die_working(trial, ledger, chance, number, agents, codes)
            found = [f"kill {number}: {one}" for one in (*left, *_judged(trial, ledger))]
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


def _die_starting(trial: Home, chance: random.Random) -> None:
    trial.launch()
    time.sleep(chance.uniform(0, START_S))
    _kill(trial)


def _die_working(
    trial: Home, ledger: Ledger, chance: random.Random, number: int, count: int, codes: set[str]
) -> list[str]:
    trial.launch()
    trial.await_ready()
    ledger.something.clear()
    doors: list[Callable[[Place], Door]] = [Rest, Http]
    agents = [Agent(doors[n % 2], trial.place, ledger.url, f"{number}-{n}") for n in range(count)]
    person = Person(trial.place, _person_key(trial))
    left = person.remembered()
    agents.append(Agent(Rest, trial.place, ledger.asking_url, f"{number}-{ASKED}"))
    person.start()
    for agent in agents:
        agent.start()
    if ledger.something.wait(FIRST_S):
        ledger.wait_for(len(ledger.did) + chance.randint(0, MAX_DEEDS), LOAD_S)
        time.sleep(chance.uniform(0, 0.05))
    _kill(trial)
    for agent in agents:
        agent.join(20)
    codes.update(set[str]().union(*(agent.codes for agent in agents)) - {"ok"})
    return left


def _person_key(trial: Home) -> str:
    return (trial.home / "person.key").read_text().strip()


def _kill(trial: Home) -> None:
    assert trial.process
    os.kill(trial.process.pid, signal.SIGKILL)
    trial.process.end()
    end = time.monotonic() + 10  # its browsers follow it by themselves
    while any(is_alive(pid) for pid in processes_of(trial.home / "browsers")) and time.monotonic() < end:
        time.sleep(0.05)


def _ended(trial: Home) -> list[str]:
    assert trial.process
    trial.process.process.send_signal(signal.SIGTERM)
    code = trial.process.wait(30)
    return [f"it ended with {code}"] if code else []


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
    unasked = sorted(name for name in ledger.did if re.fullmatch(rf"press-\d+-{ASKED}-\d+", name))
    wrong += [f"done without an answer: {', '.join(unasked[:5])}"] if unasked else []
    left = [pid for pid in processes_of(trial.home / "browsers") if is_alive(pid)]
    return wrong + ([f"{len(left)} processes of the browser live on"] if left else [])


def _last_start(trial: Home) -> list[str]:
    """It starts again after all that, remembers no answer of a person, and goes on with the same chain."""
    before = chain.verify_log(trial.home / NAME)
    trial.launch()
    trial.await_ready()
    wrong = Person(trial.place, _person_key(trial)).remembered() + _ended(trial)
    after = chain.verify_log(trial.home / NAME, seen=[before.digest])
    if not after.whole or not after.seen or after.last <= before.last:
        wrong.append("the log does not go on where it ended")
    return wrong
