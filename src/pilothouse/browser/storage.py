"""What the page in the current frame keeps: local and session storage of its origin.

Above: tools, state. Below: tab (the isolated world; pages cannot tell who reads).
"""

from typing import Any

from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

TIMEOUT_S = 10.0
# In the isolated world, where the page's own changes to Storage do not count. Pages without an origin of their own
# (data:, sandboxed frames) have no storage; reading the property throws there.
_JS = """(area, verb, key, value) => {
  try {
    const store = area === "session" ? sessionStorage : localStorage;
    const origin = location.origin;
    if (verb === "write") return store.setItem(key, value), { origin };
    const keys = key === null ? Array.from({ length: store.length }, (_, i) => store.key(i)) : [key];
    const items = keys.map((one) => [one, store.getItem(one)]).filter(([, kept]) => kept !== null);
    if (verb === "clear") key === null ? store.clear() : store.removeItem(key);
    return { origin, items };
  } catch (error) {
    return { error: error.name === "QuotaExceededError" ? "full" : "none" };
  }
}"""


async def read(tab: Tab, area: str, key: str | None) -> tuple[str, dict[str, str]]:
    """The origin, and its items or the one of that key."""
    said = await _ask(tab, area, "read", key)
    return said["origin"], dict(said["items"])


async def write(tab: Tab, area: str, key: str, value: str) -> str:
    return (await _ask(tab, area, "write", key, value))["origin"]


async def clear(tab: Tab, area: str, key: str | None) -> tuple[str, int]:
    """The origin, and how many items are gone."""
    said = await _ask(tab, area, "clear", key)
    return said["origin"], len(said["items"])


async def _ask(tab: Tab, area: str, verb: str, key: str | None, value: str = "") -> dict[str, Any]:
    said = await tab.ask(_JS, area, verb, key, value, timeout=TIMEOUT_S)
    if said.get("error") == "full":
        raise Failure("over_limit", f"the page's {area} storage is full", suggestions=["clear_storage makes room"])
    if said.get("error"):
        raise Failure(
            "unsupported",
            f"this page has no {area} storage",
            suggestions=["navigate to an http or https page first", "switch_frame chooses another frame"],
        )
    return said
