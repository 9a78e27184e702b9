"""What pages of other machines are debugged with: the proxy, if it is wanted; the cocoons, which can be written down
before that; the hub, which may serve proxies elsewhere.

Above: daemon. Below: proxy (the door of its port), cocoons, hub.
"""

import logging
import os
from pathlib import Path

from pilothouse.cocoons import Cocoons, origin_of
from pilothouse.doors.proxy import ProxyDoor, bound
from pilothouse.guard.keys import Keys
from pilothouse.guard.known import known
from pilothouse.guard.resolve import Resolver
from pilothouse.guard.token import Signer
from pilothouse.hub.hub import Hub
from pilothouse.options import Config
from pilothouse.proxy.lines import Lines

_log = logging.getLogger(__name__)


class Debugging:
    def __init__(self, settings: Config, file: Path, keys: Keys, own_port: int) -> None:
        self._listener, proxy = bound(settings.proxy) if settings.proxy.enabled else (None, settings.proxy)
        ports = {own_port, proxy.port}
        self.cocoons = Cocoons(file, proxy, forbidden_ports=ports, on_mistake=_log.warning)
        self._door: ProxyDoor | None = None
        signer = Signer(hive_secrets(keys))
        self.hub = Hub(self.cocoons, signer, settings.hub.memory_mb * 1_000_000)
        if self._listener is not None:
            self._door = ProxyDoor(self.cocoons, signer, Lines(Resolver(settings.network.hosts), ports))

    @property
    def url(self) -> str:
        """Where browsers find it; empty where it is off."""
        return origin_of("", self.cocoons.proxy) if self._door else ""

    @property
    def connections(self) -> int:
        return self._door.connections if self._door else 0

    async def listen(self) -> None:
        if self._door and self._listener:
            await self._door.listen(self._listener)

    async def close(self) -> None:
        if self._door and self._listener:
            await self._door.close()
            self._listener.close()


def hive_secrets(keys: Keys) -> list[str]:
    """HIVE_SECRET, and the one before it while both are in use; else one that this home keeps."""
    given = [one for name in ("HIVE_SECRET", "HIVE_SECRET_PREVIOUS") if (one := os.environ.get(name))]
    found = given or [keys.hive()]
    known.know("hive", {f"hive secret {number}": one for number, one in enumerate(found)})
    return found
