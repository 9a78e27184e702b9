"""Which sites a context has been to: cookies do not tell, and a browser lists no storage by origin.

Above: browser (frames tell where they went), state. Below: nothing.
"""

from collections.abc import Iterator

MOST = 200


class Origins:
    """The latest ones, the last first."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    def __iter__(self) -> Iterator[str]:
        return reversed(self._seen)

    def add(self, url: str) -> None:
        if not (origin := origin_of(url)):
            return
        self._seen.pop(origin, None)
        self._seen[origin] = None
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]


def origin_of(url: str) -> str:
    """Empty for what has no storage of its own."""
    scheme, separator, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2]
    return f"{scheme}://{authority}" if scheme in ("http", "https") and separator and authority else ""


def authority_of(url: str) -> tuple[str, int]:
    """Host and port, as a connection names them."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2]
    host, colon, port = authority.rpartition(":")
    if not colon or not port.isdigit():
        host, port = authority, ""
    return host.strip("[]").lower(), int(port) if port else (443 if scheme in ("https", "wss") else 80)
