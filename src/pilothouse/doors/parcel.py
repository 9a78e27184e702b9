"""Answers as bodies: the JSON envelope of every REST answer, or its picture or file as plain bytes when asked for.

Above: rest. Below: gate, whose answers they are; the file system.
"""

import asyncio
import base64
import math
import mimetypes
import os
import stat
import time
from collections.abc import AsyncIterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pilothouse.call import Answer
from pilothouse.doors import wire
from pilothouse.errors import Failure

Wire = dict[str, Any]

JSON = "application/json"
EVENTS = "text/event-stream"
BYTES = "application/octet-stream"
CHUNK = 256 * 1024
PLAIN = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_ANY_JSON = ("*/*", "application/*", JSON)
# A link may lead anywhere, and opening a named pipe would wait for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Refused(Exception):
    """A failure with a status of HTTP's own."""

    def __init__(self, status: int, failure: Failure, headers: dict[str, str] | None = None) -> None:
        super().__init__(failure.message)
        self.status, self.failure, self.headers = status, failure, headers or {}


def wanted(accept: str) -> list[str]:
    """What the client takes, best first. Who takes nothing that we have is told before anything is done."""
    ranked: list[tuple[float, str]] = []
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        ranked.append((_quality(parameters), kind))
    kinds = [kind for quality, kind in sorted(ranked, key=lambda one: -one[0]) if quality > 0 and kind]
    if not kinds:
        return [JSON]
    known = [JSON if kind in _ANY_JSON else kind for kind in kinds if _is_known(kind)]
    if not known:
        raise Refused(406, Failure("bad_request", "there is no answer of that kind", suggestions=[_KINDS]))
    return known


_KINDS = f"accept {JSON}, {EVENTS}, image/*, application/pdf or {BYTES}"


def _is_known(kind: str) -> bool:
    return kind in (*_ANY_JSON, EVENTS, BYTES, "application/pdf") or kind.startswith("image/")


def _quality(parameters: list[str]) -> float:
    given = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
    try:
        return float(given)
    except ValueError:
        return 1.0


def envelope(answer: Answer, duration_ms: float) -> Wire:
    metadata: Wire = {"tool": answer.tool[:80], "duration_ms": round(duration_ms, 1), "timestamp": _now_ms()}
    if answer.session:
        metadata["session"] = answer.session
    if answer.text:
        metadata["text"] = answer.text
    if answer.failed:
        news = {name: value for name, value in answer.data.items() if name != "error"}
        told: Wire = {"success": False, "error": answer.data["error"], "metadata": {**metadata, **news}}
    else:
        told = {"success": True, "data": answer.data, "metadata": metadata}
    if answer.images:
        told["images"] = [
            {"mime_type": image.mime_type, "data": base64.b64encode(image.data).decode()} for image in answer.images
        ]
    return told


def _now_ms() -> int:
    return int(time.time() * 1000)


def as_json(body: Wire, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(wire.encode(body), status, {**PLAIN, **(headers or {})}, JSON)


def refusal(problem: Refused | Failure) -> Response:
    refused = problem if isinstance(problem, Refused) else Refused(problem.status, problem)
    metadata: Wire = {"timestamp": _now_ms()}
    body: Wire = {"success": False, "error": refused.failure.to_dict(**metadata), "metadata": metadata}
    return as_json(body, refused.status, refused.headers | _when(body["error"]))


def _when(error: Wire) -> dict[str, str]:
    """A limit that knows when it ends tells it where HTTP clients look."""
    seconds = error["details"].get("retry_after_s")
    return {"retry-after": str(math.ceil(seconds))} if isinstance(seconds, int | float) else {}


def as_event(name: str, body: Wire) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + wire.encode(body) + b"\n\n"


class Found(NamedTuple):
    file: FileIO
    size: int
    name: str


class _FileResponse(StreamingResponse):
    """Closes its file however it ends, also when it never began."""

    def __init__(self, found: Found, headers: dict[str, str], kind: str) -> None:
        super().__init__(_chunks(found), 200, headers, kind)
        self._file = found.file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def packed(answer: Answer, kinds: list[str], folder: Path | None, duration_ms: float) -> Response:
    """The answer in the best kind that the client takes and the answer has."""
    if answer.failed:
        return as_json(envelope(answer, duration_ms), answer.status, _when(answer.data["error"]))
    for kind in kinds:
        if kind in (JSON, EVENTS):
            return as_json(envelope(answer, duration_ms), answer.status)
        response = _picture(answer, kind) if kind.startswith("image/") else _file(answer, kind, folder)
        if response is not None:
            return response
    return as_json(_unlike(answer, kinds, duration_ms), 406)


def _unlike(answer: Answer, kinds: list[str], duration_ms: float) -> Wire:
    """The tool ran, and what it answered must not be lost: a repeated call would do it twice."""
    told = envelope(answer, duration_ms)
    failure = Failure(
        "bad_request",
        f"{answer.tool[:80]} was called, but its answer has no {' or '.join(kinds)[:200]}",
        details={"data": answer.data},
        suggestions=[f"accept {JSON} to read it"],
    )
    return {"success": False, "error": failure.to_dict(), "metadata": told["metadata"]}


def _picture(answer: Answer, kind: str) -> Response | None:
    for image in answer.images:
        if kind in ("image/*", image.mime_type):
            return Response(image.data, 200, PLAIN, image.mime_type)
    return None


def _file(answer: Answer, kind: str, folder: Path | None) -> Response | None:
    path = answer.data.get("path")
    if folder is None or not isinstance(path, str) or not path:
        return None
    if kind not in (BYTES, mimetypes.guess_type(path)[0]):
        return None
    found = open_file(folder, path)
    headers = {
        **PLAIN,
        "content-length": str(found.size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='', errors='replace')}",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return _FileResponse(found, headers, kind)


def open_file(folder: Path, path: str) -> Found:
    """A plain file that really lies in the session's folder."""
    try:
        real, within = Path(path).parent.resolve() / Path(path).name, folder.resolve()
        if not real.is_relative_to(within) or real.name in ("", ".."):
            raise Failure("denied", "the file is not in the session's own folder")
        handle = os.open(real, _FLAGS)
    except (OSError, ValueError, RuntimeError):
        raise Failure("not_found", "the file is gone") from None
    kept = os.fstat(handle)
    if not stat.S_ISREG(kept.st_mode):
        os.close(handle)
        raise Failure("denied", "the file is no plain file")
    return Found(FileIO(handle), kept.st_size, real.name)


async def _chunks(found: Found) -> AsyncIterator[bytes]:
    """Exactly as many bytes as were announced, whatever is appended meanwhile."""
    left = found.size
    while left and (chunk := await asyncio.to_thread(found.file.read, min(CHUNK, left))):
        left -= len(chunk)
        yield chunk
