"""The daemon's own log: one JSON object a line on stderr, which a detached daemon has in `daemon.log`.

Above: the daemon sets it up, everyone writes through `logging`. Below: instance, redact. What agents do stands in the
audit log instead.
"""

import json
import logging
import os
import sys
import time

from pilothouse.guard.redact import redact_text
from pilothouse.instance import trim_log


def set_up(level: str, *, file: str = "", max_bytes: int = 0) -> None:
    """`file` is where stderr goes already, if it is ours to keep small."""
    handler = _Bounded(file, max_bytes) if file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("mcp", "httpx", "httpcore", "uvicorn", "websockets", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.root.level))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{stamp}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "from": record.name.removeprefix("pilothouse."),
            "message": redact_text(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = redact_text(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class _Bounded(logging.Handler):
    """Writes to stderr, and moves it to a new file when the old one is full: what others print there moves along."""

    def __init__(self, path: str, max_bytes: int) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes

    def emit(self, record: logging.LogRecord) -> None:
        os.write(2, self.format(record).encode("utf-8", "replace") + b"\n")
        if os.fstat(2).st_size > self._max_bytes:
            trim_log(self._path, self._max_bytes)
            fresh = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(fresh, 2)
            os.close(fresh)
