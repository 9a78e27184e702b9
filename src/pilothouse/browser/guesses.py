"""Targets that call a thing by its text, held against the text as it is shown: nobody finds a secret by guessing at it.

Above: locate, waits. Below: tab, world. A page's own search sees everything; what it found is looked at here, where the
registered values can be masked. Without any registered, nothing is.
"""

import re

from pilothouse.browser.frames import Frame
from pilothouse.browser.patterns import regular
from pilothouse.browser.tab import Tab
from pilothouse.browser.world import World
from pilothouse.errors import Failure

_BY_TEXT = re.compile(r"\s*(?:text|label)=(.*)", re.DOTALL)
# An xpath that looks at texts finds nothing that holds a secret; what it compares, nobody could tell in general.
_BY_XPATH = re.compile(
    r"\s*xpath=.*(?:text\s*\(|contains|starts-with|substring|string|normalize-space|translate|\[\s*\.)", re.DOTALL
)
_BY_NAME = re.compile(r"\s*role=.*?\[\s*name\s*=\s*(.*?)\s*\]\s*", re.DOTALL)
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)
_PATTERN = re.compile(r"/(.+)/[a-z]*", re.DOTALL)
_MARK = re.compile(r"\[secret:[^\]]*\]")
_GUESSES = (_BY_TEXT, _BY_NAME, _BY_XPATH)
LOOK_S = 10.0


def could_guess(tab: Tab, target: str) -> bool:
    """Whether a target is one by text, and there is a secret that such a text could be a part of."""
    return bool(tab.terms.secrets and tab.terms.secrets.some() and any(one.match(target) for one in _GUESSES))


async def honest(tab: Tab, world: World, target: str, matches: list[int]) -> list[int]:
    """Those of the matches that would also be found in what is shown of them."""
    if not could_guess(tab, target):
        return matches
    return [one for one in matches if _is_shown(tab, target, await world.call("heard", one, timeout=LOOK_S))]


def _is_shown(tab: Tab, target: str, heard: list[str]) -> bool:
    masked = [tab.terms.redact_registered(one) for one in heard]
    if masked == heard:
        return True
    shown = [" ".join(_MARK.sub("\0", one).split()) for one in masked]
    found = _BY_TEXT.match(target) or _BY_NAME.match(target)
    if not found:
        return False
    wanted = found[1].strip()
    if expression := _PATTERN.fullmatch(wanted):
        try:
            return any(map(regular(expression[1]), shown))
        except Failure:
            return False
    if quoted := _QUOTED.fullmatch(wanted):
        wanted = re.sub(r"\\(.)", r"\1", quoted[2])
    wanted = " ".join(wanted.split()).lower()
    return any(wanted in one.lower() for one in shown)


async def text_is_shown(tab: Tab, frame: Frame, text: str) -> bool:
    """Whether a frame's text holds this one where nothing is masked."""
    world = await tab.frames.ready(frame, LOOK_S)
    whole: str = await world.call("text", {}, timeout=LOOK_S)
    return text.lower() in tab.terms.redact_registered(whole).lower()
