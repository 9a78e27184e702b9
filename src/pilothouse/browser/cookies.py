"""The cookies of one context: read, set, deleted, of that context only.

Above: tools, state. Below: browser, cdp. All goes through the browser itself, not through a page, so it works for
sites that are not open.
"""

from typing import Any
from urllib.parse import urlsplit

from pilothouse.browser.browser import Context
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

TIMEOUT_S = 10.0
_PAST = 1.0  # a cookie that ended in 1970 is no more
# Of what the browser tells, what it also takes. A domain without a dot before it is that host alone.
_SETTABLE = (
    "name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "expires", "priority", "sourceScheme",
    "sourcePort", "partitionKey",
)  # fmt: skip

Cookie = dict[str, Any]


async def read(context: Context) -> list[Cookie]:
    """Every cookie of the context, as the browser tells it."""
    reply = await context.browser.root.send("Storage.getCookies", browserContextId=context.id, timeout=TIMEOUT_S)
    return reply["cookies"]


async def write(context: Context, cookies: list[Cookie]) -> None:
    try:
        await context.browser.root.send(
            "Storage.setCookies", cookies=cookies, browserContextId=context.id, timeout=TIMEOUT_S
        )
    except ProtocolError as error:
        raise Failure(
            "bad_request",
            f"the browser refuses the cookie: {error.reason}",
            suggestions=[
                "give url or domain; name and value together stay below 4096 bytes",
                "SameSite=None and __Secure- names need secure; __Host- names also path / and no domain",
            ],
        ) from None


async def delete(context: Context, cookies: list[Cookie]) -> None:
    if cookies:
        await write(context, [{**settable(one), "expires": _PAST} for one in cookies])


def settable(cookie: Cookie) -> Cookie:
    """What brings a cookie back as it was; one that ends with the session has no end of its own."""
    kept = {name: cookie[name] for name in _SETTABLE if name in cookie}
    if cookie.get("session"):
        kept.pop("expires", None)
    return kept


def goes_to(cookie: Cookie, url: str) -> bool:
    """Whether the browser would send it there."""
    try:
        parts = urlsplit(url)
        host, path = (parts.hostname or "").lower(), parts.path or "/"
    except ValueError:
        raise Failure("bad_request", f"{url[:200]!r} is no address") from None
    if not host:
        raise Failure("bad_request", f"{url[:200]!r} is no address", suggestions=["like https://example.com/"])
    safe = parts.scheme in ("https", "wss") or host in ("localhost", "127.0.0.1", "::1")
    return belongs_to(cookie, host) and _covers(cookie.get("path", "/"), path) and (safe or not cookie.get("secure"))


def belongs_to(cookie: Cookie, host: str) -> bool:
    domain = cookie["domain"].lower()
    return host == domain.lstrip(".") or (domain.startswith(".") and host.endswith(domain))


def _covers(cookie_path: str, path: str) -> bool:
    return path == cookie_path or path.startswith(cookie_path if cookie_path.endswith("/") else f"{cookie_path}/")
