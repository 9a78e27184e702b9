"""The network boundary: every connection of a browser context passes a SOCKS port of its own, and is checked there.

Above: the daemon opens one gateway per context and hands the port to a provider; navigation asks a gateway why a
connection failed, because Chrome only says ERR_SOCKS_CONNECTION_FAILED. Below: socks (the wire), resolve, address, and
the view that each session has of the policy.
"""

import asyncio
import errno
import itertools
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network
from typing import Literal, NamedTuple

from pilothouse.guard import socks
from pilothouse.guard.address import Address, forbidden, is_loopback, is_metadata_name, literal
from pilothouse.guard.domains import Domains, read_domains
from pilothouse.guard.judgement import KEPT
from pilothouse.guard.keepers import Keepers, is_own, same
from pilothouse.guard.resolve import Resolver, UnknownHost, canonical
from pilothouse.guard.socks import Arrival, Visitor
from pilothouse.guard.upstream import Line, ProxyRefused, Upstream, read_upstream
from pilothouse.guard.view import CLOSED, OPENED, Passage

Network = IPv4Network | IPv6Network
Connect = Callable[[Sequence[Address], int], Awaitable[tuple[asyncio.Transport, Arrival]]]
"""How a checked address is reached."""

HearOut = Callable[[str, int], Awaitable[None]]
"""Until it is known whether a person says yes to a host that would be refused now."""

logger = logging.getLogger(__name__)

_CONNECT_S = 10.0
_PROXY_S = 20.0  # a proxy looks names up and connects before it answers
_NEXT_ADDRESS_S = 0.25
_HEAR_OUT_S = 25.0  # Chrome gives up after 30 (M)
_MAX_CONNECTIONS = 512
_MAX_REASONS = 256

Kind = Literal["denied", "unknown host", "refused", "timed out", "unreachable", "proxy"]
_CODES: dict[Kind, int] = {
    "denied": socks.NOT_ALLOWED,
    "unknown host": socks.UNREACHABLE,
    "refused": socks.REFUSED,
    "timed out": socks.EXPIRED,
    "unreachable": socks.UNREACHABLE,
    "proxy": socks.FAILED,
}


class Reason(NamedTuple):
    kind: Kind
    text: str


class Sluice:
    """Opens gateways. `forbidden_ports` is read live: ports of this machine that no page may reach (the daemon's)."""

    def __init__(
        self,
        hosts: Mapping[str, str],
        forbidden_ports: set[int],
        connect: Connect | None = None,
        keepers: Keepers | None = None,
    ) -> None:
        self.forbidden_ports = forbidden_ports
        self.keepers = keepers or Keepers()
        self.resolver = Resolver(hosts)
        self.connect = connect or direct
        self._gateways: set[Gateway] = set()

    async def open_closed(self, *, upstream: str = "", allowed: Sequence[str] = ()) -> "Gateway":
        """One that lets nothing pass until a session moves in behind it."""
        return await self.open(CLOSED, upstream=upstream, allowed=allowed)

    async def open(self, view: Passage = OPENED, *, upstream: str = "", allowed: Sequence[str] = ()) -> "Gateway":
        """A new gateway on a free loopback port; `view` holds as long as no session has attached its own.

        `upstream` is the address of a proxy that everything but loopback goes through, `allowed` the patterns of the
        only hosts that may be reached; `bad_request` says what is wrong with either.
        """
        return await self._open(view, upstream, allowed)

    async def open_abroad(
        self, host: str, nodes: Sequence[Network], *, upstream: str = "", allowed: Sequence[str] = ()
    ) -> "Gateway":
        """One that listens on another address of this machine, for browsers of those networks; closed at first."""
        if not nodes:
            raise ValueError("a gateway for other machines has to know which")
        return await self._open(CLOSED, upstream, allowed, host, nodes)

    async def _open(
        self,
        view: Passage,
        upstream: str,
        allowed: Sequence[str],
        host: str = "127.0.0.1",
        nodes: Sequence[Network] = (),
    ) -> "Gateway":
        gateway = Gateway(
            self,
            view,
            upstream=read_upstream(upstream) if upstream else None,
            domains=read_domains(allowed),
            nodes=nodes,
        )
        await gateway.listen(host)
        self._gateways.add(gateway)
        return gateway

    def close(self) -> None:
        for gateway in list(self._gateways):
            gateway.close()

    def is_own(self, port: int) -> bool:
        """Whether a port of this machine is ours: the daemon's, or another session's gateway."""
        return port in self.forbidden_ports or any(gateway.port == port for gateway in self._gateways)

    def closed(self, gateway: "Gateway") -> None:
        self._gateways.discard(gateway)


class Gateway:
    """One context's way to the network. `nodes`: it is for browsers of those networks; else for this machine's."""

    port: int

    def __init__(
        self,
        sluice: Sluice,
        view: Passage,
        *,
        upstream: Upstream | None = None,
        domains: Domains | None = None,
        nodes: Sequence[Network] = (),
    ) -> None:
        self._sluice = sluice
        self._view = view
        self._sessions: list[Passage] = []
        self._hear_out: dict[Passage, HearOut] = {}
        self._upstream = upstream
        self._domains = domains or Domains()
        self._visitors: dict[Visitor, asyncio.Task[None] | None] = {}
        self._reasons: OrderedDict[tuple[str, int], Reason] = OrderedDict()
        self._nodes = nodes
        self._visited = False
        self._stranger = ""  # who was cut off last

    async def listen(self, host: str = "127.0.0.1") -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Visitor(self), host, 0, backlog=256)
        self.port = self._server.sockets[0].getsockname()[1]

    def reason(self, host: str, port: int) -> str:
        """Why the last connection to a host failed, as a sentence part; empty if it did not."""
        found = self.refusal(host, port)
        return found.text if found else self._why_nobody_comes()

    def _why_nobody_comes(self) -> str:
        """The browser of a gateway abroad knows only that its proxy did not serve it."""
        if not self._nodes or self._visited:
            return ""
        if self._stranger:
            return f"the browser came from {self._stranger}, which sluice.nodes does not name"
        return "the browser has not come to its gateway: its machine may not reach sluice.advertise"

    def refusal(self, host: str, port: int) -> Reason | None:
        return self._reasons.get((canonical(host), port))

    def denies(self, host: str, port: int) -> bool:
        """Whether the last connection to a host failed because it may not be made."""
        found = self.refusal(host, port)
        return found is not None and found.kind == "denied"

    def attach(self, view: Passage, hear_out: HearOut | None = None) -> None:
        """A session moves in. Those who share a browser share its way out: what one may reach, all can."""
        self._sessions.append(view)
        if hear_out:
            self._hear_out[view] = hear_out
        self.withdraw()

    def detach(self, view: Passage) -> None:
        """It leaves. In a browser that stays, a person may go on: by the rules of who was there last."""
        if view in self._sessions:
            self._sessions.remove(view)
            self._hear_out.pop(view, None)
            self._view = view
            self.withdraw()

    def withdraw(self) -> int:
        """Cut the live connections that the rules of now do not allow; how many there were."""
        cut = [visitor for visitor in self._visitors if visitor.host and self._outlawed(visitor)]
        for visitor in cut:
            visitor.abort()
        return len(cut)

    def _outlawed(self, visitor: Visitor) -> bool:
        try:
            self._judged(visitor)
        except _Refused as refused:
            self._remember(canonical(visitor.host), visitor.port, refused.reason)
            return True
        except Exception:  # whatever went wrong, nothing may pass
            logger.exception("the sluice could not judge %s:%d", visitor.host, visitor.port)
            return True
        return False

    def _judged(self, visitor: Visitor) -> None:
        host = canonical(visitor.host)
        views = self._admitting(host, visitor.port)
        if visitor.address:
            _check_address(views, host, visitor.address, visitor.port)
            if self._nodes:
                _abroad(views, host, [visitor.address])
            keeper = self._sluice.keepers.called(str(visitor.address), visitor.port)
            if keeper and not self._is_open(keeper.host, keeper.port):
                raise _Refused("denied", f"{host}:{visitor.port} {KEPT}")

    def close(self) -> None:
        """Stop listening and cut everything."""
        self._sluice.closed(self)
        self._server.close()
        for visitor in list(self._visitors):
            visitor.abort()

    # What a visitor tells us (socks.Desk)

    def arrived(self, visitor: Visitor) -> bool:
        if self._is_stranger(visitor):
            if not self._stranger:
                logger.warning("a browser at %s is cut off: sluice.nodes does not name it", visitor.peer)
            self._stranger = visitor.peer
            return False
        if len(self._visitors) >= _MAX_CONNECTIONS:
            return False
        self._visitors[visitor], self._visited = None, True
        return True

    def _is_stranger(self, visitor: Visitor) -> bool:
        """Chrome has no password for a SOCKS proxy: where we listen to others, they are told by their address."""
        if not self._nodes:
            return False
        peer = literal(visitor.peer)
        peer = (getattr(peer, "ipv4_mapped", None) or peer) if peer else None
        return peer is None or not any(peer in network for network in self._nodes)

    def asked(self, visitor: Visitor, host: str, port: int) -> None:
        self._visitors[visitor] = asyncio.create_task(self._admit(visitor, canonical(host), port))

    def left(self, visitor: Visitor) -> None:
        task = self._visitors.pop(visitor, None)
        if task:
            task.cancel()

    async def _admit(self, visitor: Visitor, host: str, port: int) -> None:
        try:
            far, arrival = await self._reach(host, port)
            visitor.address = None if isinstance(arrival, Line) else _peer(far)
            try:
                self._judged(visitor)  # the rules may have changed while it was connected
            except BaseException:
                far.abort()
                raise
        except _Refused as refused:
            self._remember(host, port, refused.reason)
            visitor.refuse(_CODES[refused.reason.kind])
            return
        except Exception:  # whatever went wrong, nothing may pass, and the browser must not wait for ever
            logger.exception("the sluice could not judge %s:%d", host, port)
            visitor.refuse(socks.FAILED)
            return
        self._reasons.pop((host, port), None)
        self._visitors[visitor] = None
        visitor.join(far, arrival)

    async def _reach(self, host: str, port: int) -> tuple[asyncio.Transport, Arrival]:
        """Check the name, resolve it, check the addresses, connect to one of those very addresses."""
        if why := self._domains.refusal(host, port):
            raise _Refused("denied", why)
        views = await self._admitting_at_last(host, port)
        if self._upstream and not any(map(is_loopback, self._sluice.resolver.given(host))):
            return await self._reach_through(self._upstream, host, port)
        addresses = self._passable(views, host, await self._addresses(host), port)
        kept = await self._kept(host, addresses, port)
        try:
            async with asyncio.timeout(_CONNECT_S):
                far, arrival = await self._sluice.connect(addresses, port)
        except OSError as error:
            raise _refusal(error, f"{host}:{port}") from None
        self._check_leaves(far, host, port, kept_here=kept)
        return far, arrival

    async def _kept(self, host: str, addresses: Sequence[Address], port: int) -> bool:
        """Who is where browsers are had from, by whatever name, is judged by its own. The answer: whether there is one
        on this machine that is closed, for this machine has more addresses than are seen here."""
        kept_here = False
        for keeper in self._sluice.keepers.at(port):
            if self._is_open(keeper.host, port):
                continue
            try:
                theirs = await self._addresses(keeper.host)
            except _Refused:
                continue
            if any(same(one, other) for one in addresses for other in theirs):
                raise _Refused("denied", f"{host}:{port} {KEPT}")
            kept_here = kept_here or any(map(is_own, theirs))
        return kept_here

    def _is_open(self, host: str, port: int) -> bool:
        try:
            self._admitting(host, port)
        except _Refused:
            return False
        return True

    async def _reach_through(self, proxy: Upstream, host: str, port: int) -> tuple[asyncio.Transport, Arrival]:
        """Over the proxy, which gets the name. Loopback never comes here, as with Chrome's own proxy settings."""
        if given := self._sluice.resolver.given(host):
            host = str(self._passable(self._admitting(host, port), host, given, port)[0])
        elif is_metadata_name(host := self._sluice.resolver.named(host)):
            raise _Refused("denied", f"{host} is a cloud metadata service")
        try:
            async with asyncio.timeout(_PROXY_S):
                far, line = await self._dial_proxy(proxy)
                try:
                    await proxy.ask(far, line, host, port)
                except BaseException:
                    far.abort()
                    raise
        except _Refused as refused:
            raise _Refused(_kind_of(refused), f"the proxy {proxy.shown}: {refused.reason.text}") from None
        except ProxyRefused as refused:
            raise _Refused("proxy", f"the proxy {proxy.shown} {refused}") from None
        except TimeoutError:
            raise _Refused("proxy", f"the proxy {proxy.shown} did not answer in time") from None
        except OSError as error:
            raise _Refused("proxy", f"the proxy cannot be used: {_refusal(error, proxy.shown).reason.text}") from None
        return far, line

    async def _dial_proxy(self, proxy: Upstream) -> tuple[asyncio.Transport, Line]:
        """The proxy is a host as any other, for it sees all that passes: the policy must allow it, and it is no way to
        the daemon, or to a metadata service."""
        views = self._admitting(proxy.host, proxy.port)
        addresses = self._passable(views, proxy.host, await self._addresses(proxy.host), proxy.port)
        kept = await self._kept(proxy.host, addresses, proxy.port)
        loop = asyncio.get_running_loop()
        errors: list[OSError] = []
        for address in addresses:
            try:
                far, line = await loop.create_connection(Line, str(address), proxy.port)
            except OSError as error:
                errors.append(error)
            else:
                self._check_leaves(far, proxy.host, proxy.port, kept_here=kept)
                return far, line
        raise min(errors, key=_informative)

    async def _addresses(self, host: str) -> Sequence[Address]:
        known = self._sluice.resolver.at_once(host)
        if known:
            return known
        try:
            return await self._sluice.resolver.look_up(host)
        except UnknownHost:
            raise _Refused("unknown host", f"unknown host {host}") from None
        except TimeoutError:
            raise _Refused("timed out", f"looking up {host} timed out") from None

    async def _admitting_at_last(self, host: str, port: int) -> Sequence[Passage]:
        """A refusal waits as long as a person is being asked about a document of that host."""
        try:
            return self._admitting(host, port)
        except _Refused:
            if not self._hear_out:
                raise
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEAR_OUT_S):
                await asyncio.gather(*(hear_out(host, port) for hear_out in self._hear_out.values()))
        return self._admitting(host, port)

    def _admitting(self, host: str, port: int) -> Sequence[Passage]:
        """Those that let the name pass; refused when there is none."""
        asked = self._sessions or [self._view]
        said = [(view, view.host(host, port)) for view in asked]
        if admitting := [view for view, why in said if why is None]:
            return admitting
        raise _Refused("denied", said[0][1] or "it is not allowed")

    def _passable(self, views: Sequence[Passage], host: str, addresses: Sequence[Address], port: int) -> list[Address]:
        passable = [address for address in addresses if not forbidden(address)]
        if not passable:
            raise _Refused("denied", forbidden(addresses[0]))
        if not (allowed := [one for one in passable if _why_not(views, host, one, port) is None]):
            _check_address(views, host, passable[0], port)
        passable = allowed
        if self._sluice.is_own(port):
            passable = [address for address in passable if not is_loopback(address)]
        if not passable:
            raise _itself(port)
        return passable if not self._nodes else _abroad(views, host, passable)

    def _check_leaves(self, far: asyncio.Transport, host: str, port: int, *, kept_here: bool) -> None:
        """This machine has more addresses than loopback: on our own ports the connection itself is judged."""
        if not (self._sluice.is_own(port) or kept_here) or not _stays_here(far):
            return
        far.abort()
        raise _itself(port) if self._sluice.is_own(port) else _Refused("denied", f"{host}:{port} {KEPT}")

    def _remember(self, host: str, port: int, reason: Reason) -> None:
        self._reasons[host, port] = reason
        self._reasons.move_to_end((host, port))
        while len(self._reasons) > _MAX_REASONS:
            self._reasons.popitem(last=False)


class _Refused(Exception):
    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.reason = Reason(kind, text)


def _why_not(views: Sequence[Passage], host: str, address: Address, port: int) -> str | None:
    said = [view.address(host, address, port) for view in views]
    return None if None in said else said[0]


def _abroad(views: Sequence[Passage], host: str, addresses: Sequence[Address]) -> list[Address]:
    """Any program of those machines can speak to a gateway: what listens on loopback here was not meant for them."""
    if any(view.named(one) for view in views for one in (host, *map(str, addresses))):
        return list(addresses)
    if outside := [one for one in addresses if not is_loopback(one)]:
        return outside
    raise _Refused("denied", f"{host} is Pilothouse's own machine, which browsers elsewhere reach if a rule names it")


def _check_address(views: Sequence[Passage], host: str, address: Address, port: int) -> None:
    if (why := _why_not(views, host, address, port)) is not None:
        raise _Refused("denied", why)


def _peer(far: asyncio.Transport) -> Address | None:
    peer = far.get_extra_info("peername")
    return literal(str(peer[0])) if peer else None


def _itself(port: int) -> _Refused:
    return _Refused("denied", f"port {port} of this machine is Pilothouse itself")


def _kind_of(refused: _Refused) -> Kind:
    return "denied" if refused.reason.kind == "denied" else "proxy"


def _refusal(error: OSError, place: str) -> _Refused:
    if isinstance(error, ConnectionRefusedError):
        return _Refused("refused", f"connection refused by {place}")
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return _Refused("timed out", f"connection to {place} timed out")
    return _Refused("unreachable", f"{place} is unreachable")


def _stays_here(far: asyncio.Transport) -> bool:
    """A connection between two equal addresses never left this machine, whatever the address is."""
    near, peer = far.get_extra_info("sockname"), far.get_extra_info("peername")
    return bool(near and peer and near[0] == peer[0])


async def direct(addresses: Sequence[Address], port: int) -> tuple[asyncio.Transport, Arrival]:
    """Connect to the first address that answers; a slow one gets company after a quarter of a second."""
    if len(addresses) == 1:
        return await _dial(addresses[0], port)
    waiting = iter(addresses)
    running: set[asyncio.Task[tuple[asyncio.Transport, Arrival]]] = set()
    errors: list[OSError] = []
    try:
        while True:
            for address in itertools.islice(waiting, 1):
                running.add(asyncio.create_task(_dial(address, port)))
            if not running:
                raise min(errors, key=_informative)
            done, _ = await asyncio.wait(running, timeout=_NEXT_ADDRESS_S, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                running.discard(task)
                try:
                    return task.result()
                except OSError as error:
                    errors.append(error)
    finally:
        for task in running:
            task.cancel()
            task.add_done_callback(_discard)


async def _dial(address: Address, port: int) -> tuple[asyncio.Transport, Arrival]:
    return await asyncio.get_running_loop().create_connection(Arrival, str(address), port)


def _discard(task: asyncio.Task[tuple[asyncio.Transport, Arrival]]) -> None:
    """A connection that came second is closed."""
    if not task.cancelled() and task.exception() is None:
        task.result()[0].abort()


def _informative(error: OSError) -> int:
    return 0 if isinstance(error, ConnectionRefusedError) else 1 if isinstance(error, TimeoutError) else 2
