"""How far a yes reaches, in words: what a person would allow, and what they have allowed.

Above: pending (a question's answers), grants. Below: question. One place, so that all who tell it say the same, and
what they say is what `Grant.covers` does.
"""

from pilothouse.guard.question import CHANGES, Risk
from pilothouse.tool import Access

ONCE = "this call, once"


def reach(scope: str, *, tool: str, domain: str, access: str, risk: Risk, once: bool) -> str:
    """`once`: it is asked once for the domain, and one answer covers just that."""
    if scope == "once":
        return ONCE
    if scope == "session":
        return f"{tool} on all sites{_most(risk)}"
    if once and domain.endswith(CHANGES):
        where = domain.removesuffix(CHANGES)
        return f"changes on {where}; not what is sensitive: sending, deleting, passwords, scripts, payments"
    if once:
        return f"visiting and reading {domain}; not changes there"
    if access in (Access.READ.value, Access.VISIT.value):
        return f"visiting and reading {domain}"
    what = f"changes on {domain}"
    if access == Access.SENSITIVE.value:
        return f"{what}, also scripts, cookies and storage{_most(risk)}"
    return f"{what}{_most(risk)}, not scripts"


def _most(risk: Risk) -> str:
    if risk == "medium":
        return ", also sending, deleting and passwords; not payments"
    return "; not sending, deleting, passwords or payments"
