"""What Chrome does not let an extension do, and what to do instead.

Above: relay and browserwide answer with it; docs and tests read it. Below: errors. Each was tried through
`chrome.debugger` (M): the methods here are refused, all others that the engine uses work.
"""

import re
from typing import Any

from pilothouse.errors import Failure

_ISOLATED = 'use a session of another kind: open_session(browser="isolated")'
_ABOUT_FILES = [
    "ask the person to switch on `Allow access to file URLs` for Pilothouse in chrome://extensions",
    _ISOLATED,
]

INSTEAD: dict[str, tuple[str, list[str]]] = {
    "Browser.setPermission": (
        "permissions of sites in the person's own Chrome are the person's",
        ["ask the person to answer Chrome's question", _ISOLATED],
    ),
    "DOM.setFileInputFiles": ("Chrome does not let the extension hand files to pages", _ABOUT_FILES),
    "SystemInfo.getProcessInfo": ("Chrome does not tell an extension what its processes cost", [_ISOLATED]),
    "Target.createBrowserContext": ("the person's own Chrome has one world of cookies", [_ISOLATED]),
    "Target.createTarget hidden": (
        "log-ins of the person's own Chrome are not carried to or from other sessions",
        ["work in a tab of that site", "get_cookies and set_cookie work on one site", _ISOLATED],
    ),
}
_REFUSED = re.compile(r"not allowed|wasn't found|untrusted client", re.IGNORECASE)


def unsupported(method: str) -> Failure:
    why, steps = INSTEAD.get(method, (f"Chrome does not let an extension do this ({method})", [_ISOLATED]))
    return Failure("unsupported", why, suggestions=steps)


def refusal_of(method: str, error: dict[str, Any]) -> Failure | None:
    """What Chrome's own refusal means; None when the command itself was wrong."""
    said = str(error.get("message", ""))
    is_missing = error.get("code") == -32601
    return unsupported(method) if is_missing or _REFUSED.search(said) else None
