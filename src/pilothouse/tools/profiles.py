"""Profiles: browsers that keep their cookies and settings, written in config.toml."""

from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from pilothouse.browser.lifecycle import OwnBrowsers
from pilothouse.profiles import Profile, Size, shown_proxy
from pilothouse.result import Result
from pilothouse.tool import Access, tool

Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=2000)]
Tags = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=50)]


class Listed(msgspec.Struct):
    profiles: list[dict[str, Any]]


class Shown(msgspec.Struct):
    profile: dict[str, Any]


class Gone(msgspec.Struct):
    deleted: str
    data_deleted: bool


@tool(Access.READ, example={})
async def list_profiles(browsers: OwnBrowsers, tag: Name = "") -> Result[Listed]:
    """List browser profiles."""
    found = [one for one in await browsers.profiles() if not tag or tag in one.tags]
    lines = [f"{one.id}{_called(one)}{' running' if browsers.is_running(one) else ''}" for one in found]
    return Result("\n".join(lines) or "there is no profile", Listed([_described(browsers, one) for one in found]))


@tool(Access.READ, example={"profile": "work"}, synonyms={"id": "profile", "profile_id": "profile", "name": "profile"})
async def get_profile(browsers: OwnBrowsers, profile: Name) -> Result[Shown]:
    """Show one profile."""
    found = _described(browsers, await browsers.profile(profile))
    lines = [f"{key}: {_in_words(value)}" for key, value in found.items() if value not in ("", [], None)]
    return Result("\n".join(lines), Shown(found))


@tool(Access.SENSITIVE, example={"name": "Work", "lang": "de-DE", "tags": ["office"]})
async def create_profile(
    browsers: OwnBrowsers,
    name: Name,
    user_data_dir: Text = "",
    proxy_server: Text = "",
    lang: Name = "",
    timezone: Name = "",
    headless: bool | None = None,
    viewport: Size | None = None,
    tags: Tags = [],
) -> Result[Shown]:
    """Create a profile: a browser that keeps its cookies."""
    made = await browsers.add(_given(locals()))
    return Result(f"created profile {made.id}{_called(made)}", Shown(_described(browsers, made)))


@tool(
    Access.SENSITIVE,
    example={"profile": "work", "timezone": "Europe/Berlin"},
    synonyms={"id": "profile", "profile_id": "profile"},
)
async def update_profile(
    browsers: OwnBrowsers,
    profile: Name,
    name: Name | None = None,
    user_data_dir: Text | None = None,
    proxy_server: Text | None = None,
    lang: Name | None = None,
    timezone: Name | None = None,
    headless: bool | None = None,
    viewport: Size | None = None,
    tags: Tags | None = None,
) -> Result[Shown]:
    """Change a profile; "" takes a value out. A running browser has it from its next launch."""
    changed = await browsers.change(profile, _given(locals()))
    later = " from its next launch" if browsers.is_running(changed) else ""
    return Result(f"changed profile {changed.id}{later}", Shown(_described(browsers, changed)))


@tool(
    Access.SENSITIVE,
    example={"profile": "work"},
    synonyms={"id": "profile", "profile_id": "profile", "name": "profile"},
)
async def delete_profile(
    browsers: OwnBrowsers,
    profile: Name,
    data: Annotated[bool, Meta(description="its directory too")] = False,
) -> Result[Gone]:
    """Delete a profile that is not running."""
    gone = await browsers.remove(profile, data=data)
    kept = "" if data else f"; its data stays in {browsers.data_dir(gone)}"
    return Result(f"deleted profile {gone.id}{kept}", Gone(gone.id, data))


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Those of a tool's arguments that are values of a profile and were given."""
    return {key: arguments[key] for key in Profile.__struct_fields__ if arguments.get(key) is not None}


def _called(profile: Profile) -> str:
    return f' "{profile.name}"' if profile.name and profile.name != profile.id else ""


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(cast(list[str], value))
    return f"{value['width']} x {value['height']}" if isinstance(value, dict) else str(value)


def _described(browsers: OwnBrowsers, profile: Profile) -> dict[str, Any]:
    told = {
        "user_data_dir": browsers.data_dir(profile),
        "proxy_server": shown_proxy(profile.proxy_server),
        "running": browsers.is_running(profile),
    }
    return msgspec.to_builtins(profile) | told
