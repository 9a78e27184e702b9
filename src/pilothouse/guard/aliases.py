"""One place under many names: a rule that forbids an address forbids every name that leads there.

Above: judgement (names that spell an address out), policy's view (what a name was resolved to). Below: rules, address.
Loopback is one place, however it is spelled: `127.0.0.1`, `[::1]`, `localhost`, and `0.0.0.0`, which connects there.
"""

from pilothouse.guard.address import Address, is_local_name, is_loopback, literal, unwrap
from pilothouse.guard.patterns import Place
from pilothouse.guard.rules import Rule, Rules

LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")


def barring(rules: Rules, place: Place, address: Address) -> Rule | None:
    """The rule that forbids this address; none if another names the place as it is spelled, no less exactly, and
    allows it."""
    names = dict.fromkeys((*(LOOPBACK if is_loopback(address) else ()), str(unwrap(address))))
    found = [
        one
        for name in names
        for one in rules.by_host.get((False, name), ())
        if one.pattern.fits(Place(place.scheme, name, place.port))
    ]
    most = max((_exactness(one) for one in found), default=None)
    denied = next((one for one in found if not one.read and _exactness(one) == most), None)
    own = rules.of(place)
    if denied and own and own.read and own.pattern.host and not own.pattern.below:
        return denied if bool(denied.pattern.port) > bool(own.pattern.port) else None
    return denied


def spelled_out(host: str) -> Address | None:
    """The address that a host is by its name alone."""
    return literal("127.0.0.1") if is_local_name(host) else literal(host)


def _exactness(rule: Rule) -> tuple[bool, bool]:
    return bool(rule.pattern.port), bool(rule.pattern.scheme)
