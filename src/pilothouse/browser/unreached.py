"""Documents that could not be loaded, and why: Chrome shows a page of its own then, which knows less than we do.

Above: navigate, snapshot, reading, tools, telling. Below: tab, network.
"""

from pilothouse.browser.frames import Frame
from pilothouse.browser.network import Request
from pilothouse.browser.tab import Tab

# What Chrome's codes mean, and what can be done about it.
_WORDS = {
    "net::ERR_UNSAFE_PORT": (
        "Chrome opens no page on this port (net::ERR_UNSAFE_PORT)",
        "let the server listen on another port",
    ),
    "net::ERR_INVALID_AUTH_CREDENTIALS": (
        "the server answered 401: it asks for a user name and a password",
        "put both into the address, before the host: user, a colon, password, an @",
    ),
    "net::ERR_CACHE_MISS": (
        "a form brought this page, and the browser would have to send it again (net::ERR_CACHE_MISS)",
        "navigate to its address, or send the form anew",
    ),
    "net::ERR_INTERNET_DISCONNECTED": (
        "the tab is offline (net::ERR_INTERNET_DISCONNECTED)",
        "emulate with offline=false brings it back, if this session took it off",
    ),
    "net::ERR_TOO_MANY_REDIRECTS": (
        "the server redirects without end (net::ERR_TOO_MANY_REDIRECTS)",
        "cookies of an earlier visit may be the reason: try a new session",
    ),
}


def in_words(error: str, request: Request | None) -> tuple[str, str]:
    """What went wrong, and what to do about it."""
    if error == "net::ERR_HTTP_RESPONSE_CODE_FAILURE" and request:
        return f"the server answered {request.status} and sent no page", "get_network_request has what it sent"
    return _WORDS.get(error, (error, "check that the server runs and the address is right"))


def why(tab: Tab, frame: Frame | None = None) -> str:
    """Why the page, or a frame in it, could not be loaded; empty if it was."""
    shown = frame or tab.frames.main
    if not shown.unreachable:
        return ""
    request = tab.network.by_loader(shown.loader_id)
    last = request.whole_url if request else shown.unreachable  # of several redirects it may be the last that failed
    if (pending := tab.asked_about) and tab.asking == last.partition("#")[0]:
        return pending.message
    if refusal := tab.refusal(last):
        return refusal.why
    error = request.failure if request else tab.explain(last)
    return in_words(error, request)[0] or "nothing is known of the reason"


def line(tab: Tab, frame: Frame) -> str:
    """What stands for such a document wherever it is read; empty if it was loaded."""
    if not frame.unreachable:
        return ""
    return f"(this {'frame' if frame.parent else 'page'} could not be loaded: {why(tab, frame)})"
