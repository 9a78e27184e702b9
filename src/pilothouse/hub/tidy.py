"""What browsers tell loses its secrets here, before anything is kept, and bodies what is above the limit.

Above: hub. Below: words, rings, guard's redaction.
"""

from collections.abc import Callable

import msgspec

from pilothouse.guard.redact import redact_headers, redact_text, redact_tree, redact_url
from pilothouse.hub.rings import Requests
from pilothouse.hub.words import ConsoleEntry, Happened, NetworkEvent, NetworkFilters, NetworkRequest
from pilothouse.result import clean, clean_tree


def tidy_event(event: NetworkEvent, body_max: int) -> NetworkEvent:
    data = event.data
    body, cut = _cut(_text(data.body, redact_text), body_max)
    tidied = msgspec.structs.replace(
        data,
        url=_text(data.url, redact_url),
        headers=None if data.headers is None else redact_headers(clean_tree(data.headers)),
        body=body,
        body_truncated=data.body_truncated or cut,
        status_text=_text(data.status_text, redact_text),
        error=_text(data.error, redact_text),
        method=_text(data.method, redact_text),
        mime_type=_text(data.mime_type, redact_text),
    )
    return msgspec.structs.replace(event, data=tidied)


def tidy_request(one: NetworkRequest, body_max: int) -> NetworkRequest:
    """What a browser tells of a request as a whole, by the same rules as its events."""
    first = Happened(one.request_id, one.timestamp, one.method, one.url, one.request_headers, one.request_body)
    then = Happened(
        one.request_id, one.timestamp, headers=one.response_headers, status=one.status, status_text=one.status_text,
        mime_type=one.mime_type,
    )  # fmt: skip
    last = Happened(
        one.request_id, one.timestamp, body=one.response_body, duration_ms=one.duration_ms,
        body_truncated=bool(one.response_body_truncated),
    )  # fmt: skip
    ring = Requests()
    events = [
        NetworkEvent("", "request", first),
        NetworkEvent("", "response", then),
        NetworkEvent("", "finished", last),
    ]
    if one.error:
        failed = Happened(one.request_id, one.timestamp, error=one.error, duration_ms=one.duration_ms)
        events.append(NetworkEvent("", "failed", failed))
    for event in events:
        ring.take(tidy_event(event, body_max))
    return ring.chosen(NetworkFilters())[0]


def tidy_entry(entry: ConsoleEntry) -> ConsoleEntry:
    return msgspec.structs.replace(
        entry,
        message=redact_text(clean(entry.message)),
        args=redact_tree(clean_tree(entry.args)),
        source=_text(entry.source, redact_url),
        stack_trace=_text(entry.stack_trace, redact_text),
    )


def _text(text: str | None, redact: Callable[[str], str]) -> str | None:
    return None if text is None else redact(clean(text))


def _cut(body: str | None, limit: int) -> tuple[str | None, bool]:
    """By bytes, as everywhere."""
    if body is None or len(body) * 4 <= limit:
        return body, False
    raw = body.encode("utf-8", "replace")
    return (body, False) if len(raw) <= limit else (raw[:limit].decode("utf-8", "ignore"), True)
