"""What nobody finds because it is not drawn: that it is there, and what a person would press to see it.

Above: locate, tools. Below: candidates, guesses, tab, world.
"""

from typing import Any

from pilothouse.browser import candidates
from pilothouse.browser.guesses import honest
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World, WorldGone
from pilothouse.errors import Failure

LOOK_S = 2.0
OPEN_IT = "open what it is in (a menu, a tab, a dialog)"


async def openers(tab: Tab, world: World, target: str) -> list[str] | None:
    """The controls that show what this target would find; None if there is no such thing, or the page is too busy."""
    try:
        found: list[dict[str, Any]] = await world.call("unshown", target, timeout=LOOK_S)
        there = await honest(tab, world, target, [one["n"] for one in found])
    except (WorldGone, Failure):
        return None  # what is told already matters more than this
    lines = [candidates.line(one["opener"]) for one in found if one["opener"] and one["n"] in there]
    return candidates.shown(tab, world, list(dict.fromkeys(lines))) if there else None
