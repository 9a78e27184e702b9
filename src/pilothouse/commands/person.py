"""What a person asks the running daemon with their own key, over its loopback port.

Above: commands for people (policy, approvals). Below: instance (where the daemon is), home. No agent's key works here.
"""

import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit

from pilothouse import instance
from pilothouse.errors import CODES, Failure
from pilothouse.home import directory

TIMEOUT_S = 10.0
MAX_BYTES = 16 * 1024 * 1024


def daemon() -> dict[str, Any] | None:
    """Where the daemon of this home is; None when none runs."""
    return instance.published(directory())


def ask(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The data of the daemon's answer; what it refuses is a `Failure`, as is a daemon that does not answer."""
    info = daemon()
    if info is None:
        raise Failure("system", "no daemon is running", suggestions=["pilothouse serve"])
    sent = None if body is None else json.dumps(body).encode()
    try:
        status, raw = _exchange(str(info["url"]), method, path, sent)
        answer = json.loads(raw)
    except (OSError, http.client.HTTPException, ValueError) as error:
        hint = "pilothouse doctor finds out what is wrong"
        raise Failure("system", f"the daemon does not answer: {error}", suggestions=[hint]) from None
    if status < 400 and answer.get("success"):
        return answer["data"]
    raise _failure(answer.get("error") or {})


def _exchange(url: str, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    place = urlsplit(url)
    headers = {"authorization": f"Bearer {_key()}", "content-type": "application/json"}
    link = http.client.HTTPConnection(place.hostname or "127.0.0.1", place.port, timeout=TIMEOUT_S)
    try:
        link.request(method, path, body if body is not None or method == "GET" else b"{}", headers)
        response = link.getresponse()
        return response.status, response.read(MAX_BYTES)
    finally:
        link.close()


def _key() -> str:
    with open(os.path.join(directory(), "person.key"), encoding="utf-8") as file:
        return file.read().strip()


def _failure(error: dict[str, Any]) -> Failure:
    code = error.get("code")
    return Failure(
        code if code in CODES else "system",
        str(error.get("message", "the daemon refused")),
        details=error.get("details"),
        suggestions=error.get("suggestions"),
    )
