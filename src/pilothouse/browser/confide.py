"""Registered secrets on their way into a field: only their own domains get them, and only where nobody can read along.

Above: fill, typist. Below: locate, world, terms (who knows the values). The document that is asked for its origin is
the very one that gets the value: both calls name its world, and a world ends with its document.
"""

from typing import Any

from pilothouse.browser import input as hand
from pilothouse.browser.locate import Element
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure

_ORIGIN = "() => self.origin"


def named(tab: Tab, value: str) -> str:
    """The name of the secret that a value stands for; empty for a value that is one itself."""
    return tab.terms.secrets.named(value) if tab.terms.secrets else ""


def refuse(tab: Tab, value: str) -> None:
    """For what types in the open, key by key."""
    if name := named(tab, value):
        raise Failure("bad_request", f"the secret {name} is not typed key by key", suggestions=["use type_text"])


async def receiver(element: Element) -> dict[str, Any]:
    """The field that would get it, and the origin of its document."""
    field = await element.world.call("receiver", element.local, {"seal": element.seal}, timeout=hand.CHECK_TIMEOUT_S)
    if field.get("fail") == "no_secret":
        raise Failure(
            "bad_request",
            f"{element.ref} cannot hold a secret",
            suggestions=["secrets go into text and password fields"],
        )
    hand.raise_if_unfit(element, field)
    return field


async def confide(tab: Tab, element: Element, field: dict[str, Any], name: str, *, clear: bool) -> tuple[str, int]:
    """Put the secret into its field; what the page made of it at once, if that is another thing, and how long it is."""
    assert tab.terms.secrets
    _check_own(tab, name, field["origin"])
    value, anywhere = tab.terms.secrets.reveal(name, field["origin"])
    options = {"clear": clear, "anywhere": anywhere, "origin": field["origin"], "seal": element.seal}
    if not field["hides"] and not anywhere:
        raise _readable(name, element)
    done = await element.world.call("confide", field["ref"], value, options, timeout=hand.CHECK_TIMEOUT_S)
    if done.get("fail") == "plain":
        raise _readable(name, element)
    hand.raise_if_unfit(element, done)
    return "" if done["same"] else f"the field holds {done['length']} characters now", done["length"]


async def choices(tab: Tab, element: Element, values: list[str]) -> list[str]:
    """Values of a list, with those of secrets in their place."""
    if not any(named(tab, value) for value in values):
        return values
    origin = await element.world.run(_ORIGIN, timeout=hand.CHECK_TIMEOUT_S)
    return [_chosen(tab, element, value, origin) for value in values]


def _chosen(tab: Tab, element: Element, value: str, origin: str) -> str:
    name = named(tab, value)
    if not name:
        return value
    assert tab.terms.secrets
    _check_own(tab, name, origin)
    found, anywhere = tab.terms.secrets.reveal(name, origin)
    if not anywhere:
        raise _readable(name, element)
    return found


def _check_own(tab: Tab, name: str, origin: str) -> None:
    """A page that the agent wrote would tell it whatever it is given."""
    if tab.is_mocked(origin):
        raise Failure(
            "denied",
            f"the secret {name} is not typed here: this session has answered in the place of {origin[:300]} (mock_url)",
            details={"rule": f"secret {name}", "origin": origin[:300]},
            suggestions=["open a session without mocks"],
        )


def _readable(name: str, element: Element) -> Failure:
    return Failure(
        "denied",
        f"{element.ref} is no password field: who sees the page or a picture of it could read the secret {name}",
        details={"rule": f"secret {name}"},
        suggestions=["use the password field", "or a person allows it: pilothouse secret set NAME --any-field"],
    )
