"""Browsers of profiles. They belong to the daemon and run until somebody ends them; callers have sessions on them."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse.browser.lifecycle import OwnBrowsers
from pilothouse.result import Result, counted
from pilothouse.tool import Access, tool

Name = Annotated[str, Meta(max_length=200)]
_SYNONYMS = {"id": "profile", "profile_id": "profile", "name": "profile", "browser_id": "profile"}


class Launched(msgspec.Struct):
    profile: str
    session: str
    pid: int
    headless: bool


class Killed(msgspec.Struct):
    profile: str
    sessions_closed: int


class Running(msgspec.Struct):
    browsers: list[dict[str, Any]]


@tool(Access.WRITE, example={"profile": "work"}, synonyms=_SYNONYMS)
async def launch_browser(browsers: OwnBrowsers, profile: Name, headless: bool | None = None) -> Result[Launched]:
    """Start a profile's browser, or join it if it runs; gives your session on it."""
    running, session = await browsers.launch(profile, headless=headless)
    name, pid = running.profile.id, running.chrome.pid
    return Result(f"{name} runs (pid {pid}), session {session.id}", Launched(name, session.id, pid, running.headless))


@tool(Access.SENSITIVE, example={"profile": "work"}, synonyms=_SYNONYMS)
async def kill_browser(browsers: OwnBrowsers, profile: Name) -> Result[Killed]:
    """End a profile's browser and every session on it. Its cookies are kept."""
    ended, sessions = await browsers.kill(profile)
    return Result(f"ended {ended.id} and {counted(sessions, 'session')}", Killed(ended.id, sessions))


@tool(Access.READ, example={})
async def get_running_browsers(browsers: OwnBrowsers) -> Result[Running]:
    """List running browsers, shared ones too."""
    found = browsers.running()
    lines = [f"{_which(one)}, {counted(one['sessions'], 'session')}, {counted(one['tabs'], 'tab')}" for one in found]
    return Result("\n".join(lines) or "no browser is running", Running(found))


def _which(one: dict[str, Any]) -> str:
    if one["browser"] == "remote":
        waiting = f" and {one['waiting']} asked for" if one["waiting"] else ""
        return f"endpoint {one['endpoint']}: {counted(one['browsers'], 'browser')}{waiting}"
    window = "" if one["headless"] else " with a window"
    return f"{one.get('profile', one['browser'])} pid {one['pid']}{window}"
