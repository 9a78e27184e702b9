"""`pilothouse serve`: puts the rooms together, opens the doors, and closes everything in the end.

Above: the `serve` command. Below: every room; this is the only file that knows them all.
"""

import asyncio
import contextlib
import errno
import gc
import importlib
import json
import logging
import os
import pkgutil
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pilothouse.tools
from pilothouse import __version__, adjusting, callers, instance, log
from pilothouse.abodes import Abodes
from pilothouse.adjusting import Pace, bounds_of, follow_keys, follow_policy, keys_changed, place_elsewhere, terms_of
from pilothouse.browser import handles
from pilothouse.browser.browsers import Browsers
from pilothouse.browser.partings import begun_anew
from pilothouse.browser.pool import Pool
from pilothouse.browser.remote import Remotes
from pilothouse.browser.sessions import Sessions
from pilothouse.browser.shared import Shared
from pilothouse.browser.terms import Terms
from pilothouse.call import Defaults
from pilothouse.commands import manifest, terminal
from pilothouse.commands.describe import describe
from pilothouse.config import load
from pilothouse.doors.activity import activity_routes
from pilothouse.doors.approvals import approval_routes
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.cocoons import cocoon_routes
from pilothouse.doors.commands import CommandDoor
from pilothouse.doors.contracts import Contracts
from pilothouse.doors.dashboard import dashboard_routes
from pilothouse.doors.debugging import Debugging
from pilothouse.doors.extension import extension_routes
from pilothouse.doors.extras import Extras
from pilothouse.doors.http import BRIDGE_PATH, SIGNALING_PATH, HttpDoor, build_app
from pilothouse.doors.late_mcp import LateMcp
from pilothouse.doors.live import LiveDoor
from pilothouse.doors.local import LocalDoor, Open
from pilothouse.doors.looking import looking_routes
from pilothouse.doors.metrics import metrics_route
from pilothouse.doors.panel import PanelDoor
from pilothouse.doors.person import PersonOnly
from pilothouse.doors.policy import PolicyDoor
from pilothouse.doors.rest import RestDoor
from pilothouse.doors.secrets import secret_routes
from pilothouse.doors.sessions import session_routes
from pilothouse.doors.signaling import SignalingDoor
from pilothouse.errors import Failure
from pilothouse.gate import Gate
from pilothouse.guard.abroad import Abroad
from pilothouse.guard.approvals import Approvals
from pilothouse.guard.audit import Audit
from pilothouse.guard.border import Borders
from pilothouse.guard.domains import is_outside
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.keys import Keys
from pilothouse.guard.known import known
from pilothouse.guard.pairing import ORIGIN, Pairing
from pilothouse.guard.passes import Passes
from pilothouse.guard.policy import Policy
from pilothouse.guard.rates import Rates
from pilothouse.guard.redact import redact_headers, redact_registered, redact_text
from pilothouse.guard.rulebook import NAME, Rulebook
from pilothouse.guard.rules import Rules
from pilothouse.guard.secrets import Secrets
from pilothouse.guard.sluice import Sluice
from pilothouse.guard.vault import Vault, system_keyring
from pilothouse.home import directory, socket_path
from pilothouse.hub.far import FarHub
from pilothouse.options import Config, Server
from pilothouse.presence import Presence
from pilothouse.profiles import Profiles
from pilothouse.providers.elsewhere import Elsewhere
from pilothouse.providers.launch import Launcher
from pilothouse.providers.link import Links
from pilothouse.providers.relay import Relay
from pilothouse.reload import Followed
from pilothouse.tool import Registry, declared
from pilothouse.wheel import Wheel

# A signal ends everything within two seconds: the rooms have this long to close, then the process goes as it is.
DOORS_CLOSE_S = 1.0
GATE_CLOSE_S = 0.7
END_S = 1.8
# New objects before Python looks for circles among them. A call needs more than its default of 700 and leaves none: it
# was looked through one to two times for nothing (M: 0.16 ms each time, now and then 2).
YOUNG_OBJECTS = 10_000
_log = logging.getLogger(__name__)


class PortTaken(Exception):
    pass


def serve(
    *,
    host: str | None,
    port: int | None,
    tools: str | None,
    headed: bool,
    config: str | None,
    auto: bool,
    linger_s: float,
    insecure_no_secret_for_conformance: bool,
) -> int:
    """Run until a signal or, with `auto`, until `linger_s` after the last client. The result is the exit code."""
    flags = {
        "server.host": host,
        "server.port": port,
        "server.tools": tools,
        "browser.headless": False if headed else None,
    }
    handles.raise_limit()
    os.umask(0o077)  # every folder and file that is made, by Chrome too, is this user's alone
    try:
        home = directory()
        followed = Followed(Path(config or os.path.join(home, "config.toml")).absolute())
        read = partial(load, followed.path, os.environ, flags)
        settings = read()
        rulebook = Rulebook(Path(home) / NAME)
        policy_file = Followed(rulebook.path)
        rules = rulebook.read()  # with a policy that nobody can read, nothing runs
        file = os.path.join(home, "daemon.log") if auto else ""
        log.set_up(settings.log, file=file, max_bytes=instance.LOG_MAX_BYTES)
        callers.check(settings.server)
        defaults = Defaults(tools=settings.server.tools, headed=not settings.browser.headless)
        with instance.Claim(home), _bound(settings.server) as listener, _runner() as runner:
            extras = _fixtures() if insecure_no_secret_for_conformance else None
            linger_s = linger_s if auto else 0
            house = run(
                settings,
                Path(home),
                listener,
                defaults=defaults,
                linger_s=linger_s,
                extras=extras,
                file=followed,
                reread=read,
                policy_file=policy_file,
                rules=rules,
            )
            runner.run(house)
    except Failure as error:
        return _say_why(error, 2 if error.code == "bad_request" else 1)
    except (instance.StartError, PortTaken, OSError) as error:
        return _say_why(error, 1)
    return 0


async def run(
    settings: Config,
    home: Path,
    listener: socket.socket,
    *,
    defaults: Defaults,
    linger_s: float = 0,
    extras: Extras | None = None,
    file: Followed | None = None,
    reread: Callable[[], Config] | None = None,
    policy_file: Followed | None = None,
    rules: Rules | None = None,
) -> None:
    """The house, from the ground up and down again. `settings` and `rules` are what the files said; `reread` gives what
    the first says now."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    port: int = listener.getsockname()[1]

    keys = Keys(home, _mask_keys)
    keys.agent()
    keys.person()
    keys.look()
    own_ports = {port}
    config = file.path if file else home / "config.toml"
    debugging = Debugging(settings, config, keys, port)
    keepers = Keepers()
    sluice = Sluice(settings.network.hosts, own_ports, keepers=keepers)
    rulebook = Rulebook(home / NAME)
    policy_file = policy_file or Followed(rulebook.path)
    policy = Policy(rules or rulebook.read(), own_ports=own_ports, keepers=keepers)
    asking = settings.approvals
    approvals = Approvals(timeout_s=asking.timeout_s, client_answers=asking.client_answers)
    borders = Borders(policy.view, approvals.ask)
    policy.on_change(borders.changed)
    keepers.on_change = borders.changed
    audit = Audit(home, settings.log.max_bytes, settings.log.retention_days)
    approvals.follow(borders.heard)
    approvals.record_in(audit)
    vault = Vault(home, system_keyring)
    secrets = Secrets(home, vault)
    await asyncio.to_thread(secrets.prepare)
    fixed = _fixed(home, vault, secrets, policy)
    pairing, links = Pairing(home), Links()
    links.expect({one.name: one.port for one in pairing.browsers()}, port)
    profiles = Profiles(home, file.path if file else None)
    elsewhere = Elsewhere(secrets.written_out, holds=bool(settings.sluice.advertise))
    place_browsers = partial(place_elsewhere, elsewhere, keepers, settings.sluice)
    place_browsers(settings)
    remotes = Remotes(elsewhere.sources, Abroad(sluice, settings.sluice) if settings.sluice.advertise else None)
    sessions = _sessions(settings, home, sluice, profiles, borders, fixed, links, remotes)
    sessions.on_closed = approvals.session_closed
    abodes = Abodes(home, terminal.is_gone)
    for owner, options in (await abodes.recall()).items():
        sessions.partings.note(owner, begun_anew(options.profile, options))
    sessions.on_abode = abodes.keep
    debugging.cocoons.on_users = lambda name, change: audit.note(f"hub_user_{change}", user=name)
    keys.on_change = partial(keys_changed, audit, sessions, approvals)
    sessions.on_stopped = lambda name, ended: audit.note("agents_stopped", browser=name, by="person", sessions=ended)
    rates = Rates()
    pace = Pace(rates, policy, settings.limits.requests_per_minute)
    gate = Gate(
        _registry(),
        sessions,
        policy,
        approvals,
        audit,
        timeout_ms=settings.limits.tool_timeout_ms,
        forbidden_ports=own_ports,
        rates=rates,
    )
    far = FarHub(settings.hub.url, settings.hub.key) if settings.hub.url else None
    known.know("hub", {"key of the hub": settings.hub.key} if settings.hub.key else {})
    gate.hub = far or debugging.hub
    wheel = Wheel(sessions, gate.permits, audit)
    gate.on_done = wheel.done
    passes = Passes(lambda: keys.look().get("person", ""), partial(_is_paired, pairing))
    PanelDoor(links, passes, approvals)
    mcp = LateMcp(gate, defaults, extras)
    presence = Presence(stop)
    commands = CommandDoor(gate, defaults=defaults, is_gone=terminal.is_gone)
    doors = {"mcp": presence.at_door(mcp.open), "call": presence.at_door(_ready(commands.open))}
    person = PersonOnly(audit)
    bridge = BridgeDoor(pairing, links, audit, port=port)
    local = LocalDoor(doors, stop=presence.asked_to_stop, on_unknown=person.tried_door)
    hosts, is_open = [*settings.server.allowed_hosts, *callers.own_names(settings.server, port)], extras is not None
    contracts = Contracts(gate, mcp.herald, rates, audit, defaults=defaults, debug=settings.server.debug)
    rest = [*contracts.routes(), *RestDoor(gate, defaults=defaults).routes()] if settings.server.rest else []
    people = [
        *PolicyDoor(policy, rulebook, gate.registry, audit, person).routes(),
        *LiveDoor(gate, wheel, audit, policy, person).routes(),
        *looking_routes(wheel, profiles, audit, person),
        *activity_routes(audit, wheel, person),
        *dashboard_routes(passes, person),
        *approval_routes(approvals, person),
        *secret_routes(secrets, audit, person),
        *session_routes(gate, person),
        *cocoon_routes(debugging.cocoons, audit, person),
        *extension_routes(pairing, links, bridge, audit, person, port=port),
    ]
    signaling = SignalingDoor(
        debugging.hub, debugging.cocoons, bridge.handshake, lambda key: person.tried_hub(keys.who(key))
    )
    routes = [metrics_route(gate), *bridge.routes(), *signaling.routes(), *people, *rest]
    app = build_app(
        mcp.door,
        partial(_who, keys, passes),
        port=port,
        hosts=hosts,
        peers=callers.peers(settings.server),
        routes=routes,
        extension=ORIGIN,
        insecure_no_secret=is_open,
    )
    http = HttpDoor(presence.at_web(app, BRIDGE_PATH, SIGNALING_PATH))
    browsers = lambda: links.connected + signaling.idle_browsers
    presence.watch(local, http, debugging, sessions=lambda: sessions.in_use, browsers=browsers)
    following: list[asyncio.Task[None]] = []
    try:
        await local.listen(Path(socket_path(home)))
        await http.listen(listener)
        await debugging.listen()
        await asyncio.gather(mcp.door(), asyncio.to_thread(manifest.write, str(home), describe(gate.registry)))
        # What is loaded now stays; no later collection need walk it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        _announce(settings.server.host, port, str(home), config, debugging.url)
        if file and reread:
            following.append(
                asyncio.create_task(file.follow(reread, partial(adjusting.apply, sessions, gate, pace, place_browsers)))
            )
        following.append(asyncio.create_task(follow_policy(policy_file, rulebook, policy, audit)))
        following.append(asyncio.create_task(follow_keys(keys)))
        await presence.until_over(linger_s)
    finally:
        for task in following:
            task.cancel()
        _end_soon()
        instance.withdraw(str(home))
        approvals.close()  # nobody waits for an answer that cannot come
        await _close(DOORS_CLOSE_S, mcp.close, local.close)
        await _close(GATE_CLOSE_S, gate.close)  # sessions in the person's Chrome tidy up through its links
        links.close()
        await _close(DOORS_CLOSE_S, http.close, debugging.close, *([far.close] if far else []))
        sluice.close()


def _mask_keys(secrets: dict[str, str]) -> None:
    """No secret that a person registers can have a name with a space."""
    known.know("keys", {f"key of {owner}": secret for owner, secret in secrets.items()})


def _who(keys: Keys, passes: Passes, secret: str) -> str | None:
    """A page that was opened by a ticket, and the side panel of a paired browser, are the person's."""
    return keys.who(secret) or ("person" if passes.opens(secret) else None)


def _is_paired(pairing: Pairing, install: str) -> bool:
    return any(one.install == install for one in pairing.browsers())


def _ready(opener: Open) -> Callable[[], Awaitable[Open]]:
    async def give() -> Open:
        return opener

    return give


def _fixed(home: Path, vault: Vault, secrets: Secrets, policy: Policy) -> Terms:
    """What no setting changes."""
    return Terms(
        private=(home,),
        vault=vault,
        secrets=secrets,
        redact_text=redact_text,
        redact_registered=redact_registered,
        redact_headers=redact_headers,
        bars=policy.bars,
        is_outside=is_outside,
        forbids=policy.forbids,
    )


def _shared(links: Links) -> Shared:
    shared = Shared(lambda name: links.find(name).name, lambda name: Relay(links.find(name)))
    shared.arrivals = links.arrivals
    shared.is_open = links.is_open
    links.on_stopped(shared.stopped)
    links.on_forgotten(shared.forgotten)
    return shared


def _sessions(
    settings: Config,
    home: Path,
    sluice: Sluice,
    profiles: Profiles,
    borders: Borders,
    fixed: Terms,
    links: Links,
    remotes: Remotes,
) -> Sessions:
    launcher = Launcher(settings.browser, home)
    gateway = sluice.open_closed
    pools = {headless: Pool(partial(launcher.start, headless=headless), gateway) for headless in (True, False)}
    if settings.browser.prewarm:
        pools[settings.browser.headless].warm_up()
    limits = settings.limits
    return Sessions(
        pools,
        home / "sessions",
        max_sessions=limits.sessions,
        idle_s=limits.idle_minutes * 60,
        browsers=Browsers(profiles, launcher, gateway, home / "browsers"),
        shared=_shared(links),
        remotes=remotes,
        border=borders.open,
        terms=terms_of(settings, fixed),
        bounds=bounds_of(settings),
        keep_s=settings.files.keep_hours * 3600,
    )


def _fixtures() -> Extras:
    """What the official conformance suite wants to find. It sends no key, so none is asked for."""
    from pilothouse.doors.conformance import Fixtures

    _log.warning("INSECURE: any program on this machine can use this daemon; for the conformance suite only")
    return Fixtures()


def _registry() -> Registry:
    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    return Registry(declared())


@contextlib.contextmanager
def _bound(server: Server) -> Generator[socket.socket]:
    """The port, taken first of all, so that two daemons cannot both believe they have it."""
    host = "127.0.0.1" if server.host == "localhost" else server.host
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, server.port))
            listener.listen(128)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            owner = instance.port_owner(server.port)
            raise PortTaken(
                f"port {server.port} is taken by {owner}; choose another: server.port in config.toml, "
                "PILOTHOUSE_SERVER_PORT, or `pilothouse serve --port`"
            ) from None
        yield listener


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _announce(host: str, port: int, home: str, config: Path, proxy: str) -> None:
    """Tell those who look into the home, and the one who started us. Of the debug proxy only where it runs."""
    host = callers.as_called(host)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    info: dict[str, Any] = {"url": url, "port": port, "pid": os.getpid(), "config": str(config)}
    of_proxy = {"proxy": proxy} if proxy else {}
    instance.publish(home, {**info, "socket": socket_path(home), "version": __version__, **of_proxy})
    _log.info("ready at %s%s, version %s, home %s", url, proxy and f", debug proxy at {proxy}", __version__, home)
    ready = {"ready": True, "url": url, "mcp": f"{url}/mcp", "pid": os.getpid(), **of_proxy}
    with contextlib.suppress(OSError):  # who started us may be gone by now
        os.write(1, json.dumps(ready).encode() + b"\n")


def _end_soon() -> None:
    """A thread that hangs, in a name server or a file system, must not keep us: what is left goes with the process."""
    timer = threading.Timer(END_S, os._exit, [0])
    timer.daemon = True
    timer.start()


async def _close(timeout_s: float, *closers: Callable[[], Awaitable[None]]) -> None:
    """All at once, none waiting for another that hangs."""

    async def close(closer: Callable[[], Awaitable[None]]) -> None:
        try:
            await asyncio.wait_for(closer(), timeout_s)
        except Exception:
            _log.exception("closing %s", getattr(closer, "__qualname__", closer))

    await asyncio.gather(*map(close, closers))


def _say_why(error: Exception, code: int) -> int:
    sys.stderr.write(f"pilothouse: {error}\n")
    return code
