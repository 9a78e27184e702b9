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
# These say where a request begins and ends: no Connection header takes them along.
_FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding"})
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

    def has(self, name: bytes) -> bool:
        return any(one == name for one, _ in self.headers)


def request_head(visit: Visit, *, chunked: bool = False, upgrade: bool = False) -> bytes:
    """The head of the request as the target gets it."""
    dropped = _NOT_SENT | (_named(visit.headers) - _FRAMING)
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
    dropped = _NOT_RETURNED | (_named(headers) - _FRAMING)
    return [(name, _returned(visit, name, value)) for name, value in headers if name not in dropped]


def wants_token(visit: Visit) -> bool:
    """Whether the browser opens a page in a tab, which is no page's doing: script cannot set these headers. What is
    loaded ahead for a service worker looks the same but for one header, which may be empty."""
    return (
        visit.place.enabled
        and visit.header(b"sec-fetch-mode") == b"navigate"
        and visit.header(b"sec-fetch-dest") == b"document"
        and not visit.has(b"sec-purpose")
        and not visit.has(b"service-worker-navigation-preload")
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
    kept = [one for one in headers if one[0] not in _CACHING]
    return [*kept, (b"cache-control", b"no-store"), (_TOKEN, minted.encode())]


def _excluded(visit: Visit) -> bool:
    path = visit.path.removeprefix(visit.prefix).decode("latin-1")
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in visit.place.exclude_paths)


def _towards(visit: Visit, value: bytes, target: bytes) -> bytes:
    """Our own origin is the target's to the target; any other stays what it is, for the target to judge."""
    if value == visit.origin or value.startswith(visit.origin + b"/"):
        return target + value[len(visit.origin) :].removeprefix(visit.prefix)
    return value


def _returned(visit: Visit, name: bytes, value: bytes) -> bytes:
    match name:
        case b"location" | b"content-location":
            return _back(visit, value)
        case b"set-cookie":
            return _own_cookie(value)
        case _:
            return value


def _own_cookie(value: bytes) -> bytes:
    """A cookie is of the cocoon that sets it, and no other's; the target's own domain would be refused anyway."""
    first, *more = value.split(b";")
    return b";".join([first, *(one for one in more if one.partition(b"=")[0].strip().lower() != b"domain")])


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


def _named(headers: Headers) -> frozenset[bytes]:
    """The headers that Connection headers take along."""
    connection = b",".join(value for name, value in headers if name == b"connection")
    return frozenset(one.strip().lower() for one in connection.split(b",") if one.strip())


def _value(headers: Headers, name: bytes) -> bytes:
    return next((value for one, value in headers if one == name), b"")
