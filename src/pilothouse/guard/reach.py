"""How far a yes reaches, in words: what a person would allow, and what they have allowed.

Above: pending (a question's answers), grants. Below: question. One place, so that all who tell it say the same, and
what they say is what `Grant.covers` does.
"""

from pilothouse.guard.question import CHANGES, Risk
from pilothouse.tool import Access

ONCE = "this call, once"
SCRIPTS = ("evaluate_js", "wait_for")  # the latter asks only for a function of the caller's


def reach(scope: str, *, tool: str, domain: str, access: str, risk: Risk, once: bool) -> str:
    """`once`: it is asked once for the domain, and one answer covers just that."""
    if scope == "once":
        return ONCE
    if scope == "session" and tool in SCRIPTS:
        return f"{tool} on all sites: whatever a script can do there, payments too"
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
    if access == Access.SENSITIVE.value and risk == "medium":
        return f"{what}, also cookies, storage and scripts, which can do anything there, payments too"
    if access == Access.SENSITIVE.value:
        return f"{what}, also cookies and storage, not scripts{_most(risk)}"
    return f"{what}{_most(risk)}, not scripts"


def _most(risk: Risk) -> str:
    if risk == "medium":
        return ", also sending, deleting and passwords; not payments"
    return "; not sending, deleting, passwords or payments"
