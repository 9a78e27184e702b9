"""The side panel of a paired browser: a pass of its own, and how many questions wait, told over the bridge.

Above: the bridge's links, both ends of which know each other. Below: guard's passes and approvals. With the pass the
panel comes to the person's addresses as any page of theirs does; it ends when the browser is forgotten.
"""

from pilothouse.guard.approvals import Approvals
from pilothouse.guard.passes import Passes
from pilothouse.providers.link import Link, Links

ANSWER_S = 5.0


class PanelDoor:
    def __init__(self, links: Links, passes: Passes, approvals: Approvals) -> None:
        self._links = links
        self._passes = passes
        self._approvals = approvals
        self._told: dict[str, int] = {}  # by browser: the last count
        links.on_new(self._meet)
        approvals.follow(lambda event: self._tell_all())

    def _meet(self, link: Link) -> None:
        link.on_event(lambda kind, tab, payload: self._give_pass(link) if kind == "panel" else None)
        link.on_state(lambda state: self._changed(link))

    def _changed(self, link: Link) -> None:
        """One that comes back, or is allowed again, is told in any case."""
        if link.connected:
            self._tell(link)
        else:
            self._told.pop(link.name, None)

    def _give_pass(self, link: Link) -> None:
        link.post("panel", {"pass": self._passes.new_pass(link.install)}, timeout=ANSWER_S)

    def _tell_all(self) -> None:
        for link in self._links:
            if link.connected:
                self._tell(link)

    def _tell(self, link: Link) -> None:
        """For the badge. Nobody waits for the answer, and one that is away is told when it is back."""
        count = len(self._approvals.pending())
        if count != self._told.get(link.name):
            self._told[link.name] = count
            link.post("waiting", {"count": count}, timeout=ANSWER_S)
