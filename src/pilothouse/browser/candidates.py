"""Elements as lines of an error or a hint: what else is there, with its ref.

Above: locate, unshown. Below: tab, world.
"""

from typing import Any

from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.result import quoted


def line(one: dict[str, Any]) -> str:
    return f"{one['role']} {quoted(one['name'])} {one['ref']}"


def shown(tab: Tab, world: World, lines: list[str]) -> list[str]:
    """What was found by letters that nobody is shown would tell of these."""
    clear = [one for one in lines if tab.terms.redact_registered(one) == one]
    return [tab.refs.render(world.uid, one) for one in clear]
