"""The daemon's log: its shape and its bounds."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse import log
from pilothouse.errors import Failure
from pilothouse.log import set_up
from pilothouse.options import Log
from tests.promises import promise

pytestmark = promise("E10")

CODE = """
import logging, sys
from pilothouse import log
from pilothouse.options import Log
log.set_up(Log(), file=sys.argv[1], max_bytes=2000)
for number in range(100):
    logging.getLogger("pilothouse.test").info("line %d", number)
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("pilothouse.test").exception("oh, Authorization: Bearer 0123456789abcdef0123")
sys.stderr.write("plain\\n")
"""

FILE = """
import logging, sys
from pilothouse import log
from pilothouse.options import Log
log.set_up(Log(format="text", level="debug", file=sys.argv[1], file_max_bytes=10_000))
for number in range(1000):
    logging.getLogger("pilothouse.test").debug("line %d of\\nAuthorization: Bearer 0123456789abcdef0123", number)
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("pilothouse.test").exception("oh")
"""


def test_a_log_file_begins_anew_when_it_is_full(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    told = subprocess.run([sys.executable, "-c", FILE, str(path)], capture_output=True, check=True).stderr.decode()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["own.log", "own.log.1", "own.log.2", "own.log.3"]
    assert all(one.stat().st_size <= 10_000 for one in tmp_path.iterdir())
    assert told.endswith(path.read_text()[-200:])
    assert "0123456789abcdef" not in told
    assert "DEBUG   test: line 999 of Authorization:" in path.read_text()
    assert "ZeroDivisionError" in path.read_text()


@pytest.mark.parametrize("name", ["", "nowhere/own.log"])
def test_a_log_file_that_cannot_be_written_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(Failure, match=r"log\.file = .* cannot be written"):
        set_up(Log(file=str(tmp_path / name)))


def test_a_detached_daemons_log_stays_small_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    with path.open("ab") as errors:
        subprocess.run([sys.executable, "-c", CODE, str(path)], stderr=errors, check=True)
    assert path.stat().st_size < 3000
    assert (tmp_path / "daemon.log.1").stat().st_size < 3000
    *lines, last = path.read_text().splitlines()
    assert last == "plain"
    oh = json.loads(lines[-1])
    assert (oh["from"], oh["level"]) == ("test", "error")
    assert "0123456789abcdef" not in oh["message"]
    assert "ZeroDivisionError" in oh["error"]


def test_what_strangers_cause_is_said_once_a_minute(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    now = 1000.0
    monkeypatch.setattr(log.time, "monotonic", lambda: now)
    warn = log.Sparing(logging.getLogger("test"), "refused")
    for _ in range(3):
        warn()
    now += log.SPARING_S
    warn()
    assert caplog.messages == ["refused", "refused (2 more before)"]
