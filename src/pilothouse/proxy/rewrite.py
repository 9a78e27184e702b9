"""Headers on their way: what is between two ends only stays behind, the target sees itself asked, and a page that a
person opened gets its debug token.

Above: passing, tunnel. Below: cocoons (what holds for each), guard's token.
"""

from typing import NamedTuple

from pilothouse.cocoons import Place
from pilothouse.guard import token
from pilothouse.guard.token import Signer
from pilothouse.proxy.line import Headers

_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te",
    b"trailer", b"transfer-encoding", b"upgrade",
})  # fmt: skip
_TOKEN = token.HEADER.encode()
_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-prefix", b"forwarded")
_NOT_SENT = frozenset({*_HOP, *_FORWARDED, _TOKEN, b"host", b"expect"})
# `alt-svc` would lead the browser around us.
_NOT_RETURNED = frozenset({*_HOP, _TOKEN, b"alt-svc"})
_CONDITIONAL = frozenset({b"if-none-match", b"if-modified-since"})
_CACHING = frozenset({b"cache-control", b"expires", b"pragma", b"etag", b"last-modified"})


class Visit(NamedTuple):
    """One request: the cocoon it is for, and how the browser sees it."""

    place: Place
    method: str
    path: bytes  # as the browser spells it, without the query
    inner: bytes  # as the target gets it, with the query
    prefix: bytes  # what of the path is ours
    origin: bytes
    client: bytes
    trusts_forwarded: bool
    headers: Headers

    def header(self, name: bytes) -> bytes:
        return next((value for one, value in self.headers if one == name), b"")


def request_head(visit: Visit, *, chunked: bool = False, upgrade: bool = False) -> bytes:
    """The head of the request as the target gets it."""
    dropped = _NOT_SENT | _named(visit.header(b"connection"))
    if wants_token(visit):  # a copy that the browser kept has no token
        dropped |= _CONDITIONAL
    target = visit.place.target.encode()
    lines = [visit.method.encode() + b" " + visit.inner + b" HTTP/1.1", b"host: " + target.partition(b"://")[2]]
    for name, value in visit.headers:
        if name not in dropped:
            value = _towards(visit, value, target) if name in (b"origin", b"referer") else value
            lines.append(name + b": " + value)
    lines += _forwarded(visit)
    if chunked:
        lines.append(b"transfer-encoding: chunked")
    if upgrade:
        lines += [b"connection: Upgrade", b"upgrade: " + visit.header(b"upgrade")]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def response_headers(visit: Visit, headers: Headers) -> Headers:
    """Without what is between the target and us, and with its own addresses as the browser knows them."""
    connection = b",".join(value for name, value in headers if name == b"connection")
    dropped = _NOT_RETURNED | _named(connection)
    return [
        (name, _back(visit, value) if name in (b"location", b"content-location") else value)
        for name, value in headers
        if name not in dropped
    ]


def wants_token(visit: Visit) -> bool:
    """Whether the browser opens a page in a tab, which is no page's doing: script cannot set these headers."""
    return (
        visit.place.enabled
        and visit.header(b"sec-fetch-mode") == b"navigate"
        and visit.header(b"sec-fetch-dest") == b"document"
        and not visit.header(b"sec-purpose")
        and not _excluded(visit)
    )


def with_token(visit: Visit, status: int, headers: Headers, signer: Signer) -> Headers:
    """The headers of a page with its token, which no cache may keep; those of anything else as they are."""
    kind = _value(headers, b"content-type").partition(b";")[0].strip().lower().decode("latin-1")
    is_page = status not in (204, 205, 304) and not 300 <= status < 400 and kind in visit.place.content_types
    is_file = _value(headers, b"content-disposition").strip().lower().startswith(b"attachment")
    if not wants_token(visit) or not is_page or is_file:
        return headers
    minted = signer.mint(visit.place.id, visit.path.decode("ascii", "replace"))
    if minted is None:
        return headers
    kept = [
        one for one in headers if one[0] not in (b"cache-control", b"expires", b"pragma", b"etag", b"last-modified")
    ]
    return [*kept, (b"cache-control", b"no-store"), (_TOKEN, minted.encode())]


def _excluded(visit: Visit) -> bool:
    path = visit.path.removeprefix(visit.prefix).decode("latin-1")
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in visit.place.exclude_paths)


def _towards(visit: Visit, value: bytes, target: bytes) -> bytes:
    """Our own origin is the target's to the target; any other stays what it is, for the target to judge."""
    if value == visit.origin or value.startswith(visit.origin + b"/"):
        return target + value[len(visit.origin) :].removeprefix(visit.prefix)
    return value


def _back(visit: Visit, value: bytes) -> bytes:
    target = visit.place.target.encode()
    if value == target or value.startswith((target + b"/", target + b"?", target + b"#")):
        return visit.origin + visit.prefix + value[len(target) :]
    if visit.prefix and value.startswith(b"/") and not value.startswith(b"//"):
        return visit.prefix + value
    return value


def _forwarded(visit: Visit) -> list[bytes]:
    scheme, _, host = visit.origin.partition(b"://")
    before = visit.header(b"x-forwarded-for") if visit.trusts_forwarded else b""
    chain = before + b", " + visit.client if before else visit.client
    lines = [b"x-forwarded-for: " + chain, b"x-forwarded-proto: " + scheme, b"x-forwarded-host: " + host]
    return [*lines, b"x-forwarded-prefix: " + visit.prefix] if visit.prefix else lines


def _named(connection: bytes) -> frozenset[bytes]:
    """The headers that a Connection header takes along."""
    return frozenset(one.strip().lower() for one in connection.split(b",") if one.strip())


def _value(headers: Headers, name: bytes) -> bytes:
    return next((value for one, value in headers if one == name), b"")
