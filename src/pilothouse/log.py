"""The daemon's own log: on stderr, which a detached daemon has in `daemon.log`, and in a file if one is named.

Above: the daemon sets it up, everyone writes through `logging`. Below: config, instance, redact. What agents do stands
in the audit log instead.
"""

import json
import logging
import logging.handlers
import os
import sys
import time
from pathlib import Path

from pilothouse.errors import Failure
from pilothouse.guard.redact import for_log
from pilothouse.instance import trim_log
from pilothouse.options import Log

FILES_KEPT = 3
SPARING_S = 60.0


def set_up(settings: Log, *, file: str = "", max_bytes: int = 0) -> None:
    """`file` is where stderr goes already, if it is ours to keep small."""
    handlers: list[logging.Handler] = [_Bounded(file, max_bytes) if file else logging.StreamHandler(sys.stderr)]
    if settings.file:
        handlers.append(_rotating(settings))
    for handler in handlers:
        handler.setFormatter(_Json() if settings.format == "json" else _Text())
    logging.basicConfig(level=settings.level.upper(), handlers=handlers, force=True)
    for chatty in ("mcp", "httpx", "httpcore", "uvicorn", "websockets", "asyncio"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.root.level))
    logging.getLogger("uvicorn.error").addFilter(_is_http)


class Sparing:
    """A warning that strangers can cause: once a minute, with how often it would have been said."""

    def __init__(self, logger: logging.Logger, words: str) -> None:
        self._logger = logger
        self._words = words
        self._next = 0.0
        self._silent = 0

    def __call__(self) -> None:
        if (now := time.monotonic()) < self._next:
            self._silent += 1
            return
        self._logger.warning("%s%s", self._words, f" ({self._silent} more before)" if self._silent else "")
        self._next, self._silent = now + SPARING_S, 0


_not_http = Sparing(
    logging.getLogger("pilothouse.http"),
    "what came is not HTTP: was TLS spoken to a plain port (https:// or wss:// where it is http:// or ws://)?",
)


def _is_http(record: logging.LogRecord) -> bool:
    """uvicorn says so each time, and not why: a browser that has the wrong scheme tries again for ever."""
    if record.msg == "Invalid HTTP request received.":
        _not_http()
        return False
    return True


def _rotating(settings: Log) -> logging.Handler:
    path = Path(settings.file).expanduser()
    try:
        path.touch(mode=0o600)
        return logging.handlers.RotatingFileHandler(
            path, maxBytes=settings.file_max_bytes, backupCount=FILES_KEPT, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        raise Failure("bad_request", f"log.file = {settings.file!r} cannot be written: {error.strerror}") from None


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "from": record.name.removeprefix("pilothouse."),
            "message": for_log(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = for_log(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class _Text(logging.Formatter):
    """For people. A message is one line, whatever is in it; only the trace of an error has more."""

    def format(self, record: logging.LogRecord) -> str:
        said = " ".join(for_log(record.getMessage()).split())
        line = f"{_time(record)} {record.levelname:<7} {record.name.removeprefix('pilothouse.')}: {said}"
        return f"{line}\n{for_log(self.formatException(record.exc_info))}" if record.exc_info else line


def _time(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.msecs:03.0f}Z"


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
