"""A Chromium that somebody else started, with a debugging port, and a house whose agents work in it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from pilothouse.call import Defaults
from pilothouse.guard.rules import read_rules
from pilothouse.options import Endpoint, Grid
from pilothouse.providers.find import find_chrome
from tests.house import House
from tests.own_chrome import UNSEEN
from tests.processes import ENGINE
from tests.remote.hub import grid

SANDBOX = 'template = "sandbox"'
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0"]
FLAGS += [f"--disable-features={','.join(UNSEEN)}", "--site-per-process"]  # the engine alone must be told


class Afar:
    """`url` is where it tells its socket, `socket` that socket."""

    def __init__(self, browser: "subprocess.Popen[bytes]", port: int, path: str) -> None:
        self.browser = browser
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.socket = f"ws://127.0.0.1:{port}{path}"

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.browser.pid, signal.SIGKILL)
        self.browser.wait(10)


@contextlib.contextmanager
def chromium(data: Path, *flags: str, whole: bool = False) -> Iterator[Afar]:
    """Its engine alone, unless `whole`: many who lend browsers have no more of it either."""
    data.mkdir(parents=True, exist_ok=True)
    command = [(not whole and ENGINE) or find_chrome(""), *FLAGS, *flags, f"--user-data-dir={data}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    afar = None
    try:
        afar = Afar(browser, *_address(data / "DevToolsActivePort"))
        yield afar
    finally:
        (afar or Afar(browser, 0, "")).kill()


def _address(file: Path) -> tuple[int, str]:
    """Chrome writes its port into a file and tells nobody."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        lines = file.read_text().split("\n") if file.exists() else []
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        time.sleep(0.05)
    raise TimeoutError("Chromium did not open its port")


def furnished(home: Path, *endpoints: Endpoint, grid: Grid | None = None) -> House:
    house = House(home)
    house.elsewhere.configure(endpoints, grid or Grid())
    house.policy.replace(read_rules(SANDBOX))
    house.defaults = Defaults(browser="remote", profile=endpoints[0].name if endpoints else "grid")
    return house


@contextlib.asynccontextmanager
async def on_endpoint(home: Path) -> AsyncIterator[House]:
    with chromium(home / "far", whole=True) as afar:
        house = furnished(home, Endpoint("lab", afar.url))
        yield house
        await house.close()


@contextlib.asynccontextmanager
async def on_grid(home: Path) -> AsyncIterator[House]:
    """All sessions share one browser of a Grid: one for each would take some seconds a test."""
    with grid(home, nodes=2, slots=1) as hub:
        house = furnished(home, grid=hub.config(share=True))
        yield house
        await house.close()
