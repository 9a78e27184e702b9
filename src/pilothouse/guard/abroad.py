"""Gateways for browsers on other machines, as the configuration has them.

Above: the daemon hands it to browser.remote; doctor tries it. Below: sluice, config.
"""

import ipaddress
from collections.abc import Sequence

from pilothouse.errors import Failure
from pilothouse.guard.sluice import Gateway, Network, Sluice
from pilothouse.options import Sluice as Settings

EVERYWHERE = "0.0.0.0"


class Abroad:
    def __init__(self, sluice: Sluice, settings: Settings) -> None:
        self._sluice = sluice
        self._told = settings
        self._nodes: list[Network] = [ipaddress.ip_network(one, strict=False) for one in settings.nodes]

    async def __call__(self, *, upstream: str = "", allowed: Sequence[str] = ()) -> tuple[Gateway, str]:
        """One, and the host at which nodes find it."""
        listen = self._told.listen or EVERYWHERE
        try:
            gateway = await self._sluice.open_abroad(listen, self._nodes, upstream=upstream, allowed=allowed)
        except OSError as error:
            raise Failure(
                "browser_gone",
                f"no gateway can be opened for a browser elsewhere: {(error.strerror or 'it failed').lower()}",
                suggestions=["a person looks at sluice.listen: `pilothouse doctor` tries it"],
            ) from None
        host = self._told.advertise
        return gateway, f"[{host}]" if ":" in host else host
