"""The whole daemon inside the test's own process, so that a test can choose what its policy says and see its routes."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.routing import BaseRoute

from pilothouse import daemon, instance, reload
from pilothouse.call import Defaults
from pilothouse.cocoons import Cocoons
from pilothouse.doors import debugging, live
from pilothouse.gate import Gate
from pilothouse.guard.pairing import Pairing
from pilothouse.guard.passes import Passes
from pilothouse.guard.policy import Decision, Policy, Question
from pilothouse.options import Config
from pilothouse.providers.link import Links
from pilothouse.tool import Access
from tests.processes import ENGINE

ALLOW = Decision(verdict="allow", rule="test")
READY_S = 30.0

Decide = Callable[[Question], Decision | None]


def asks_for_writes(question: Question) -> Decision:
    acts = question.access in (Access.WRITE, Access.SENSITIVE)
    return (
        Decision(verdict="ask", rule="rule of the test", risk="medium", why="it changes something") if acts else ALLOW
    )


class Here:
    """A daemon that runs in this event loop. `decide` is its policy."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.decide: Decide = asks_for_writes
        self.url = ""
        self.routes: list[BaseRoute] = []
        self.gate: Gate
        self.links: Links
        self.cocoons: Cocoons
        self.pairing: Pairing
        self.passes: Passes
        self.running: asyncio.Task[None]

    @property
    def agent(self) -> str:
        return (self.home / "agent.key").read_text().strip()

    @property
    def person(self) -> str:
        return (self.home / "person.key").read_text().strip()

    @property
    def socket(self) -> Path:
        return Path(json.loads((self.home / "daemon.json").read_text())["socket"])

    def records(self) -> list[dict[str, Any]]:
        """Every line of the audit log; what agents sent may hold signs that some call line breaks too."""
        return [json.loads(line) for line in (self.home / "audit.jsonl").read_text().split("\n") if line]

    def notes(self, kind: str) -> list[dict[str, Any]]:
        return [one["told"] for one in self.records() if one.get("kind") == kind]


@contextlib.asynccontextmanager
async def daemon_here(
    home: Path, settings: Config | None = None, port: int = 0, *, linger_s: float = 0
) -> AsyncIterator[Here]:
    here = Here(home)
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", port)) as listener:
        _open_up(patch, here)
        for module, name in ((reload, "EVERY_S"), (live, "HEALTH_S")):  # what people need not see at once
            patch.setattr(module, name, 0.2)
        with instance.Claim(str(home)):
            settings = settings or Config()
            settings = replace(settings, browser=replace(settings.browser, path=settings.browser.path or ENGINE))
            run = daemon.run(settings, home, listener, defaults=Defaults(tools="all"), linger_s=linger_s)
            running = here.running = asyncio.create_task(run)
            try:
                async with asyncio.timeout(READY_S):
                    while not (home / "daemon.json").exists():
                        assert not running.done(), running.result()
                        await asyncio.sleep(0.01)
                here.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
                yield here
            finally:
                running.cancel()
                await asyncio.wait([running], timeout=5)


def _open_up(patch: pytest.MonkeyPatch, here: Here) -> None:
    build_app = daemon.build_app

    def built(*args: Any, routes: Any = (), **more: Any) -> Any:
        here.routes = list(routes)
        return build_app(*args, routes=routes, **more)

    class Seen(Gate):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            here.gate = self

    def linked() -> Links:
        here.links = Links()
        return here.links

    def cocooned(*args: Any, **more: Any) -> Cocoons:
        here.cocoons = Cocoons(*args, **more)
        return here.cocoons

    def paired(*args: Any) -> Pairing:
        here.pairing = Pairing(*args)
        return here.pairing

    def passed(*args: Any) -> Passes:
        here.passes = Passes(*args)
        return here.passes

    patch.setattr(daemon, "Pairing", paired)
    patch.setattr(daemon, "Passes", passed)
    patch.setattr(debugging, "Cocoons", cocooned)
    patch.setattr(daemon, "build_app", built)
    patch.setattr(daemon, "Links", linked)
    patch.setattr(daemon, "Gate", Seen)
    patch.setattr(daemon, "_end_soon", lambda: None)  # it would end this process

    class Told(Policy):
        def weigh(self, question: Question) -> tuple[Decision, ...]:
            said = here.decide(question)
            return (said,) if said else super().weigh(question)

    patch.setattr(daemon, "Policy", Told)


def policy_says(patch: pytest.MonkeyPatch, decide: Decide) -> None:
    """Every policy of this process says what `decide` does, asked either way; None leaves it to the real one."""
    really, weighed = Policy.decide, getattr(Policy, "weigh", None)

    def weigh(policy: Policy, question: Question) -> Any:
        if said := decide(question):
            return (said,)
        return weighed(policy, question) if weighed else (really(policy, question),)

    patch.setattr(Policy, "decide", lambda policy, question: decide(question) or really(policy, question))
    patch.setattr(Policy, "weigh", weigh, raising=False)
