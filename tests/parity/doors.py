"""Three ways into one daemon: MCP over stdio, REST, the command line. Each has a session of its own."""

import json
from pathlib import Path
from typing import Any, Protocol

import httpx

from tests.command_line import CommandLine
from tests.mcp_line import LineClient
from tests.processes import PILOTHOUSE


class Door(Protocol):
    """`clean`: nothing was done through it that its next page does not make good for."""

    name: str
    clean: bool

    def call(self, tool: str, **args: Any) -> dict[str, Any]: ...


class Mcp:
    name = "mcp"
    clean = False

    def __init__(self, home: Path) -> None:
        self.client = LineClient([PILOTHOUSE, "mcp", "--tools", "all"], env={"PILOTHOUSE_HOME": str(home)})
        self.client.initialize()

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        return self.client.call(tool, **args).data

    def close(self) -> None:
        self.client.close()


class Rest:
    name = "rest"
    clean = False

    def __init__(self, url: str, home: Path, without_session: set[str]) -> None:
        key = (home / "agent.key").read_text().strip()
        self._web = httpx.Client(base_url=url, headers={"x-api-key": key}, timeout=60)
        self._without_session = without_session

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        path = f"/api/tools/{tool}" if tool in self._without_session else f"/api/browser/-/{tool}"
        answer = self._web.post(path, json=args).json()
        return answer["data"] if answer["success"] else {"error": answer["error"]}

    def close(self) -> None:
        self._web.close()


class Cli:
    name = "cli"
    clean = False

    def __init__(self, home: Path) -> None:
        self._line = CommandLine(home, "parity")

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        options = [part for name, value in args.items() for part in _option(name, value)]
        done = self._line.run(tool, *options, "--json")
        answer = json.loads(done.stdout or done.stderr)
        return answer.get("data") or {"error": answer["error"]}

    def close(self) -> None:
        pass


def _option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    return [f"{flag}={value if isinstance(value, str) else json.dumps(value)}"]
