"""Every way a call can fail, on one page.

Above: everything. Below: nothing. There is one exception class; its `code` says what happened, and the table
below says what follows from it, so a caller reads this file once and knows them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pilothouse.result import Image  # the bridge reads this file too, and has no time for what is below that one


class Kind(NamedTuple):
    category: str
    retryable: bool
    status: int
    meaning: str


CODES: dict[str, Kind] = {
    "bad_request": Kind("protocol", False, 400, "The arguments do not fit the tool's schema."),
    "unknown_tool": Kind("protocol", False, 404, "There is no tool of that name."),
    "not_found": Kind("browser", False, 404, "Nothing matches: element, tab, frame, request or session."),
    "ambiguous": Kind("browser", False, 409, "Several elements match a text, a label or a role; use the ref of one."),
    "stale_ref": Kind("browser", False, 409, "The ref's document or element is gone; take a new snapshot."),
    "not_actionable": Kind("browser", True, 409, "The element is hidden, disabled, covered or moving."),
    "timeout": Kind("browser", True, 504, "The deadline passed first."),
    "navigation_failed": Kind("browser", True, 502, "The browser could not load the address."),
    "page_error": Kind("browser", False, 422, "Script in the page threw."),
    "dialog_open": Kind("browser", False, 409, "A dialog blocks the tab; answer it with handle_dialog."),
    "tab_closed": Kind(
        "browser",
        False,
        410,
        "The tab was closed during the call (before it: not_found).",
    ),
    "tab_crashed": Kind("browser", True, 502, "The tab's renderer crashed; navigate, reload and go_back revive it."),
    "in_use": Kind("browser", True, 409, "Another browser or session uses it; end that one first."),
    "browser_gone": Kind("browser", True, 503, "The browser ended; the next call starts a new one."),
    "unsupported": Kind("browser", False, 501, "This kind of browser cannot do that."),
    "denied": Kind("security", False, 403, "The policy forbids it."),
    "approval_denied": Kind("security", False, 403, "A person said no, or nobody answered in time."),
    "approval_pending": Kind("security", True, 202, "A person has not answered yet; repeat the call."),
    "paused": Kind("security", True, 409, "A person has taken the wheel of the session; repeat the call later."),
    "over_limit": Kind("system", True, 429, "A limit is reached."),
    "unauthorized": Kind(
        "security",
        False,
        401,
        "The key is missing or wrong (403: Origin or kind of key, 421: Host).",
    ),
    "system": Kind("system", False, 500, "Pilothouse itself failed."),
}


class Failure(Exception):
    """A call ended without doing what was asked. `suggestions` never carry text from a page; `images` are those of
    steps that were done before."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        suggestions: list[str] | None = None,
        retryable: bool | None = None,
        images: list[Image] | None = None,
    ) -> None:
        super().__init__(message)
        kind = CODES[code]
        self.code = code
        self.message = message
        self.details = details or {}
        self.suggestions = suggestions or []
        self.images = images or []
        self.retryable = kind.retryable if retryable is None else retryable

    @property
    def category(self) -> str:
        return CODES[self.code].category

    @property
    def status(self) -> int:
        return CODES[self.code].status

    def to_dict(self, **metadata: Any) -> dict[str, Any]:
        return {
            "code": self.code,
            "category": self.category,
            "message": self.message,
            "details": self.details,
            "suggestions": self.suggestions,
            "retryable": self.retryable,
            "metadata": metadata,
        }

    def to_text(self) -> str:
        """What the model reads: the code, the sentence, and the next step."""
        lines = [f"{self.code}: {self.message}"]
        lines += [f"- {step}" for step in self.suggestions]
        return "\n".join(lines)


def no_such_status(at_least: int, at_most: int) -> Failure:
    """Of a filter that nothing can pass: an empty answer would read as good news."""
    why = f"no status is at least {at_least} and at most {at_most}"
    return Failure("bad_request", why, suggestions=["exchange the two, or leave one out"])
