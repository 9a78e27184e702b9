"""What the proxy says itself: a page for people, the usual envelope for programs.

Above: passing. Below: errors. Nothing in it comes from a page or a target; what came with the request is escaped.
"""

import html
import json
import time

from pilothouse.errors import Failure

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  :root {{ color-scheme: light dark }}
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 10vh auto; padding: 0 1em }}
  h1 {{ font-size: 1.3em }}
</style>
<h1>{title}</h1>
<p>{message}</p>
{steps}
<p><small>Pilothouse’s debug proxy</small></p>
</html>
"""
_TITLES = {
    400: "This request cannot be passed on",
    403: "The proxy does not go there",
    404: "There is no such app",
    421: "This is not the address of an app",
    502: "The app does not answer",
    503: "The proxy is busy",
    504: "The app takes too long",
}
_STATUS = {"navigation_failed": 502, "timeout": 504, "denied": 403, "not_found": 404, "over_limit": 503}


def status_of(failure: Failure) -> int:
    return _STATUS.get(failure.code, failure.status)


def told(failure: Failure, accept: bytes, status: int = 0) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body of an answer of our own."""
    status = status or status_of(failure)
    kind, body = (_HTML, _page(failure, status)) if b"text/html" in accept else (_JSON, _envelope(failure))
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if kind == _HTML:
        headers.append(
            (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'")
        )
    return status, headers, body


_HTML = b"text/html; charset=utf-8"
_JSON = b"application/json"


def _page(failure: Failure, status: int) -> bytes:
    steps = "".join(f"<li>{html.escape(step)}</li>" for step in failure.suggestions)
    title = _TITLES.get(status, "Something went wrong")
    message = html.escape(failure.message)
    return _PAGE.format(title=title, message=message, steps=f"<ul>{steps}</ul>" if steps else "").encode()


def _envelope(failure: Failure) -> bytes:
    metadata = {"timestamp": int(time.time() * 1000)}
    return json.dumps({"success": False, "error": failure.to_dict(**metadata), "metadata": metadata}).encode()
