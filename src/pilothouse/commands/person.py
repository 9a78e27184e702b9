"""The person's own line to the daemon: HTTP with the key that no agent has.

Above: commands by which people answer, look and decide. Below: instance (where the daemon is), home. Text that came
from pages and agents is printed as data: nothing in it can move a cursor or hide a word.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

from pilothouse import instance
from pilothouse.commands import show
from pilothouse.errors import Failure
from pilothouse.home import directory

TIMEOUT_S = 10.0
MAX_BYTES = 64 * 1024 * 1024

Entry = dict[str, Any]


class NotThere(Exception):
    """No daemon runs, so that there is nothing to see or to answer."""


def complain(failure: Failure, *, as_json: bool) -> int:
    """A mistake of whoever typed, told as every other; the answer is the exit code."""
    error = failure.to_dict()
    code = show.exit_code({"failed": True, "data": {"error": error}})
    if not as_json:
        return show.complain(failure.message, failure.suggestions, code)
    sys.stdout.write(json.dumps({"success": False, "error": error}) + "\n")
    return code


def key(home: str) -> str:
    try:
        with open(os.path.join(home, "person.key"), encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotThere(f"the person's key cannot be read: {error}") from None


def address() -> tuple[str, str]:
    """Where the daemon listens, and the key for it."""
    home = directory()
    info = instance.published(home)
    if info is None:
        raise NotThere("no daemon is running: nothing waits for an answer")
    return str(info["url"]), key(home)


def ask(method: str, path: str, body: Entry | None = None) -> Entry:
    """The data of the answer; `Failure` as the daemon tells it."""
    url, secret = address()
    place = urlsplit(url)
    line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    try:
        line.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        told: Entry = json.loads(line.getresponse().read(MAX_BYTES))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NotThere(f"the daemon does not answer: {error}") from None
    finally:
        line.close()
    if told.get("success"):
        return told["data"]
    error = told["error"]
    raise Failure(error["code"], error["message"], details=error["details"], suggestions=error["suggestions"])


def plain(text: Any) -> str:
    """Text of others on a terminal: what cannot be seen is spelled out."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text))
