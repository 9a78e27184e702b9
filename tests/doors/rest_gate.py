"""The fake gate with what only REST shows: tools that work on a session, a file, a picture that is asked for."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse import tool as tool_module
from pilothouse.call import Answer, Call, Caller
from pilothouse.errors import Failure
from pilothouse.result import Image, Result
from pilothouse.tool import Access, Registry, tool

from .fake_gate import PNG, FakeGate, Nothing, OwnSessions


class Tab:
    """What the gate hands to tools on a page."""


class Session:
    """What the gate hands to tools on a session."""


class Box(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width: Annotated[int, Meta(ge=1)]


class Kept(msgspec.Struct):
    path: str


class Profiles(msgspec.Struct):
    asked: dict[str, Any]


_before = len(tool_module._declared)


@tool(Access.READ, example={"target": "#a"}, aliases=("browser.peek",), sensitive=("function",))
async def rest_peek(
    tab: Tab,
    target: str | list[str] = "",
    count: Annotated[int, Meta(ge=1, le=9, description="how often")] = 1,
    deep: bool = False,
    box: Box | None = None,
    levels: list[str] = [],  # noqa: B006
    function: str = "",
) -> Result[Nothing]:
    """Look at a page."""
    return Result(text="seen", data=Nothing())


@tool(Access.WRITE, example={})
async def rest_press(tab: Tab, target: str = "") -> Result[Nothing]:
    """Press something."""
    return Result(text="pressed", data=Nothing())


@tool(Access.READ, example={})
async def rest_shot(tab: Tab) -> Result[Nothing]:
    """Take a picture."""
    return Result(text="1x1", data=Nothing(), images=[Image(PNG, "image/png")])


@tool(Access.READ, example={"name": "a.pdf"})
async def rest_file(session: Session, name: str) -> Result[Kept]:
    """Keep a file."""
    return Result(text="kept", data=Kept(name))


@tool(Access.READ, example={})
async def list_profiles(sessions: OwnSessions) -> Result[Profiles]:
    """List profiles."""
    return Result(text="", data=Profiles({}))


@tool(Access.SENSITIVE, example={"name": "work"})
async def create_profile(sessions: OwnSessions, name: str) -> Result[Profiles]:
    """Make a profile."""
    return Result(text="", data=Profiles({"name": name}))


@tool(Access.SENSITIVE, example={"profile": "work"})
async def update_profile(sessions: OwnSessions, profile: str, color: str = "") -> Result[Profiles]:
    """Change a profile."""
    return Result(text="", data=Profiles({"profile": profile, "color": color}))


@tool(Access.SENSITIVE, example={"profile": "work"})
async def delete_profile(sessions: OwnSessions, profile: str) -> Result[Profiles]:
    """Delete a profile."""
    return Result(text="", data=Profiles({"profile": profile}))


# They stay out of the list that a real house is built from.
_OWN = tool_module._declared[_before:]
del tool_module._declared[_before:]
PROFILE_TOOLS = [one for one in _OWN if "profile" in one.name]


class RestGate(FakeGate):
    """Knows one session, `s1`, whose folder is `kept`."""

    def __init__(self, kept: Path) -> None:
        super().__init__()
        self.registry = Registry([*self.registry, *_OWN])
        self.kept = kept
        self.owned["s1"] = []

    async def call(self, call: Call) -> Answer:
        found = self.registry.find(call.tool)
        if found not in _OWN:
            return await super().call(call)
        self.calls.append(call)
        try:
            args = msgspec.structs.asdict(found.parse(call.args))
            result = await found.handler(None, **{name: args[name] for name in found.takes})
        except Failure as failure:
            error = {"error": failure.to_dict(tool=call.tool)}
            return Answer(call.tool, failure.to_text(), error, failed=True, status=failure.status)
        session = args.get("session", "") or "s1"
        return Answer(call.tool, result.to_text(), msgspec.to_builtins(result.data), result.images, session=session)

    def session_id(self, caller: Caller, name: str) -> str:
        """Called by its profile too, which is `work`."""
        named = "s1" if name == "work" else name
        self.events(caller, named)
        return named

    def folder(self, caller: Caller, session: str) -> Path:
        return self.kept
