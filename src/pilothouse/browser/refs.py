"""Numbers for elements: `e12` is used once in a session, over all its browsers, tabs, documents and frames.

Above: snapshot, locate, tab. Below: nothing. A world numbers its own elements; here each (world, local number) gets
one number and keeps it. A ref whose world is gone can never mean anything else; nor can one of those that were dropped
as the oldest of too many, nor one of another tab: who has not heard that a tab was closed presses nothing elsewhere.
"""

import re
import weakref

PLACEHOLDER = re.compile("\u0001(\\d+)\u0001")
MAX_REFS = 50_000
_REF = re.compile(r"\s*@?e([1-9]\d{0,8})\s*\Z")  # people write @e12 as well


class Numbers:
    """Of one session; each is given once."""

    def __init__(self) -> None:
        self.last = 0
        self.users: weakref.WeakSet[Refs] = weakref.WeakSet()

    def next(self) -> int:
        self.last += 1
        return self.last


class Refs:
    """Of one tab."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._all = numbers
        numbers.users.add(self)

    def count_on(self, numbers: Numbers) -> None:
        """Of the session that it works for from now on."""
        self._all.users.discard(self)
        self._numbers.clear()
        self._places.clear()
        self._all = numbers
        numbers.users.add(self)

    def number(self, uid: str, local: int) -> str:
        key = (uid, local)
        found = self._numbers.get(key)
        if found is None:
            self._numbers[key] = found = self._all.next()
            self._places[found] = key
            self._drop_oldest()
        return f"e{found}"

    def _drop_oldest(self) -> None:
        while len(self._numbers) > MAX_REFS:
            key = next(iter(self._numbers))
            del self._places[self._numbers.pop(key)]

    def place(self, ref: str) -> tuple[str, int] | None:
        """The world and local number behind `e12`; None when it was never given or its document is gone."""
        match = _REF.match(ref)
        return self._places.get(int(match[1])) if match else None

    def issued(self, ref: str) -> bool:
        match = _REF.match(ref)
        return bool(match) and int(match[1]) <= self._all.last

    def is_elsewhere(self, ref: str) -> bool:
        """Whether it is one of another tab, which is open."""
        return any(other.place(ref) for other in self._all.users if other is not self)

    def close(self) -> None:
        """Its tab is: what it gave is nowhere any more."""
        self._all.users.discard(self)

    def forget(self, uid: str) -> None:
        for key in [key for key in self._numbers if key[0] == uid]:
            del self._places[self._numbers.pop(key)]

    def render(self, uid: str, text: str) -> str:
        """Put our numbers where the world left its placeholders."""
        return PLACEHOLDER.sub(lambda match: self.number(uid, int(match[1])), text)


def is_ref(target: str) -> bool:
    return bool(_REF.match(target))
