"""A Chromium that somebody else started, with a debugging port: what the WebSocket transport is for."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.providers.find import find_chrome


class Remote:
    """Its address and its own description of the protocol."""

    def __init__(self, port: int, path: str) -> None:
        self.url = f"ws://127.0.0.1:{port}{path}"
        self._port = port

    def protocol(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/json/protocol", timeout=10) as reply:
            return json.load(reply)


@pytest.fixture(scope="session")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    data = tmp_path_factory.mktemp("remote")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
    command = [find_chrome(""), *flags, f"--user-data-dir={data}", "about:blank"]
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield Remote(*_address(data / "DevToolsActivePort"))
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait(10)


def _address(file: Path) -> tuple[int, str]:
    """Chrome writes its port into a file and tells nobody."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        lines = file.read_text().split("\n") if file.exists() else []
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        time.sleep(0.05)
    raise TimeoutError("Chromium did not open its port")
