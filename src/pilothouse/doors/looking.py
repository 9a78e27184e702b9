"""What the person's pages show besides: the page that a question is about, and the profiles, whose browsers they end.

Above: http; person lets the person in and nobody else. Below: wheel, the profiles of config.toml, the
audit log: what cannot be recorded is not done.
"""

import asyncio
import base64
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope

from pilothouse.doors.address import Address, told
from pilothouse.doors.person import PersonOnly
from pilothouse.guard.audit import Audit
from pilothouse.options import shown_proxy
from pilothouse.profiles import Profile, Profiles
from pilothouse.wheel import Wheel


def looking_routes(wheel: Wheel, profiles: Profiles, audit: Audit, person: PersonOnly) -> list[BaseRoute]:
    async def sighted(scope: Scope, receive: Receive) -> Response:
        seen = await wheel.sighting(scope["path_params"]["id"])
        picture = base64.b64encode(seen.data).decode()
        return told(
            {"picture": picture, **{name: getattr(seen, name) for name in ("width", "height", "boxes", "note")}}
        )

    async def profiled(scope: Scope, receive: Receive) -> Response:
        running = wheel.running_profiles()
        found = await asyncio.to_thread(profiles.all)
        return told({"profiles": [_shown(one, profiles, one.id in running) for one in found]})

    async def ended(scope: Scope, receive: Receive) -> Response:
        profile: str = scope["path_params"]["id"]
        wheel.check_running(profile)
        await audit.decree("profile_ended", name=profile, by="person")
        return told({"ended": profile, "sessions": await wheel.end_profile(profile)})

    return [
        Route("/api/approvals/{id}/picture", Address(person.check, GET=sighted)),
        Route("/api/dashboard/profiles", Address(person.check, GET=profiled)),
        Route("/api/dashboard/profiles/{id}/end", Address(person.check, POST=ended)),
    ]


def _shown(profile: Profile, profiles: Profiles, is_running: bool) -> dict[str, Any]:
    places = {"user_data_dir": str(profiles.data_dir(profile)), "proxy_server": shown_proxy(profile.proxy_server)}
    return msgspec.to_builtins(profile) | places | {"running": is_running}
