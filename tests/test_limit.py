"""What hangs ends, and tells where; the tests after it are run all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises import promise

pytestmark = promise("C04")

ROOT = Path(__file__).parent.parent
CONFTEST = """
import asyncio
from tests import limit

pytest_configure, pytest_runtest_protocol = limit.pytest_configure, limit.pytest_runtest_protocol


def pytest_asyncio_loop_factories():
    return {"asyncio": limit.remembered(asyncio.new_event_loop)}
"""
TESTS = """
import asyncio, threading, pytest

@pytest.fixture
async def stuck():
    await asyncio.Event().wait()
    yield

@pytest.mark.limit(1)
async def test_waits_for_a_fixture(stuck): ...

@pytest.mark.limit(1)
async def test_waits_itself():
    await asyncio.Event().wait()

@pytest.mark.limit(1)
def test_waits_for_a_thread():
    threading.Event().wait()

async def test_after(): ...
"""


def run(folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nmarkers = limit(seconds): its time\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-p", "no:cacheprovider", *more, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("how", [[], ["-n", "1", "--dist", "loadfile"]], ids=["alone", "by a worker"])
def test_what_hangs_fails_and_the_rest_goes_on(tmp_path: Path, how: list[str]):
    done = run(tmp_path, *how)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "1 error" in done.stdout
    assert "test_some.py::test_waits_for_a_fixture took longer than 1 s" in done.stderr
    assert "line 14, in test_waits_itself" in done.stderr  # the task's own stack
    assert "line 18 in test_waits_for_a_thread" in done.stderr
