"""Going somewhere: to an address, back, forward, again; and knowing when one has arrived.

Above: tools. Below: tab, cdp. One deadline covers the whole way.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from pilothouse.browser import viewer
from pilothouse.browser.border import Refusal
from pilothouse.browser.giving_up import STOP_S, give_up
from pilothouse.browser.listeners import look_ahead
from pilothouse.browser.network import NO_PAGE, Request
from pilothouse.browser.settle import Mark, arrived, settle
from pilothouse.browser.stuck import STUCK_S, free, open_up
from pilothouse.browser.tab import MAX_TITLE, Document, Tab
from pilothouse.browser.unreached import in_words
from pilothouse.cdp.connection import ProtocolError
from pilothouse.doing import doing
from pilothouse.errors import Failure
from pilothouse.result import counted, plain_url

IDLE_S = 0.5
OVERTAKEN_TRIES = 5
PROBE_S = 0.5
ERROR_PAGE_S = 1.0
MAX_URL_CHARS = 300
MAX_URL_TOLD = 120  # while it is loading
BLANK = "about:blank"  # what a tab of ours begins with: nobody has been there
FRESH_S = 10.0  # for so long a page that nobody has waited for counts as the next one
_TRANSIENT = {
    "net::ERR_CONNECTION_RESET",
    "net::ERR_CONNECTION_CLOSED",
    "net::ERR_EMPTY_RESPONSE",
    "net::ERR_NETWORK_CHANGED",
    "net::ERR_SOCKET_NOT_CONNECTED",
    "net::ERR_HTTP2_PROTOCOL_ERROR",
}


class Arrival(msgspec.Struct, frozen=True):
    url: str
    title: str
    status: int = 0
    note: str = ""


async def navigate(tab: Tab, url: str, wait_until: str, timeout: float) -> Arrival:
    end = asyncio.get_running_loop().time() + timeout
    with doing(lambda: _loading(tab, f"loading {plain_url(tab.terms.redact_text(url), MAX_URL_TOLD)}")):
        return await _navigate(tab, url, wait_until, end)


async def _navigate(tab: Tab, url: str, wait_until: str, end: float) -> Arrival:
    retried, revived = False, _revived(tab)
    async with _leaving(tab):
        for tries_left in reversed(range(OVERTAKEN_TRIES)):
            before = tab.document
            reply = await _go(tab, url, end)
            if tries_left and _overtaken(tab, before, reply):
                continue
            if tries_left and reply.get("errorText") in _TRANSIENT and not retried:
                retried = True
                continue
            if reply.get("errorText"):
                return await _not_arrived(tab, url, before, reply, retried)
            if not (loader := reply.get("loaderId")):
                break
            await _until(tab, lambda loader=loader: loader in tab.route.loaders, end, url)
            await _arrive(tab, before, wait_until, end)
            if not tab.route.taken_back(loader):
                break
    return await _arrival(tab, revived, "the first try failed on the network; the second worked" if retried else "")


def _overtaken(tab: Tab, before: Document, reply: dict[str, Any]) -> bool:
    """A page that moves by itself may break off our navigation with one of its own; the one that was asked for wins."""
    if reply.get("errorText") != "net::ERR_ABORTED" or reply.get("isDownload"):
        return False
    request = tab.network.by_loader(reply.get("loaderId", ""))
    if request and request.status in NO_PAGE:  # it was answered; to ask again would do again what it did there
        return False
    return tab.route.navigating or tab.document is not before


async def reload(tab: Tab, wait_until: str, timeout: float) -> Arrival:
    if tab.network.was_sent(tab.document.loader_id):
        raise Failure(
            "denied",
            "a form brought this page: to load it again would send the form again",
            details={"rule": "built in"},
            suggestions=["navigate to its address", "or go back, and send the form anew"],
        )
    end = asyncio.get_running_loop().time() + timeout
    revived = _revived(tab)
    with doing(lambda: _loading(tab, "loading the page again")):
        async with _leaving(tab):
            before = tab.document
            await tab.channel.send("Page.reload")
            await _come(tab, lambda: tab.document is not before, end, tab.url)
            await _arrive(tab, before, wait_until, end)
        return await _arrival(tab, revived)


async def history(tab: Tab, step: int, timeout: float) -> Arrival:
    """The navigation history, not `history.back()`: that one is silent when there is nothing to go back to."""
    end = asyncio.get_running_loop().time() + timeout
    revived = _revived(tab)
    told, _ = await asyncio.gather(tab.channel.post("Page.getNavigationHistory"), open_up(tab))
    entry = _entry(told, step)
    with doing(lambda: _loading(tab, f"going {'back' if step < 0 else 'forward'}")):
        await _go_to(tab, entry, end)
        return await _arrival(tab, revived)


async def _go_to(tab: Tab, entry: dict[str, Any], end: float) -> None:
    async with _left(tab) as mark:
        before, moves, inner = tab.document, tab.route.moves, tab.frames.inner_moves

        def has_come() -> bool:
            """A step of the history may be one of a frame, of which the page itself hears nothing."""
            within = tab.route.moves > moves or (tab.frames.inner_moves > inner and not tab.route.navigating)
            return tab.document is not before or within

        tab.channel.post("Page.navigateToHistoryEntry", entryId=entry["id"])
        await _come(tab, has_come, end, entry["url"])
        if tab.document is not before:
            if tab.document.whole:  # it comes back as it was left, and the history knows what it was called
                tab.title = tab.title or entry["title"][:MAX_TITLE]
            await _arrive(tab, before, "domcontentloaded", end)
    if tab.document is before:
        await settle(tab, mark)  # a move within the page is an action of it


def _revived(tab: Tab) -> str:
    """What is told to who goes anywhere with a crashed tab, if they arrive."""
    return "the tab's renderer had crashed; it was revived, its state is new" if tab.crashed else ""


def _entry(told: dict[str, Any], step: int) -> dict[str, Any]:
    index = told["currentIndex"] + step
    if not 0 <= index < len(told["entries"]) or (index == 0 and told["entries"][0]["url"] == BLANK):
        way = "back" if step < 0 else "forward"
        raise Failure("not_found", f"there is no page to go {way} to", suggestions=["navigate to an address instead"])
    return told["entries"][index]


async def next_navigation(tab: Tab, wait_until: str, timeout: float) -> Arrival:
    """The next page; the one that the last action has begun, or brought a moment ago, counts, once."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    if loop.time() - tab.route.strayed_at > FRESH_S:
        tab.route.strayed_at = 0.0

    def over() -> bool:
        return bool((tab.route.strayed_at and not tab.route.navigating) or tab.hindrance())

    with doing(lambda: "waiting for the next page"):
        if not await tab.signal.until(over, timeout):
            raise _nowhere(tab)
    if failure := tab.hindrance():
        raise failure
    with doing(lambda: _loading(tab, "loading the next page")):
        await _arrive(tab, None, wait_until, end)
        return await _arrival(tab)


def _loading(tab: Tab, what: str) -> str:
    """For who hears of it: an address that the page itself has chosen is not among it."""
    return f"{what}; {counted(len(tab.network.in_flight()), 'request')} open"


def _nowhere(tab: Tab) -> Failure:
    if tab.route.bound_for:
        return _late(tab, f"{short(tab.route.bound_for)} did not answer")
    return Failure(
        "timeout",
        f"the tab went nowhere in time: it is still at {short(tab.url)}",
        details={"url": short(tab.url)},
        suggestions=["get_page_state shows what the last action did", "a new tab is waited for by wait_for_new_tab"],
    )


@contextlib.asynccontextmanager
async def _leaving(tab: Tab) -> AsyncGenerator[Mark]:
    """A page that is left must let go: script that keeps it from answering is broken off.

    Before the navigation begins, because from then on until it ends Chrome holds back what we would say to the page
    (M); and while it lasts, because `beforeunload` runs only then.
    """
    await open_up(tab)
    # A crashed page hears nothing: what it is told would be forgotten when it comes back.
    with contextlib.nullcontext() if tab.crashed else tab.entrance.shut():
        async with _left(tab) as mark:
            yield mark


@contextlib.asynccontextmanager
async def _left(tab: Tab) -> AsyncGenerator[Mark]:
    """The rest of leaving, for a page that is known to answer."""
    before, had_crashed = tab.document, tab.crashed
    tab.crashed = False  # going anywhere brings a new renderer
    mark = Mark(tab, tab.frames.main)
    letting_go = asyncio.ensure_future(_let_go(tab, before))
    try:
        yield mark
    except asyncio.CancelledError:
        give_up(tab)
        raise
    finally:
        letting_go.cancel()
        if had_crashed and tab.document is before:
            tab.crashed = True  # nothing came: a new renderer shows an empty page instead of the one that crashed (M)
    arrived(tab, mark)
    look_ahead(tab)


async def _let_go(tab: Tab, before: Document) -> None:
    while not await tab.signal.until(lambda: tab.document is not before or tab.closed, STUCK_S):
        await free(tab, PROBE_S)


async def _go(tab: Tab, url: str, end: float) -> dict[str, Any]:
    remaining = end - asyncio.get_running_loop().time()
    to_stop_s = min(STOP_S, remaining / 4)
    try:
        return await tab.channel.send("Page.navigate", url=url, timeout=remaining - to_stop_s)
    except ProtocolError as error:
        raise Failure("navigation_failed", f"{short(url)}: {error.reason}") from error
    except Failure as failure:
        if failure.code == "timeout":
            raise await _given_up(tab, url, to_stop_s) from None
        raise


async def _given_up(tab: Tab, url: str, to_stop_s: float) -> Failure:
    """Who is told so must not see it come because its server, or a person, answers just now."""
    pending, before = tab.asked_about, tab.document
    await asyncio.wait({give_up(tab)}, timeout=to_stop_s)
    if pending:
        return pending
    where = "still" if tab.document is before else "now"
    told = f"{short(url)} sent no page in time and was given up; the tab is {where} at {short(tab.url)}"
    return Failure("timeout", told, details={"given_up": short(url)}, suggestions=["try a longer timeout_ms"])


async def _not_arrived(tab: Tab, url: str, before: Document, reply: dict[str, Any], retried: bool) -> Arrival:
    error = reply["errorText"]
    if reply.get("isDownload"):
        return Arrival(tab.url, tab.title, note="the address is a download; the page stayed as it was")
    if error == "net::ERR_ABORTED":
        return Arrival(tab.url, tab.title, note=_no_page(tab.network.by_loader(reply.get("loaderId", ""))))
    # The browser's own page about it comes a moment later; it must not surprise the next call.
    await tab.signal.until(lambda: tab.document is not before or tab.closed, ERROR_PAGE_S)
    request = tab.network.by_loader(reply.get("loaderId", ""))
    raise _failed(tab, url, error, request, " (tried twice)" if retried else "")


def _no_page(request: Request | None) -> str:
    if request and request.status:
        return f"the server answered {request.status} and sent no page; the tab stayed where it was"
    return "no page came: a newer navigation took over, or it was stopped"


def _failed(tab: Tab, url: str, error: str, request: Request | None, again: str = "") -> Failure:
    """What failed may be the last of several redirects: the reason is asked for there. The network does not wait for a
    person as long as they may take to answer."""
    last = request.whole_url if request else url
    if (pending := tab.asked_about) and tab.asking == last.partition("#")[0]:
        return pending
    shown = short(url)
    details = {"error": error, "url": shown}
    if refusal := tab.refusal(last):
        return _refused(shown, refusal, details)
    if request and request.blocked:
        advice = "clear_intercepts takes the session's rules back"
        return Failure(
            "navigation_failed",
            f"{short(last)}: {request.blocked}",
            details=details,
            suggestions=[advice],
            retryable=False,
        )
    why = tab.explain(last)
    if why and tab.denies(last):
        advice = "go to an address that is allowed, or ask for a session that may go there"
        return Failure("denied", f"{shown}: {why}", details=details, suggestions=[advice])
    words, advice = in_words(error, request)
    steps = [advice, *(["the tab shows the browser's error page now"] if tab.document.unreachable else [])]
    return Failure("navigation_failed", f"{shown}: {why or words}{again}", details=details, suggestions=steps)


def _refused(shown: str, refusal: Refusal, details: dict[str, str]) -> Failure:
    """A person reads the line; an agent cannot add it."""
    told = {"rule": refusal.rule, "line": refusal.line}
    return Failure(
        "denied",
        f"{shown}: {refusal.why}",
        details={**details, **{name: text for name, text in told.items() if text}},
        suggestions=["go to an address that is allowed", "or let a person change policy.toml"],
    )


async def _come(tab: Tab, has_come: Callable[[], bool], end: float, url: str) -> None:
    """Until the page that was asked for is there, loaded or not; else it is given up."""
    to_stop_s = min(STOP_S, (end - asyncio.get_running_loop().time()) / 4)
    try:
        await _until(tab, has_come, end - to_stop_s, url)
    except Failure as failure:
        if failure.code != "timeout":
            raise
        raise await _given_up(tab, url, to_stop_s) from None


async def _arrive(tab: Tab, before: Document | None, wait_until: str, end: float) -> None:
    url = tab.url
    await _until(tab, lambda: tab.document is not before, end, url)
    if tab.document.unreachable:
        request = tab.network.by_loader(tab.document.loader_id)
        error = request.failure if request else "it could not be loaded"
        raise _failed(tab, tab.document.unreachable, error, request)
    await _until(tab, lambda: tab.document.dom_ready, end, url)
    if wait_until == "domcontentloaded":
        return
    await _until(tab, lambda: tab.document.loaded, end, url)
    if wait_until == "networkidle":
        try:
            await asyncio.wait_for(tab.network.idle(IDLE_S), end - asyncio.get_running_loop().time())
        except TimeoutError:
            raise _late(tab, "the network did not come to rest") from None


async def _until(tab: Tab, condition: Callable[[], bool], end: float, url: str) -> None:
    def over() -> bool:
        return bool(condition() or tab.dialog or tab.closed or tab.crashed)

    remaining = end - asyncio.get_running_loop().time()
    if not await tab.signal.until(over, max(remaining, 0)):
        tab.document.given_up = True
        raise _late(tab, f"{short(url)} did not finish loading")
    tab.check_open()
    tab.check_dialog()
    if tab.crashed:
        steps = ["reload tries once more; or navigate elsewhere"]
        raise Failure("tab_crashed", "the tab's renderer crashed while loading", suggestions=steps)


def short(url: str) -> str:
    """Addresses may be as long as a page likes; a message may not."""
    return url if len(url) <= MAX_URL_CHARS else f"{url[:MAX_URL_CHARS]}…"


def _late(tab: Tab, what: str) -> Failure:
    return Failure(
        "timeout",
        f"{what} in time",
        details={"url": short(tab.url), "dom_ready": tab.document.dom_ready, "loaded": tab.document.loaded},
        suggestions=['wait_until="domcontentloaded" waits for less', "the page may be usable: take a snapshot"],
    )


async def _arrival(tab: Tab, *notes: str) -> Arrival:
    tab.route.strayed_at = 0.0
    if not tab.title and not await tab.learn_title():
        notes += ("the page has arrived; its script keeps it busy",)
    if told := viewer.note(tab):
        notes += (told,)
    request = tab.network.by_loader(tab.document.loader_id)
    return Arrival(tab.url, tab.title, request.status if request else 0, "\n".join(filter(None, notes)))
