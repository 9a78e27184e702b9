"""`/api/extension`: a person pairs browsers, sees them, stops what agents do in one, and forgets it.

Above: http has checked Host, Origin and key; only the person's opens this. Below: guard's pairing, providers' links,
the bridge, the audit log: what cannot be recorded is not done. Only a stop comes before everything else.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pilothouse import __version__
from pilothouse.doors import parcel
from pilothouse.doors.bridge import BridgeDoor
from pilothouse.doors.parcel import Refused
from pilothouse.doors.person import PersonOnly
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.guard.pairing import CODE_S, EXTENSION_ID, Paired, Pairing
from pilothouse.providers.link import Link, Links

RELOAD_S = 5.0
Shown = dict[str, Any]


def extension_routes(
    pairing: Pairing, links: Links, bridge: BridgeDoor, audit: Audit, only: PersonOnly, *, port: int
) -> list[BaseRoute]:
    async def pair(request: Request) -> Shown:
        await audit.decree("pairing_code")
        return {"code": await asyncio.to_thread(pairing.new_code), "port": port, "valid_s": int(CODE_S)}

    async def browsers(request: Request) -> Shown:
        await links.arrivals()
        told = [_shown(one, links.named(one.name), pairing.owes_stop(one.install)) for one in pairing.browsers()]
        house = {"version": __version__, "port": port, "extension_id": EXTENSION_ID, "misfit": bridge.misfit}
        return {"browsers": told, **house}

    async def forget(request: Request) -> Shown:
        name: str = request.path_params["name"]
        paired = pairing.named(name)  # or there is nothing to forget
        await audit.decree("browser_forgotten", name=name)
        await asyncio.to_thread(pairing.forget, name)
        links.forget(name, paired.install)
        return {"forgotten": name}

    async def stop(request: Request) -> Shown:
        name: str = request.path_params["name"]
        paired = pairing.named(name)
        link = links.of(name, paired.install)
        link.halt()  # whatever goes wrong after this, agents are out
        try:
            await asyncio.to_thread(pairing.owe_stop, paired.install, True)
            await audit.decree("browser_stopped", name=name, by="person")
        finally:
            told = await link.tell_stop()
        return {"stopped": link.name, "told": told}

    async def reload(request: Request) -> Shown:
        link = links.find(request.path_params["name"])
        await link.post("reload", {}, timeout=RELOAD_S)
        return {"reloaded": link.name}

    def at(path: str, method: str, work: Callable[[Request], Awaitable[Shown]]) -> Route:
        async def answered(request: Request) -> Response:
            return await _answered(request, only, work)

        return Route(path, answered, methods=[method])

    return [
        at("/api/extension/pair", "POST", pair),
        at("/api/extension/browsers", "GET", browsers),
        at("/api/extension/browsers/{name}", "DELETE", forget),
        at("/api/extension/browsers/{name}/stop", "POST", stop),
        at("/api/extension/browsers/{name}/reload", "POST", reload),
    ]


async def _answered(request: Request, only: PersonOnly, work: Callable[[Request], Awaitable[Shown]]) -> Response:
    try:
        only.check(request.scope)
        data = await work(request)
    except Refused as refused:
        return parcel.refusal(refused)
    except Failure as failure:
        return parcel.refusal(Refused(failure.status, failure))
    return parcel.as_json({"success": True, "data": data, "metadata": {"timestamp": int(time.time() * 1000)}})


def _shown(paired: Paired, link: Link | None, owes_stop: bool) -> Shown:
    state = link.state if link else "stopped" if owes_stop else "gone"
    told: Shown = {"name": paired.name, "paired_at": paired.paired_at, "port": paired.port, "state": state}
    if link:
        told |= {
            "version": link.version,
            "agent": link.agent,
            "share": link.share,
            "tabs": len(link.tabs),
            "since": link.since,
        }
    return told
