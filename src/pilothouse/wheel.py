"""A person at the wheel: they see every session, take one over, act in it by hand, and give it back.

Above: the doors of the person (live, activity, looking). Below: browser (pictures, hands, pauses), the calls that a
person is asked about, guard's log and redaction. Agents never come here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from pilothouse.browser import hand
from pilothouse.browser.capture import screenshot
from pilothouse.browser.document import Dialog
from pilothouse.browser.hand import Gesture
from pilothouse.browser.network import Request, brief
from pilothouse.browser.picker import end_pick, pick, point
from pilothouse.browser.screencast import Frame, Screencasts, Viewer
from pilothouse.browser.session import Session
from pilothouse.browser.sessions import Sessions
from pilothouse.browser.sighting import Sighting, sighted
from pilothouse.browser.stream import Stream, Wanted
from pilothouse.browser.tab import Tab
from pilothouse.call import Visit
from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.guard.redact import redact_text, redact_tree
from pilothouse.permitting import Permits
from pilothouse.result import clean, clean_tree
from pilothouse.tool import Access

SHOTS_KEPT = 300
SHOT_QUALITY = 50
MAX_URL = 2000
PICK_S = 60.0
MAX_BODY = 20_000
_PICTURED = {Access.WRITE, Access.SENSITIVE}

Shown = dict[str, Any]


class Wheel:
    def __init__(self, sessions: Sessions, permits: Permits, audit: Audit) -> None:
        self._sessions = sessions
        self._permits = permits
        self._audit = audit
        self._casts = Screencasts()
        self._shots: OrderedDict[int, bytes] = OrderedDict()
        self._due: dict[Tab, tuple[Session, int]] = {}  # of which a picture is to be taken next
        self._taking: dict[Tab, asyncio.Task[None]] = {}
        self._listeners: set[Callable[[Shown], None]] = set()

    # Seeing

    def sessions(self) -> list[Shown]:
        return [_told(one) for one in self._sessions.every()]

    def on_event(self, stir: Callable[[], None]) -> Callable[[], None]:
        """Called whenever something happens in any session; the result ends it."""
        return self._sessions.follow(lambda session, event: stir())

    def running_profiles(self) -> set[str]:
        browsers = self._sessions.browsers
        return {one.profile.id for one in browsers.running()} if browsers else set()

    def check_running(self, profile: str) -> None:
        if profile not in self.running_profiles():
            raise Failure("not_found", f"no browser of profile {profile[:80]!r} is running")

    async def end_profile(self, profile: str) -> int:
        """Its browser, and everybody's sessions there; how many there were."""
        return await self._sessions.end_by_person(profile)

    async def watch(self, ident: str, tab: str, show: Callable[[Frame], None]) -> Viewer:
        """A tab that is watched is in use: in the person's own Chrome it is not let go meanwhile."""
        session, found = self._session(ident), self._tab(ident, tab)
        await session.context.wake(found)
        viewer = await self._casts.join(found, show, session.context.unwatched)
        session.watched += 1
        viewer.on_leave = partial(_unwatched, session)
        return viewer

    def follow(self, ident: str, tab: str, wanted: Wanted) -> Stream:
        """Console and network of one tab."""
        return self._session(ident).follow(wanted, lambda line: redact_tree(clean_tree(line)), tab)

    async def request(self, ident: str, tab: str, number: str) -> Shown:
        """One request with headers and bodies, as far as they are kept."""
        found = self._tab(ident, tab)
        request = found.network.get(number)
        if request is None:
            raise Failure("not_found", "this request is not kept any more")
        told = brief(request) | {
            "request_headers": request.request_headers,
            "request_body": (await found.network.post_data_of(request))[:MAX_BODY],
            "response_headers": request.response_headers,
            "response_body": await self._body(found, request),
        }
        return redact_tree(clean_tree(told))

    @staticmethod
    async def _body(tab: Tab, request: Request) -> str:
        try:
            body, is_base64 = await tab.network.body_of(request)
        except (LookupError, Failure):
            return "(the browser does not have it any more)"
        return "(not text)" if is_base64 else body[:MAX_BODY]

    async def sighting(self, ident: str) -> Sighting:
        """The page that a question is about, as it is now."""
        question = self._permits.approvals.question(ident)
        visit = self._permits.asked_about(question) if question else None
        if visit is None or visit.tab is None:
            raise Failure("not_found", "there is no page to look at for this question")
        held = visit.held
        return await sighted(visit.tab, held.elements, held.pointing.point) if held else await sighted(visit.tab, [])

    # Taking over

    async def take(self, ident: str) -> Shown:
        """Agents wait from now on; what one has begun runs to its end."""
        session = self._session(ident)
        if not session.pause.taken:
            await self._audit.decree("wheel_taken", session=ident, caller=session.owner[0], by="person")
            session.pause.take()
            session.used_at = asyncio.get_running_loop().time()
        return _told(session)

    async def give_back(self, ident: str) -> Shown:
        session = self._session(ident)
        if session.pause.taken:
            await self._audit.decree("wheel_given_back", session=ident, caller=session.owner[0], by="person")
            tab = session.current.name if session.current else ""
            session.used_at = asyncio.get_running_loop().time()
            session.pause.give_back()  # first: while it is taken, nothing of the session is told
            session.report("person", tab, "a person had the wheel: the page may be another by now, look at it again")
        return _told(session)

    def move(self, ident: str, tab: str, gestures: list[Gesture]) -> None:
        session, found = self._session(ident), self._tab(ident, tab)
        if not session.pause.taken:
            raise Failure("bad_request", "an agent has the wheel", suggestions=["take over first"])
        session.used_at = asyncio.get_running_loop().time()
        for gesture in gestures:
            hand.move(found, gesture)

    async def answer_dialog(self, ident: str, tab: str, number: int, accept: bool, text: str) -> None:
        """The one that the person saw: a page may have opened another since."""
        session, found = self._session(ident), self._tab(ident, tab)
        if not session.pause.taken:
            raise Failure("bad_request", "an agent has the wheel", suggestions=["take over first"])
        if found.dialog is None or found.dialog.number != number:
            raise Failure("not_found", "this dialog is not open any more")
        await found.answer_dialog(accept, text)

    async def pick(self, ident: str, tab: str) -> Shown:
        """The person points at something of their own accord, to know by what it can be found."""
        session, found = self._session(ident), self._tab(ident, tab)
        await session.context.wake(found)
        picked = await pick(found, "Point at an element", PICK_S, own=True)
        return {"picked": redact_tree(clean_tree(msgspec.to_builtins(picked)))} if picked else {"picked": None}

    async def point(self, ident: str, tab: str, x: float, y: float, *, presses: bool) -> None:
        """Who was asked to point at something may do so in the picture, without the wheel: nothing reaches the page."""
        found = self._tab(ident, tab)
        if not found.picking or not await point(found, x, y, presses=presses):
            raise Failure("not_found", "nobody is asked to point at anything here")

    async def end_pick(self, ident: str, tab: str) -> None:
        """The person would rather not point at anything."""
        await end_pick(self._tab(ident, tab))

    # Pictures of what was done

    def follow_shots(self, listener: Callable[[Shown], None]) -> Callable[[], None]:
        """Pictures are taken while somebody listens: they cost the agent's browser some of its time."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def done(self, visit: Visit, outcome: str) -> None:
        """Of writes that follow each other faster than pictures can be taken, the last has one."""
        tab, tool, session = visit.tab, visit.tool, visit.session
        if not self._listeners or not visit.record or session is None or tab is None or tool is None or tab.closed:
            return
        if tool.access not in _PICTURED or outcome != "ok":
            return
        self._due[tab] = session, visit.record
        if tab not in self._taking:
            self._taking[tab] = task = asyncio.create_task(self._take_due(tab))
            task.add_done_callback(lambda _: self._taking.pop(tab, None))

    def shot(self, record: int) -> bytes:
        if record not in self._shots:
            raise Failure("not_found", "there is no picture of that, or it is too old")
        return self._shots[record]

    @property
    def shots(self) -> list[int]:
        return list(self._shots)

    async def _take_due(self, tab: Tab) -> None:
        while due := self._due.pop(tab, None):
            await self._shoot(tab, *due)

    async def _shoot(self, tab: Tab, session: Session, record: int) -> None:
        """The page may have moved on meanwhile, to one that may not be read: that one is not kept."""
        for _ in range(2):
            document = tab.document.loader_id
            try:
                picture = await screenshot(
                    tab, target=None, full_page=False, image_format="jpeg", quality=SHOT_QUALITY, marks=False
                )
            except Exception:  # the page may be gone by now, or cannot be drawn; nobody waits for this
                return
            if tab.document.loader_id == document:
                break
        else:
            return
        if not session.forbids(tab.url):
            self._keep(record, picture.data)

    def _keep(self, record: int, picture: bytes) -> None:
        self._shots[record] = picture
        while len(self._shots) > SHOTS_KEPT:
            self._shots.popitem(last=False)
        for listener in tuple(self._listeners):
            listener({"kind": "shot", "n": record})

    def _session(self, ident: str) -> Session:
        for session in self._sessions.every():
            if session.id == ident:
                return session
        raise Failure("not_found", "there is no such session", suggestions=["it may have been closed"])

    def _tab(self, ident: str, name: str) -> Tab:
        session = self._session(ident)
        found = next((one for one in session.tabs if one.name == name), None) if name else session.current
        if found is None:
            raise Failure("not_found", "there is no such tab", suggestions=["it may have been closed"])
        return found


def _unwatched(session: Session) -> None:
    session.watched -= 1
    if session.pause.taken:
        session.used_at = asyncio.get_running_loop().time()


def _told(session: Session) -> Shown:
    its = session.options
    return {
        "id": session.id,
        "caller": session.owner[0],
        "connection": session.owner[1].partition("-")[0],
        "browser": its.browser,
        "profile": its.profile,
        "mode": its.mode,
        "opened_ms": int(session.opened_at * 1000),
        "busy": session.busy,
        "paused": session.pause.taken,
        "waiting": session.pause.waiting,
        "current": session.current.name if session.current and not session.current.closed else "",
        "tabs": [_tab_told(tab) for tab in session.tabs],
    }


def _tab_told(tab: Tab) -> Shown:
    dialog = tab.dialog
    return {
        "name": tab.name,
        "target": tab.target_id,
        "url": redact_text(clean(tab.url[:MAX_URL])),
        "title": redact_text(clean(tab.title)),
        "loading": tab.route.navigating,
        "picking": redact_text(clean(tab.picking)),
        "picks_own": tab.picks_own,
        "crashed": tab.crashed,
        "dialog": _dialog_told(dialog) if dialog else None,
    }


def _dialog_told(dialog: Dialog) -> Shown:
    return {"number": dialog.number, "kind": dialog.kind, "message": redact_text(clean(dialog.message))}
