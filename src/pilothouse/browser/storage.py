"""What the page in the current frame keeps: local and session storage of its origin.

Above: tools, state. Below: tab (the isolated world; pages cannot tell who reads).
"""

from typing import Any

from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

TIMEOUT_S = 10.0


async def read(tab: Tab, area: str, key: str | None) -> tuple[str, dict[str, str]]:
    """The origin, and its items or the one of that key."""
    said = await _ask(tab, area, "stored", key)
    return said["origin"], dict(said["items"])


async def write(tab: Tab, area: str, key: str, value: str) -> str:
    return (await _ask(tab, area, "store", [[key, value]]))["origin"]


async def clear(tab: Tab, area: str, key: str | None) -> tuple[str, int]:
    """The origin, and how many items are gone."""
    said = await _ask(tab, area, "unstore", key)
    return said["origin"], said["gone"]


async def _ask(tab: Tab, area: str, function: str, what: Any) -> dict[str, Any]:
    said = await tab.call(function, area, what, timeout=TIMEOUT_S)
    if said.get("error") == "full":
        raise Failure("over_limit", f"the page's {area} storage is full", suggestions=["clear_storage makes room"])
    if said.get("error"):
        raise Failure(
            "unsupported",
            f"this page has no {area} storage",
            suggestions=["navigate to an http or https page first", "switch_frame chooses another frame"],
        )
    return said
