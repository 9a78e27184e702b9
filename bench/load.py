"""Agents that do everything at once: one thread each, through one door each, until they are told to stop.

Above: soak. Below: the daemon's doors, as any client sees them.
"""

import contextlib
import json
import random
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import httpx

from tests.mcp_line import LineClient, RpcError, to_reply
from tests.server import PageServer

STEPS_A_VISIT = 10
TRIED = 2  # times that everybody takes every kind of step before chance decides
TIMEOUT_S = 60.0
_PAGES = ["small", "table", "todo", "console", "network", "spa", "frames", "shadow", "wizard"]
Answer = tuple[str, dict[str, Any]]  # "ok" or the error's code, and the data


class Door(Protocol):
    """A connection with a session of its own."""

    def call(self, tool: str, **args: Any) -> Answer: ...
    def cancel(self, tool: str, **args: Any) -> None: ...
    def close(self) -> None: ...


class Place:
    """Where the daemon is: its address, its home, how to run its command."""

    def __init__(self, url: str, key: str, command: list[str], env: dict[str, str]) -> None:
        self.url, self.key, self.command, self.env = url, key, command, env

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Accept": "application/json, text/event-stream"}


class Stdio:
    """An agent's MCP client: a bridge process."""

    def __init__(self, place: Place) -> None:
        self._client = LineClient([*place.command, "mcp"], env=place.env)
        self._client.initialize()

    def call(self, tool: str, **args: Any) -> Answer:
        try:
            reply = self._client.call(tool, timeout=TIMEOUT_S, **args)
        except RpcError as error:
            return f"rpc {error.code}", {}
        return reply.error or "ok", reply.data

    def cancel(self, tool: str, **args: Any) -> None:
        number = self._client.send(tool, **args)
        self._client._write(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "soak"}}
        )

    def close(self) -> None:
        self._client.close()


class Http:
    """MCP over Streamable HTTP, of the generation with sessions."""

    def __init__(self, place: Place) -> None:
        self._client = httpx.Client(base_url=place.url, headers=place.headers, timeout=TIMEOUT_S)
        self._number = 0
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        first = self._post("initialize", params)
        self._client.headers["Mcp-Session-Id"] = first.headers["mcp-session-id"]
        self._client.headers["MCP-Protocol-Version"] = "2025-11-25"
        self._client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _post(self, method: str, params: dict[str, Any], **options: Any) -> httpx.Response:
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return self._client.post("/mcp", json=body, **options)

    def call(self, tool: str, **args: Any) -> Answer:
        response = self._post("tools/call", {"name": tool, "arguments": args})
        text = response.text
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
        message = json.loads(lines[-1] if lines else text)
        if "error" in message:
            return f"rpc {message['error']['code']}", {}
        reply = to_reply(message["result"])
        return reply.error or "ok", reply.data

    def cancel(self, tool: str, **args: Any) -> None:
        with contextlib.suppress(httpx.TimeoutException):  # the client hangs up
            self._post("tools/call", {"name": tool, "arguments": args}, timeout=0.3)

    def close(self) -> None:
        self._client.delete("/mcp")
        self._client.close()


class Rest:
    """Plain requests to `/api`, in a session that is opened first."""

    def __init__(self, place: Place) -> None:
        self._client = httpx.Client(base_url=place.url, headers=place.headers, timeout=TIMEOUT_S)
        self._session = ""
        self._session = self.call("open_session")[1]["session"]

    @staticmethod
    def exists(place: Place) -> bool:
        return httpx.post(f"{place.url}/api/tools/list_sessions", headers=place.headers, json={}).status_code == 200

    def call(self, tool: str, **args: Any) -> Answer:
        path = f"/api/browser/{self._session}/{tool}" if self._session else f"/api/tools/{tool}"
        return self._answer(self._client.post(path, json=args))

    def _answer(self, response: httpx.Response) -> Answer:
        if response.headers["content-type"].partition(";")[0] != "application/json":
            return "ok" if response.is_success else f"http {response.status_code}", {}
        body = response.json()
        return ("ok", body.get("data") or {}) if body["success"] else (body["error"]["code"], {})

    def cancel(self, tool: str, **args: Any) -> None:
        with contextlib.suppress(httpx.TimeoutException):
            self._client.post(f"/api/browser/{self._session}/{tool}", json=args, timeout=0.3)

    def close(self) -> None:
        session, self._session = self._session, ""
        self.call("close_session", session=session)
        self._client.close()


class Command:
    """The command line: a process for each call."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._session = ""
        self._session = self.call("open_session")[1]["session"]

    @staticmethod
    def exists(place: Place) -> bool:
        done = subprocess.run([*place.command, "list_sessions"], env=place.env, capture_output=True, timeout=TIMEOUT_S)
        return done.returncode == 0

    def _command(self, tool: str, args: dict[str, Any]) -> list[str]:
        given = {**({"session": self._session} if self._session else {}), **args}
        flags = [
            f"--{name.replace('_', '-')}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in given.items()
        ]
        return [*self._place.command, tool, "--json", *flags]

    def call(self, tool: str, **args: Any) -> Answer:
        done = subprocess.run(
            self._command(tool, args), env=self._place.env, capture_output=True, timeout=TIMEOUT_S, check=False
        )
        if done.returncode:
            return f"exit {done.returncode}", {}
        said = json.loads(done.stdout)
        return "ok", said.get("data", said)

    def cancel(self, tool: str, **args: Any) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(self._command(tool, args), env=self._place.env, capture_output=True, timeout=0.5)

    def close(self) -> None:
        session, self._session = self._session, ""
        self.call("close_session", session=session)


def doors(place: Place, count: int) -> list[Callable[[Place], Door]]:
    """So many doors to go through, of all kinds that this daemon has."""
    kinds: list[Callable[[Place], Door]] = [Stdio, Http, Stdio, Http]
    kinds += [Rest] * 2 * Rest.exists(place) + [Command] * Command.exists(place)
    return [kinds[number % len(kinds)] for number in range(count)]


class Worker(threading.Thread):
    """Visits again and again: a new connection and session, steps by chance, and away."""

    def __init__(self, open_door: Callable[[Place], Door], place: Place, site: PageServer, number: int) -> None:
        self.kind = getattr(open_door, "__name__", "door")
        super().__init__(name=f"{self.kind}-{number}", daemon=True)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.visits = 0
        self.taken: Counter[str] = Counter()  # by kind of step
        self.trouble: list[str] = []
        self._open_door = open_door
        self._place = place
        self._site = site
        self._chance = random.Random(number)
        self._over = threading.Event()

    def stop(self) -> None:
        self._over.set()

    def run(self) -> None:
        while not self._over.is_set():
            try:
                self._visit()
                self.visits += 1
            except Exception as error:  # the report names it; the others go on
                self.trouble.append(f"{self.name}: {type(error).__name__}: {error}"[:300])
                self._over.wait(1)

    def _visit(self) -> None:
        door = self._open_door(self._place)
        try:
            for _ in range(STEPS_A_VISIT):
                if self._over.is_set():
                    break
                step = self._next()
                step(self, door)
                self.taken[step.__name__] += 1
        finally:
            door.close()

    def _next(self) -> "Step":
        """First everything a few times, in an order of its own; then by chance."""
        few = [step for step in _STEPS if self.taken[step.__name__] < TRIED]
        return self._chance.choice(few or _STEPS)

    def call(self, door: Door, tool: str, **args: Any) -> dict[str, Any]:
        code, data = door.call(tool, **args)
        self.outcomes[tool, code] += 1
        return data

    # What agents do

    def browse(self, door: Door) -> None:
        page = self._chance.choice(
            ["small", "table", "todo", "console", "network", "spa", "frames", "shadow", "wizard"]
        )
        self.call(door, "navigate", url=self._site.url(f"{page}.html", other=self._chance.random() < 0.3))
        self.call(door, "get_page_state")

    def fill(self, door: Door) -> None:
        self.call(door, "navigate", url=self._site.url("form.html"))
        self.call(
            door, "fill_form", fields=[{"target": "#text", "value": "soak"}, {"target": "#notes", "value": "n" * 50}]
        )
        self.call(door, "click", target="text=Send")
        self.call(door, "get_page_text")

    def look(self, door: Door) -> None:
        self.call(door, "screenshot")
        self.call(door, "get_page_state")

    def tabs(self, door: Door) -> None:
        self.call(door, "new_tab", url=self._site.url("small.html"))
        self.call(door, "list_tabs")
        self.call(door, "close_tab")

    def download(self, door: Door) -> None:
        self.call(door, "navigate", url=self._site.url("download.html"))
        self.call(door, "click", target="text=Report")
        self.call(door, "get_page_state")

    def err(self, door: Door) -> None:
        self.call(door, "click", target="#nowhere")
        self.call(door, "no_such_tool")
        self.call(door, "click", target="e9999")
        self.call(door, "navigate", url="http://127.0.0.1:1/", timeout_ms=3000)
        self.call(door, "evaluate_js", expression="throw new Error('soak')")

    def noise(self, door: Door) -> None:
        fetching = f"fetch('{self._site.url('big.json?kb=300')}').then(r => r.text()).then(t => t.length)"
        self.call(
            door, "evaluate_js", expression="for (let i = 0; i < 300; i++) console.log('line', i, 'x'.repeat(200))"
        )
        self.call(door, "evaluate_js", expression=fetching)
        self.call(door, "get_console_logs", limit=20)
        self.call(door, "get_network_log", limit=20)

    def give_up(self, door: Door) -> None:
        door.cancel("wait_for", text="never there", timeout_ms=20_000)
        self.call(door, "list_tabs")


Step = Callable[[Worker, Door], None]
_STEPS: list[Step] = [
    Worker.browse,
    Worker.browse,
    Worker.fill,
    Worker.look,
    Worker.tabs,
    Worker.download,
    Worker.err,
    Worker.noise,
    Worker.give_up,
]


def least_tried(workers: list[Worker]) -> int:
    """How often the rarest step was taken through the door that took it least."""
    kinds = {worker.kind for worker in workers}
    return min(
        sum(worker.taken[step.__name__] for worker in workers if worker.kind == kind)
        for kind in kinds
        for step in _STEPS
    )


def key_of(home: Path) -> str:
    return (home / "agent.key").read_text().strip()
