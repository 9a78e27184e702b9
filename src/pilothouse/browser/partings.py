"""Sessions in the person's own Chrome, or in a profile, that ended by another hand than their caller's: who comes back
is told, and goes on there or nowhere.

Above: sessions. Below: session's options, errors. Without this the next call would open a private browser and report
success, as if nothing had happened.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import msgspec

from pilothouse.browser.session import Options
from pilothouse.errors import Failure

KEPT = 200

Owner = tuple[str, str]
Name = TypeVar("Name", Owner, str)


class Parting(msgspec.Struct):
    """What a session was, and why it is no more. `lasting`: it cannot be opened again as it was."""

    options: Options
    code: str
    why: str
    steps: list[str]
    lasting: bool = False
    told: bool = False

    def failure(self) -> Failure:
        return Failure(self.code, self.why, suggestions=self.steps)


def stopped(browser: str, options: Options) -> Parting:
    steps = ["ask the person; they allow it again in the extension's popup", _OR_ELSE]
    return Parting(options, "denied", f"the person stopped everything in {browser}", steps)


def forgotten(browser: str, options: Options) -> Parting:
    steps = ['ask the person to pair it again, then open_session(browser="extension")', _OR_ELSE]
    return Parting(options, "denied", f"{browser} was forgotten: it is not paired any more", steps, lasting=True)


def ended(profile: str, options: Options) -> Parting:
    steps = [f"ask the person before you start it again; then open_session(profile={profile!r})", _OR_ELSE]
    return Parting(options, "denied", f"the person ended the browser of profile {profile}", steps)


def begun_anew(browser: str, options: Options) -> Parting:
    """By a daemon before this one; what it did is over, and nobody forbade anything."""
    why = f"Pilothouse was started anew: the session in {browser} and its names of tabs are gone"
    return Parting(options, "browser_gone", why, [], told=True)


def idle(options: Options, long: str) -> Parting:
    return Parting(options, "not_found", f"the one before was closed, nobody had used it for {long}", [], told=True)


_OR_ELSE = 'to work in another browser, say so: open_session(browser="isolated")'


class Partings:
    """The last one of each caller's, and each by its session's handle."""

    def __init__(self) -> None:
        self._last: OrderedDict[Owner, Parting] = OrderedDict()
        self._by_session: OrderedDict[str, Parting] = OrderedDict()

    def note(self, owner: Owner, parting: Parting, session_id: str = "") -> None:
        _put(self._last, owner, parting)
        if session_id:
            _put(self._by_session, session_id, parting)

    def of_session(self, session_id: str) -> Failure | None:
        parting = self._by_session.get(session_id)
        return parting.failure() if parting else None

    def check(self, owner: Owner, is_allowed_again: Callable[[str], bool]) -> None:
        """Whoever does not say where to work hears it once; as long as it cannot be mended, each time. Who comes after
        the person has allowed it again goes on, and hears it with the new session."""
        parting = self._last.get(owner)
        if parting and not parting.lasting and is_allowed_again(parting.options.profile):
            return
        if parting and (parting.lasting or not parting.told):
            parting.told = True
            raise parting.failure()

    def of(self, owner: Owner) -> Parting | None:
        return self._last.get(owner)

    def options(self, owner: Owner) -> Options | None:
        """With what a session is opened for who had one there, whatever their defaults are."""
        parting = self.of(owner)
        return parting.options if parting else None

    def settle(self, owner: Owner) -> None:
        """They have a session again."""
        self._last.pop(owner, None)

    def forget(self, *, key: str = "", connection: str = "") -> None:
        """Nobody comes back with this key, or by this connection."""
        for owner in [one for one in self._last if (key and one[0] == key) or (connection and one[1] == connection)]:
            del self._last[owner]


def _put(kept: OrderedDict[Name, Parting], name: Name, parting: Parting) -> None:
    kept.pop(name, None)
    kept[name] = parting
    while len(kept) > KEPT:
        kept.popitem(last=False)
