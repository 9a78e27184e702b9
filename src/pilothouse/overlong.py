"""A message that is too long to be kept: enough of both its ends to answer whoever waits for an answer.

Above: bridge, and the local door with wire. Below: the standard library only, and nothing of it before it is needed:
the bridge is judged by how soon it starts.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Id = str | int

MAX_BYTES = 4 * 1024 * 1024
KEPT_BYTES = 1024  # of each end
HINT = "send less at once, and files by their paths (`paths` of upload_file)"

_INVALID_REQUEST = -32600
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*'
_WORD = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*'
_ID_FIRST = rb"\{\s*(?:" + _WORD + rb",\s*)*" + _ID + rb"[,}]"
_ID_LAST = rb"[,{]\s*" + _ID + rb"(?:,\s*" + _WORD + rb")*\}\s*$"
_ANSWER_FIRST = rb"\{\s*(?:(?:" + _WORD + rb"|" + _ID + rb'),\s*)*"(?:result|error)"\s*:'
_NOTICE = rb'"method"\s*:\s*"notifications/[^"\\]{0,200}"\s*'
_NOTICE_FIRST = rb"\{\s*(?:" + _WORD + rb",\s*)*" + _NOTICE + rb"[,}]"
_NOTICE_LAST = rb"[,{]\s*" + _NOTICE + rb"(?:,\s*" + _WORD + rb")*\}\s*$"


class Ends:
    """Grows with its message, and stays small."""

    def __init__(self) -> None:
        self.head = b""
        self.tail = b""

    def add(self, part: bytes | bytearray) -> None:
        self.head += part[: KEPT_BYTES - len(self.head)]
        self.tail = bytes(self.tail + part[-KEPT_BYTES:])[-KEPT_BYTES:]

    def refusal(self) -> dict[str, Any] | None:
        """The answer that its sender is owed. Notifications are never answered, nor are answers: their ids are ours."""
        import re

        if re.match(_ANSWER_FIRST, self.head.lstrip()):
            return None
        ident = guess_id(self.head, self.tail)
        if ident is None and _find(_NOTICE_FIRST, _NOTICE_LAST, self.head, self.tail):
            return None
        told = f"the message is larger than {MAX_BYTES} bytes: {HINT}"
        return {"jsonrpc": "2.0", "id": ident, "error": {"code": _INVALID_REQUEST, "message": told}}


def guess_id(head: bytes, tail: bytes) -> Id | None:
    """The id of a message too deep or too long to decode: clients write it near one of the two ends."""
    import json

    try:
        return json.loads(_find(_ID_FIRST, _ID_LAST, head, tail))
    except ValueError:  # none was found, or it is no JSON
        return None


def _find(first: bytes, last: bytes, head: bytes, tail: bytes) -> bytes:
    """What a pattern's last group, or all of it, matched at one of the ends; empty if neither."""
    import re

    match = re.match(first, head[:KEPT_BYTES].lstrip()) or re.search(last, tail[-KEPT_BYTES:])
    return match[match.re.groups] if match else b""
