"""Ways out of a page to a host that it may not reach, and a trap that stands there and notes every byte.

`{there}` in a page is the trap's origin. Pages come from the one allowed host, which is `*.localhost` because service
workers want a secure origin.
"""

import asyncio
import html
import json
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlencode

from tests.server import PageServer

ALLOWED, DENIED = "allowed.localhost", "denied.test"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 2\r\n\r\nhi"


class Trap(asyncio.DatagramProtocol):
    """TCP and UDP on one port. `caught` is what arrived: an empty entry is a connection that said nothing."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.caught: list[bytes] = []
        self.arrival = asyncio.Event()
        self.port = 0

    @property
    def origin(self) -> str:
        return f"http://{DENIED}:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._came, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(self.host, self.port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._udp.close()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.note(b"")
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                self.note(data)
                writer.write(_ANSWER)
        writer.close()

    def datagram_received(self, data: bytes, addr: tuple[str | bytes, int]) -> None:
        self.note(b"UDP " + data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def note(self, data: bytes) -> None:
        self.caught.append(data)
        self.arrival.set()


class Web:
    """The allowed site, as an address for each way out."""

    def __init__(self, site: PageServer, trap: Trap) -> None:
        self.there = trap.origin
        self._port = trap.port
        self._site = site

    @property
    def origin(self) -> str:
        return f"http://{ALLOWED}:{self._site.port}"

    def page(self, body: str, kind: str = "text/html; charset=utf-8", **headers: str) -> str:
        named = {name.replace("_", "-"): value.replace("{there}", self.there) for name, value in headers.items()}
        query = urlencode({"body": self.fill(body), "type": kind, **named})
        return f"{self.origin}/inline?{query}"

    def script(self, code: str, **headers: str) -> str:
        return self.page(code, "text/javascript", **headers)

    def redirect(self, status: int) -> str:
        return f"{self.origin}/redirect?{urlencode({'status': status, 'to': self.there + '/'})}"

    def fill(self, text: str) -> str:
        return (
            text.replace("{there}", self.there)
            .replace("{bare}", self.there.removeprefix("http://"))
            .replace("{local}", f"127.0.0.1:{self._port}")
        )


def tag(markup: str) -> Callable[[Web], str]:
    return lambda web: web.page(f"<!doctype html><body>{markup}")


def run(code: str) -> Callable[[Web], str]:
    """After the load: what a page does while it loads takes the navigation along."""
    return tag(f"<script>onload = () => setTimeout(() => {{ {code} }})</script>")


def styled(css: str) -> Callable[[Web], str]:
    return tag(f"<style>{css}</style><p id=p>text")


def in_worker(code: str, make: str) -> Callable[[Web], str]:
    """`make` gets the address of a script that runs `code`."""

    def page(web: Web) -> str:
        address = json.dumps(web.script(code, Service_Worker_Allowed="/"))
        return web.page(f"<!doctype html><body><script>{make.replace('ADDRESS', address)}</script>")

    return page


def moved(status: int, markup: str) -> Callable[[Web], str]:
    """Something that the allowed host serves, and sends on."""
    return lambda web: web.page(f"<!doctype html><body>{markup.replace('ADDRESS', web.redirect(status))}")


def speculation(action: str, address: Callable[[Web], str]) -> Callable[[Web], str]:
    def page(web: Web) -> str:
        rules = json.dumps({action: [{"source": "list", "urls": [address(web)], "eagerness": "immediate"}]})
        return web.page(f"<!doctype html><body><script type=speculationrules>{rules}</script>{_DONE}")

    return page


def spelled(host: str) -> Callable[[Web], str]:
    """The trap by another name; `navigate` itself goes there."""
    return lambda web: web.there.replace(DENIED, host) + "/"


def _ice_server(url: str) -> str:
    return f"new RTCPeerConnection({{iceServers: [{{urls: '{url}', username: 'u', credential: 'c'}}]}})"


_SW = "navigator.serviceWorker.register(ADDRESS, {scope: '/'})"
_INNER = html.escape("<img src={there}/>")
_ICE = "; p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o))"

WAYS: dict[str, Callable[[Web], str]] = {
    # documents
    "navigate": lambda web: web.there + "/",
    **{f"redirect {code}": (lambda web, code=code: web.redirect(code)) for code in (301, 302, 303, 307, 308)},
    "meta refresh": tag("<meta http-equiv=refresh content='0;url={there}/'>"),
    "refresh header": lambda web: web.page("hi", Refresh="0;url={there}/"),
    "location.assign": run("location.assign('{there}/')"),
    "location.replace": run("location.replace('{there}/')"),
    "link": run("const a = document.createElement('a'); a.href = '{there}/'; document.body.append(a); a.click()"),
    "form get": tag("<form action={there}/ id=f><input name=a></form><script>onload = () => f.submit()</script>"),
    "form post": tag("<form action={there}/ id=f method=post></form><script>onload = () => f.submit()</script>"),
    "form post, moved 307": moved(
        307, "<form action='ADDRESS' id=f method=post></form><script>onload = () => f.submit()</script>"
    ),
    "form in a new tab": tag(
        "<form action={there}/ id=f target=_blank></form><script>onload = () => f.submit()</script>"
    ),
    "popup": run("open('{there}/')"),
    "popup, noopener": run("open('{there}/', '_blank', 'noopener')"),
    "popup, later": run("const w = open('about:blank'); w.location = '{there}/'"),
    "popup, written": run("const w = open('about:blank'); w.document.write('<img src={there}/>')"),
    "popup, moved": lambda web: web.page(f"<body><script>open('{web.redirect(302)}')</script>"),
    "iframe": tag("<iframe src={there}/></iframe>"),
    "iframe, sandboxed": tag("<iframe sandbox src={there}/></iframe>"),
    "iframe, srcdoc": tag(f"<iframe srcdoc='{_INNER}'></iframe>"),
    "iframe, data": tag(f"<iframe src='data:text/html,{_INNER}'></iframe>"),
    "iframe, blob": run(
        "const f = document.createElement('iframe'); document.body.append(f);"
        "f.src = URL.createObjectURL(new Blob(['<img src={there}/>'], {type: 'text/html'}))"
    ),
    "iframe, moved": moved(302, "<iframe src='ADDRESS'></iframe>"),
    "top from a frame": tag(f"<iframe srcdoc='{html.escape('<script>top.location = `{there}/`</script>')}'></iframe>"),
    "object": tag("<object data={there}/ type=text/html></object>"),
    "embed": tag("<embed src={there}/ type=text/html>"),
    # what pages load
    "img": tag("<img src={there}/>"),
    "img, moved 301": moved(301, "<img src='ADDRESS'>"),
    "srcset": tag("<img srcset='{there}/ 1x'>"),
    "picture": tag("<picture><source srcset={there}/><img></picture>"),
    "image button": tag("<input type=image src={there}/>"),
    "svg image": tag("<svg><image href={there}/ width=9 height=9 /></svg>"),
    "stylesheet": tag("<link rel=stylesheet href={there}/>"),
    "@import": styled("@import '{there}/';"),
    "background": styled("p { background: url({there}/) }"),
    "border image": styled("p { border: 9px solid; border-image: url({there}/) 9 }"),
    "list marker": tag("<ul style='list-style-image: url({there}/)'><li>x"),
    "content": styled("p::after { content: url({there}/) }"),
    "font": styled("@font-face { font-family: f; src: url({there}/) } p { font-family: f }"),
    "script": tag("<script src={there}/></script>"),
    "module": tag("<script type=module src={there}/></script>"),
    "import": tag("<script type=module>import '{there}/'</script>"),
    "import()": tag("<script>import('{there}/')</script>"),
    "audio": tag("<audio src={there}/ preload=auto></audio>"),
    "video": tag("<video src={there}/ preload=auto></video>"),
    "poster": tag("<video poster={there}/></video>"),
    "subtitles": tag(
        "<video src=/x crossorigin><track default kind=subtitles src={there}/></video>"
        "<script>document.querySelector('track').track.mode = 'showing'</script>"
    ),
    "prefetch": tag("<link rel=prefetch href={there}/>"),
    "preload": tag("<link rel=preload as=image href={there}/>"),
    "modulepreload": tag("<link rel=modulepreload href={there}/>"),
    "link header": lambda web: web.page("<p>hi", Link="<{there}/>; rel=preload; as=script"),
    "download": run(
        "const a = document.createElement('a'); a.href = '{there}/'; a.download = 'x'; document.body.append(a); a.click()"
    ),
    # what scripts send
    "fetch": tag("<script>fetch('{there}/')</script>"),
    "fetch, keepalive": tag("<script>fetch('{there}/', {method: 'POST', body: 'x', keepalive: true})</script>"),
    "fetch, moved 308": moved(308, "<script>fetch('ADDRESS', {method: 'POST', body: 'x'})</script>"),
    "fetch, preflight": tag("<script>fetch('{there}/', {method: 'PUT', headers: {'X-A': 'b'}})</script>"),
    "fetch, leaving": tag(
        "<script>addEventListener('pagehide', () => fetch('{there}/', {keepalive: true})); "
        "onload = () => setTimeout(() => location = '/small.html')</script>"
    ),
    "XHR": tag("<script>const x = new XMLHttpRequest; x.open('GET', '{there}/'); x.send()</script>"),
    "beacon": tag("<script>navigator.sendBeacon('{there}/', 'x')</script>"),
    "ping": tag("<a href=#x id=a ping={there}/>x</a><script>a.click()</script>"),
    "WebSocket": tag("<script>new WebSocket('ws://{bare}/')</script>"),
    "EventSource": tag("<script>new EventSource('{there}/')</script>"),
    "TURN over TCP": tag(f"<script>const p = {_ice_server('turn:{bare}?transport=tcp')}{_ICE}</script>"),
    "CSP report": lambda web: web.page(
        "<img src=/x>", Content_Security_Policy="default-src 'none'; report-uri {there}/"
    ),
    # workers
    "worker": in_worker("fetch('{there}/')", "new Worker(ADDRESS)"),
    "worker, importScripts": in_worker("importScripts('{there}/')", "new Worker(ADDRESS)"),
    "worker, WebSocket": in_worker("new WebSocket('ws://{bare}/')", "new Worker(ADDRESS)"),
    "worker, nested": in_worker(
        "new Worker(URL.createObjectURL(new Blob([`fetch('{there}/')`])))", "new Worker(ADDRESS)"
    ),
    "worker, blob": run("new Worker(URL.createObjectURL(new Blob([`fetch('{there}/')`])))"),
    "shared worker": in_worker("fetch('{there}/')", "new SharedWorker(ADDRESS)"),
    "shared worker, XHR": in_worker(
        "const x = new XMLHttpRequest; x.open('GET', '{there}/'); x.send()", "new SharedWorker(ADDRESS)"
    ),
    "shared worker, importScripts": in_worker("importScripts('{there}/')", "new SharedWorker(ADDRESS)"),
    "service worker": in_worker("fetch('{there}/')", _SW),
    "service worker, importScripts": in_worker("importScripts('{there}/')", _SW),
    "service worker, WebSocket": in_worker("new WebSocket('ws://{bare}/')", _SW),
    "worklet": run("CSS.paintWorklet.addModule('{there}/')"),
    "audio worklet": run("new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule('{there}/')"),
    # other names of the same place
    "upper case": spelled("DENIED.TEST"),
    "closing dot": spelled("denied.test."),
    "user name": spelled("allowed.localhost@denied.test"),
    "127.0.0.1": spelled("127.0.0.1"),
    "decimal": spelled("2130706433"),
    "hexadecimal": spelled("0x7f.1"),
    "octal": spelled("0177.0.0.01"),
    "short": spelled("127.1"),
    "circled": spelled("①②⑦.⓪.⓪.①"),
    "mapped": spelled("[::ffff:127.0.0.1]"),
    "localhost": spelled("localhost"),
    "img, decimal": lambda web: web.page(f"<img src={web.there.replace(DENIED, '2130706433')}/>"),
}
AHEAD: dict[str, Callable[[Web], str]] = {
    "preconnect": tag("<link rel=preconnect href={there}/>"),
}
_DONE = "<script>onload = () => fetch('/small.html').then(() => document.title = 'done')</script>"
_GATHERED = "; p.onicegatheringstatechange = () => document.title = p.iceGatheringState == 'complete' ? 'done' : ''"
# Nothing arrives by these in a Chrome of ours, allowed or not: they are tried, and prove nothing by themselves.
# Each page says "done" when it has tried.
NEVER: dict[str, Callable[[Web], str]] = {
    "dns-prefetch": tag("<link rel=dns-prefetch href={there}/>" + _DONE),
    "speculative prefetch": speculation("prefetch", lambda web: web.there + "/"),
    "speculative prerender": speculation("prerender", lambda web: web.page("<img src={there}/>")),
    "manifest": tag("<link rel=manifest href={there}/>" + _DONE),
    "icon": tag("<link rel=icon href={there}/>" + _DONE),
    "view-source": tag("<script>location = 'view-source:{there}/'</script>" + _DONE),
    "STUN": tag(f"<script>const p = {_ice_server('stun:{local}')}{_GATHERED}{_ICE}</script>"),
    "TURN over UDP": tag(f"<script>const p = {_ice_server('turn:{local}?transport=udp')}{_GATHERED}{_ICE}</script>"),
    "WebTransport": tag(
        "<script>new WebTransport('https://{local}/').ready.catch(() => document.title = 'done')</script>"
    ),
}
