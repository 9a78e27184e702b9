"""The daemon's log: its shape and its bounds."""

import json
import subprocess
import sys
from pathlib import Path

from tests.promises import promise

pytestmark = promise("E10")

CODE = """
import logging, sys
from pilothouse import log
log.set_up("info", file=sys.argv[1], max_bytes=2000)
for number in range(100):
    logging.getLogger("pilothouse.test").info("line %d", number)
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("pilothouse.test").exception("oh, Authorization: Bearer 0123456789abcdef0123")
sys.stderr.write("plain\\n")
"""


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
