"""What browsers tell loses its secrets here, before anything is kept, and bodies what is above the limit.

Above: hub, a far hub. Below: words, guard's redaction.
"""

from collections.abc import Callable

import msgspec

from pilothouse.guard.redact import redact_headers, redact_text, redact_tree, redact_url
from pilothouse.hub.words import ConsoleEntry, NetworkEvent, NetworkRequest, TabInfo
from pilothouse.result import clean, clean_tree


def tidy_event(event: NetworkEvent, body_max: int) -> NetworkEvent:
    data = event.data
    body, cut = _cut(_text(data.body, redact_text), body_max)
    tidied = msgspec.structs.replace(
        data,
        url=_text(data.url, redact_url),
        headers=_fields(data.headers),
        body=body,
        body_truncated=data.body_truncated or cut,
        status_text=_text(data.status_text, redact_text),
        error=_text(data.error, redact_text),
        method=_text(data.method, redact_text),
        mime_type=_text(data.mime_type, redact_text),
    )
    return msgspec.structs.replace(event, data=tidied)


def tidy_request(one: NetworkRequest, body_max: int) -> NetworkRequest:
    """A request as a whole, by the same rules as its events."""
    sent, _ = _cut(_text(one.request_body, redact_text), body_max)
    body, cut = _cut(_text(one.response_body, redact_text), body_max)
    return msgspec.structs.replace(
        one,
        method=redact_text(clean(one.method)),
        url=redact_url(clean(one.url)),
        request_headers=_fields(one.request_headers),
        request_body=sent,
        status_text=_text(one.status_text, redact_text),
        response_headers=_fields(one.response_headers),
        response_body=body,
        response_body_truncated=one.response_body_truncated or cut or None,
        mime_type=_text(one.mime_type, redact_text),
        error=_text(one.error, redact_text),
    )


def tidy_entry(entry: ConsoleEntry) -> ConsoleEntry:
    return msgspec.structs.replace(
        entry,
        message=redact_text(clean(entry.message)),
        args=redact_tree(clean_tree(entry.args)),
        source=_text(entry.source, redact_url),
        stack_trace=_text(entry.stack_trace, redact_text),
    )


def tidy_tab(tab: TabInfo) -> TabInfo:
    return msgspec.structs.replace(tab, url=redact_url(clean(tab.url)), title=redact_text(clean(tab.title)))


def _fields(headers: dict[str, str] | None) -> dict[str, str] | None:
    return None if headers is None else redact_headers(clean_tree(headers))


def _text(text: str | None, redact: Callable[[str], str]) -> str | None:
    return None if text is None else redact(clean(text))


def _cut(body: str | None, limit: int) -> tuple[str | None, bool]:
    """By bytes, as everywhere."""
    if body is None or len(body) * 4 <= limit:
        return body, False
    raw = body.encode("utf-8", "replace")
    return (body, False) if len(raw) <= limit else (raw[:limit].decode("utf-8", "ignore"), True)
