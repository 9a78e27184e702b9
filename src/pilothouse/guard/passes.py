"""How the person's own pages get in: a ticket that opens once, and the pass that it is exchanged for.

Above: the dashboard's door gives both, the panel's door gives passes, http asks whether one holds. Below: errors. A
ticket lives a minute, in memory. A pass is signed with the person's key and a secret of this daemon's life: it ends
with either, with the browser it was given to, or after half a day. Any program may listen on our port once we are gone;
what a page would tell it then opens nothing any more.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from pilothouse.errors import Failure

TICKET_S = 60.0
PASS_S = 12 * 3600
MAX_TICKETS = 20
PREFIX = "pass"
NOBODY = "-"  # a page that no browser was paired for
_PURPOSE = "pilothouse page pass 1"


class Passes:
    """`key` gives the person's key as it is now. `knows` says whether an install of the extension is still paired."""

    def __init__(
        self,
        key: Callable[[], str],
        knows: Callable[[str], bool] = lambda install: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._knows = knows
        self._clock = clock
        self._life = secrets.token_hex(32)
        self._tickets: dict[str, tuple[float, str]] = {}  # by their hash: until when, and whose they are

    def new_ticket(self, holder: str = NOBODY) -> str:
        """Whose pass asked for it has the one that it is exchanged for, too: it ends with the same browser."""
        self._sweep()
        if len(self._tickets) >= MAX_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = secrets.token_urlsafe(32)
        self._tickets[_hash(ticket)] = (self._clock() + TICKET_S, holder)
        return ticket

    def redeem(self, ticket: str) -> str:
        """The pass for a ticket, which is void from now on."""
        self._sweep()
        if (found := self._tickets.pop(_hash(ticket), None)) is None:
            hint = "`pilothouse dashboard` makes a new link: each opens one page, within a minute"
            raise Failure("unauthorized", "this link was used, or is too old", suggestions=[hint])
        return self.new_pass(found[1])

    def new_pass(self, holder: str = NOBODY) -> str:
        """For a page, or for the side panel of an install of the extension."""
        until, nonce = int(self._clock() + PASS_S), secrets.token_hex(8)
        return f"{PREFIX}.{until}.{nonce}.{holder}.{self._seal(until, nonce, holder)}"

    def opens(self, secret: str) -> bool:
        """Whether it is a pass of ours that holds now."""
        parts = secret.split(".")
        if len(parts) != 5 or parts[0] != PREFIX or not _is_count(parts[1]):
            return False
        until, nonce, holder, seal = int(parts[1]), *parts[2:]
        is_ours = hmac.compare_digest(seal.encode("utf-8", "surrogatepass"), self._seal(until, nonce, holder).encode())
        return is_ours and self._clock() < until and (holder == NOBODY or self._knows(holder))

    def holder(self, secret: str) -> str:
        """Whose the secret is that let somebody in: that of a pass, or nobody's, if it was the key itself."""
        parts = secret.split(".")
        return parts[3] if len(parts) == 5 and parts[0] == PREFIX else NOBODY

    def _seal(self, until: int, nonce: str, holder: str) -> str:
        text = f"{_PURPOSE}|{until}|{nonce}|{holder}".encode("utf-8", "surrogatepass")
        return hmac.new(f"{self._life}|{self._key()}".encode(), text, hashlib.sha256).hexdigest()

    def _sweep(self) -> None:
        now = self._clock()
        self._tickets = {ticket: one for ticket, one in self._tickets.items() if one[0] > now}


def _hash(ticket: str) -> str:
    """They are looked up by it, so that time tells nothing about how near a guess came."""
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12
