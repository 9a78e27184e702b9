"""From a tool's arguments to what it points at: which of them name elements, points, keys or a dialog.

Above: the gate, before it asks the policy. Below: browser (which looks), guard's `Aim`, tool. A tool that writes and
takes a target is judged by it without anything being declared; of one that hands it to script, its place is judged.
"""

from typing import Any

import msgspec

from pilothouse.browser import keys
from pilothouse.browser.aim import Held, Pointing, Sight, Target
from pilothouse.browser.tab import Tab
from pilothouse.guard.policy import Aim
from pilothouse.tool import Access, Tool

_TARGETS = ("target", "ref", "to")
_CLICKS = {"click", "double_click", "right_click", "click_ref"}
_VALUES = {"text", "values", "fields"}  # a tool that takes one of these fills, the others press


def spelled(how: Pointing | None, args: Any) -> Any:
    """A key in its one spelling: so it is judged, remembered when it was denied, logged and pressed."""
    return msgspec.structs.replace(args, key=keys.named(args.key)) if how and how.keys else args


def pointing(tool: Tool, args: msgspec.Struct) -> Pointing | None:
    """How the call points at a page; None when it does not."""
    if tool.scope != "Tab" or tool.access not in (Access.WRITE, Access.SENSITIVE):
        return None
    given: dict[str, Any] = {name: getattr(args, name) for name in tool.takes}
    targets = [given[name] for name in _TARGETS if given.get(name)]
    if tool.access is Access.SENSITIVE:
        return _handing(given, tuple(targets))
    if "accept" in given:
        return Pointing(dialog=True)
    if "x" in given and "y" in given:
        return Pointing(point=(given["x"], given["y"]))
    if "key" in given:
        soon = given.get("count", 1) == 1 and "+" not in given["key"][:-1]  # modifiers are keys of their own
        return Pointing(keys=True, enters=keys.presses(given["key"]), soon=soon)
    targets += [one.target for one in given.get("fields", ())]
    if not targets:
        return None
    enters = bool(given.get("submit")) or ("delay_ms" in given and keys.enters(given["text"]))
    return Pointing(tuple(targets), fills=bool(_VALUES & given.keys()) or tool.name == "focus_ref", enters=enters)


def _handing(given: dict[str, Any], targets: tuple[Target, ...]) -> Pointing | None:
    """Files are handed to a field, and elements to script; what else is sensitive points at nothing."""
    if "files" in given:
        return Pointing(targets, fills=True) if targets else Pointing(chooser=True)
    return Pointing(targets, script=True) if targets else None


async def aimed(tab: Tab, tool: Tool, how: Pointing, *, at_once: bool) -> Held:
    """What the call points at, found and held for the tool that will run. `at_once`: as far as is known, it may."""
    held = Held(msgspec.structs.replace(how, clicks=at_once and tool.name in _CLICKS, soon=at_once and how.soon))
    await held.look(tab)
    return held


def as_aims(sights: tuple[Sight, ...]) -> tuple[Aim, ...]:
    return tuple(Aim(**msgspec.structs.asdict(one)) for one in sights)
