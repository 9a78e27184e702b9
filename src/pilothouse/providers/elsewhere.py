"""The places that browsers elsewhere come from, as the configuration has them now.

Above: the daemon makes it, browser.remote asks it, doctor too. Below: endpoint, grid. A place that did not change stays
the same one, so that sessions go on sharing its browser.
"""

from collections.abc import Sequence

from pilothouse.options import Endpoint, Grid
from pilothouse.providers.endpoint import EndpointSource, Reveal
from pilothouse.providers.grid import NAME, GridSource

Source = EndpointSource | GridSource


class Elsewhere:
    def __init__(self, reveal: Reveal, *, holds: bool = False) -> None:
        """`holds`: browsers go out through gateways of ours, and by no other way."""
        self._reveal = reveal
        self._holds = holds
        self._written: dict[str, Endpoint | Grid] = {}
        self._sources: dict[str, Source] = {}

    def configure(self, endpoints: Sequence[Endpoint], grid: Grid) -> None:
        wanted: dict[str, Endpoint | Grid] = {one.name: one for one in endpoints}
        if grid.url:
            wanted[NAME] = grid
        self._sources = {
            name: self._sources[name] if self._written.get(name) == one else self._made(one)
            for name, one in wanted.items()
        }
        self._written = wanted

    def sources(self) -> dict[str, Source]:
        return self._sources

    def _made(self, one: Endpoint | Grid) -> Source:
        if isinstance(one, Grid):
            return GridSource(one, self._reveal, holds=self._holds)
        return EndpointSource(one, self._reveal)
