"""A request from the browser to a cocoon and its answer back, both in pieces, as they come.

Above: the proxy's door. Below: lines (the target), rewrite (the headers), pages (what we say ourselves).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from pilothouse.cocoons import Cocoons, host_of, origin_of
from pilothouse.errors import Failure
from pilothouse.guard.token import Signer
from pilothouse.proxy import pages
from pilothouse.proxy.line import Line, Lost
from pilothouse.proxy.lines import Lines
from pilothouse.proxy.rewrite import Visit, request_head, response_headers, with_token

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# These may be sent again on a new connection when a used one turns out to be dead.
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
_BELOW_PROXY = re.compile(rb"/proxy/([a-z0-9-]{1,63})(/.*)?", re.DOTALL)


class Redirect(Exception):
    def __init__(self, location: bytes) -> None:
        super().__init__(location)
        self.location = location


class _Left(Exception):
    """The browser went away."""


class Passing:
    """An ASGI application: every request of the proxy's port."""

    def __init__(self, cocoons: Cocoons, signer: Signer, lines: Lines) -> None:
        self._cocoons = cocoons
        self._signer = signer
        self.lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        sender = _Sender(send)
        try:
            query: bytes = scope["query_string"]
            visit = self.visit(scope, scope["raw_path"], b"?" + query if query else b"")
            await self._pass(visit, receive, sender)
        except Redirect as redirect:
            headers = [(b"location", redirect.location), (b"content-length", b"0"), (b"cache-control", b"no-store")]
            await sender.whole(307, headers, b"")
        except _Left:
            pass
        except Failure as failure:
            accept = next((value for name, value in scope["headers"] if name == b"accept"), b"")
            await sender.whole(*pages.told(failure, accept, failure.details.get("status", 0)))

    # Where it goes

    def visit(self, scope: Scope, path: bytes, query: bytes) -> Visit:
        """What a request is for; `Redirect` or a failure when it is for no cocoon."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        if not path.startswith(b"/"):
            raise Failure("bad_request", "the address has no path")
        name, port = _split(host)
        if port in self._ports():
            label, dot, base = name.partition(".")
            if dot and base == self._cocoons.proxy.base_host:
                return self._visit(scope, label, path, path + query, b"", "")
            if name == self._cocoons.proxy.base_host or name in _LOCAL_HOSTS:
                return self._below(scope, host, path, query)
        hint = f"apps are at {{id}}.{self._cocoons.proxy.base_host}; `pilothouse cocoon list` tells them"
        raise Failure("not_found", "no app is known by this Host", details={"status": 421}, suggestions=[hint])

    def _below(self, scope: Scope, host: str, path: bytes, query: bytes) -> Visit:
        found = _BELOW_PROXY.fullmatch(path)
        if found is None:
            hint = "`pilothouse cocoon list` tells the address of every app"
            raise Failure("not_found", "there is no app at this address", suggestions=[hint])
        label, rest = found[1].decode(), found[2] or b"/"
        if self._cocoons.proxy.path_mode == "serve" and self._cocoons.one_owner() and found[2]:
            return self._visit(scope, label, path, rest + query, b"/proxy/" + found[1], host)
        place = self._cocoons.find(label)
        if place is None:
            raise self._unknown(label)
        raise Redirect(place.origin.encode() + rest + query)

    def _visit(self, scope: Scope, label: str, path: bytes, inner: bytes, prefix: bytes, host: str) -> Visit:
        place = self._cocoons.find(label)
        if place is None:
            raise self._unknown(label)
        scheme = "https" if self._cocoons.proxy.https else "http"
        origin = f"{scheme}://{host}" if host else place.origin
        client = scope["client"][0] if scope.get("client") else "unknown"
        return Visit(
            place=place,
            method=scope["method"],
            path=path,
            inner=inner,
            prefix=prefix,
            origin=origin.encode(),
            client=client.encode(),
            trusts_forwarded=self._cocoons.proxy.https,
            headers=scope["headers"],
        )

    def _unknown(self, label: str) -> Failure:
        if label in self._cocoons.left_out():  # it is in the file: adding it is no way out
            hint = "`pilothouse cocoon list` says why"
            return Failure("not_found", f"the cocoon {label} does not count", suggestions=[hint])
        hint = f"pilothouse cocoon add {label} http://127.0.0.1:3000" if label.isascii() else "pilothouse cocoon list"
        return Failure("not_found", f"there is no cocoon {label[:63]!r}", suggestions=[hint])

    def _ports(self) -> set[str]:
        proxy = self._cocoons.proxy
        bare = {""} if ":" not in host_of(origin_of("", proxy)) else set[str]()
        return {str(proxy.port), str(proxy.public_port or proxy.port), *bare}

    # There and back

    async def _pass(self, visit: Visit, receive: Receive, sender: "_Sender") -> None:
        codings = [value.lower() for name, value in visit.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            hint = "compress the content (Content-Encoding), not the transfer"
            raise Failure("bad_request", "this Transfer-Encoding is not passed on", suggestions=[hint])
        has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in visit.headers)
        again = visit.method in _HARMLESS and not has_body
        line = self.lines.idle(visit.place.target) if again else None
        if line is not None:
            try:
                await self._exchange(visit, line, receive, sender, has_body=False)
                return
            except Lost as lost:
                if not lost.untouched or sender.started:
                    raise _broken(visit, lost) from None
        line = await self.lines.open(visit.place.target)
        try:
            await self._exchange(visit, line, receive, sender, has_body=has_body)
        except Lost as lost:
            raise _broken(visit, lost) from None

    async def _exchange(self, visit: Visit, line: Line, receive: Receive, sender: "_Sender", *, has_body: bool) -> None:
        chunked = has_body and not visit.header(b"content-length")
        line.ask(request_head(visit, chunked=chunked), bodiless=visit.method == "HEAD")
        upload = asyncio.create_task(_upload(receive, line, chunked=chunked, has_body=has_body))
        try:
            await self._answer(visit, line, sender)
        except Lost:
            if upload.done() and not upload.cancelled() and upload.result():
                raise _Left from None
            raise
        finally:
            sent = upload.done() or not has_body
            upload.cancel()
            if sent and not line.spoilt:
                self.lines.give_back(visit.place.target, line)
            else:
                line.close()

    async def _answer(self, visit: Visit, line: Line, sender: "_Sender") -> None:
        timeout_s = self._cocoons.proxy.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                head = await line.head()
        except TimeoutError:
            hint = "raise proxy.timeout_s if the app needs longer"
            told = f"{visit.place.target} did not begin to answer within {timeout_s:g} s"
            line.close()
            raise Failure("timeout", told, suggestions=[hint]) from None
        if not 200 <= head.status < 600:
            line.close()
            raise Failure("navigation_failed", f"{visit.place.target} answered with status {head.status}")
        headers = with_token(visit, head.status, response_headers(visit, head.headers), self._signer)
        await sender.start(head.status, headers)
        while chunk := await line.chunk():
            if line.whole:
                await sender.body(chunk, more=False)
                return
            await sender.body(chunk, more=True)
        await sender.body(b"", more=False)


class _Sender:
    """The answer to the browser, which begins once."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def body(self, data: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        """After a beginning nothing else can be said: the connection ends, and so the browser knows."""
        if not self.started:
            await self.start(status, headers)
            await self.body(body, more=False)


async def _upload(receive: Receive, line: Line, *, chunked: bool, has_body: bool) -> bool:
    """The body to the target, then a look out for the browser. True: it left, and nobody reads on."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            line.close()
            return True
        data, more = message.get("body", b""), message.get("more_body", False)
        if data and has_body:
            await line.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
    if chunked:
        await line.write(b"0\r\n\r\n")
    while (await receive())["type"] != "http.disconnect":
        pass
    if not line.whole:
        line.close()
        return True
    return False


def _split(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and not port.endswith("]") else (host, "")


def _broken(visit: Visit, lost: Lost) -> Failure:
    hint = "the app may have crashed or restarted: look at its own log"
    return Failure("navigation_failed", f"{visit.place.target}: {lost}", suggestions=[hint])
