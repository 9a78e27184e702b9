"""The real house without its doors: one gate, one Chromium, and agents that call tools as any client would."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self

import pilothouse.tools
from pilothouse.browser.browsers import Browsers
from pilothouse.browser.pool import Pool
from pilothouse.browser.remote import Remotes
from pilothouse.browser.sessions import Sessions
from pilothouse.browser.shared import Shared
from pilothouse.browser.terms import Terms
from pilothouse.call import Answer, Call, Caller, Defaults
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.border import Borders
from pilothouse.guard.domains import is_outside
from pilothouse.guard.policy import Policy
from pilothouse.guard.redact import redact_headers, redact_registered, redact_text
from pilothouse.guard.secrets import Secrets
from pilothouse.guard.sluice import Sluice
from pilothouse.guard.vault import Vault
from pilothouse.guard.view import View
from pilothouse.options import Browser
from pilothouse.profiles import Profiles
from pilothouse.providers.elsewhere import Elsewhere
from pilothouse.providers.launch import Launcher
from pilothouse.providers.link import Links
from pilothouse.providers.relay import Relay
from pilothouse.tool import Registry, declared


class House:
    """`view` is what every session sees of the policy at the network, if not the policy itself; `hosts` are mapped;
    `chrome` is the path of another browser than the one that is found."""

    def __init__(
        self, home: Path, view: View | None = None, hosts: Mapping[str, str] | None = None, chrome: str = ""
    ) -> None:
        self.policy = Policy()
        launcher = Launcher(Browser(path=chrome), home)
        vault = Vault(home)
        self.home = home
        self.secrets = Secrets(home, vault)
        self.sluice = Sluice(hosts or {}, set())
        self.pool = Pool(launcher.start, self.sluice.open_closed)
        self.profiles = Profiles(home)
        self.browsers = Browsers(self.profiles, launcher, self.sluice.open_closed, home / "browsers")
        self.links = Links()
        self.shared = Shared(lambda name: self.links.find(name).name, lambda name: Relay(self.links.find(name)))
        self.shared.is_open = self.links.is_open
        self.links.on_stopped(self.shared.stopped)
        self.links.on_forgotten(self.shared.forgotten)
        self.elsewhere = Elsewhere(self.secrets.written_out)
        self.remotes = Remotes(self.elsewhere.sources)
        self.approvals = Approvals()
        self.borders = Borders(
            lambda browser, mode: view or self.policy.view(browser, mode), lambda *asked: self.approvals.ask(*asked)
        )
        self.policy.on_change(self.borders.changed)
        self.approvals.follow(self.borders.heard)
        self.sessions = Sessions(
            {True: self.pool},
            home / "sessions",
            max_sessions=30,
            terms=Terms(
                max_tabs=10,
                upload_roots=(home / "uploads",),
                redact_text=redact_text,
                redact_registered=redact_registered,
                redact_headers=redact_headers,
                vault=vault,
                secrets=self.secrets,
                bars=self.policy.bars,
                is_outside=is_outside,
                forbids=self.policy.forbids,
            ),
            idle_s=600,
            browsers=self.browsers,
            shared=self.shared,
            remotes=self.remotes,
            border=self.borders.open,
        )
        for module in pkgutil.iter_modules(pilothouse.tools.__path__):
            importlib.import_module(f"pilothouse.tools.{module.name}")
        self.audit = audit = Audit(home)
        self.approvals.record_in(audit)
        self.sessions.on_closed = self.approvals.session_closed
        self.sessions.on_stopped = lambda name, ended: audit.note("agents_stopped", browser=name, sessions=ended)
        self.gate = Gate(Registry(declared()), self.sessions, self.policy, self.approvals, audit)
        self.defaults = Defaults()
        self.tidy: Callable[[], Awaitable[None]] | None = None  # what sessions of one browser leave to the next
        self._agents = 0

    def agent(self, defaults: Defaults | None = None) -> "Agent":
        self._agents += 1
        return Agent(self.gate, Caller("default", f"test-{self._agents}", "mcp", defaults or self.defaults))

    async def close(self) -> None:
        await self.gate.close()
        self.sluice.close()


class Agent:
    """Calls tools. `call` answers the data and raises `Failure`; `ask` answers everything."""

    def __init__(self, gate: Gate, caller: Caller) -> None:
        self.gate = gate
        self.caller = caller

    async def ask(self, tool: str, **args: Any) -> Answer:
        return await self.gate.call(Call(tool, args, self.caller))

    async def call(self, tool: str, **args: Any) -> dict[str, Any]:
        answer = await self.ask(tool, **args)
        if answer.failed:
            error = answer.data["error"]
            raise Failure(error["code"], error["message"], details=error["details"], suggestions=error["suggestions"])
        return answer.data

    async def text(self, tool: str, **args: Any) -> str:
        answer = await self.ask(tool, **args)
        assert not answer.failed, answer.text
        return answer.text

    async def js(self, expression: str) -> Any:
        return (await self.call("evaluate_js", expression=expression)).get("value")

    async def leave(self) -> None:
        await self.gate._sessions.close_connection(self.caller.connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()
