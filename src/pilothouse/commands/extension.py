"""`pilothouse extension`: the person's own Chrome. Pair one, see them, stop what agents do in one, forget it.

Above: admin. Below: person (the daemon knows the browsers), the folder that Chrome loads the extension from.
"""

import functools
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

import pilothouse
from pilothouse import __version__, instance
from pilothouse.commands import person, show
from pilothouse.errors import Failure
from pilothouse.home import directory

Entry = dict[str, Any]

LOOK_S = 0.3
USUAL_PORT = 8777
_NEXT = """Agents use it with `pilothouse mcp --extension`; `pilothouse install CLIENT --extension` sets that up.
What they want to do there asks you first: `pilothouse approvals --watch` shows it, and a key answers."""
_STATES = {"connected": "connected", "away": "coming back", "gone": "not connected", "stopped": "stopped by the person"}


@click.group()
def extension() -> None:
    """Your own Chrome: pair it by a code, list browsers, stop agents in one, forget it (docs/extension.md)."""


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--json`, a daemon that runs, and mistakes told as everywhere."""

    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> int:
        try:
            instance.ensure(directory())
            return work(*args, **options)
        except (instance.StartError, person.NotThere) as error:
            return show.complain(str(error))
        except Failure as failure:
            return person.complain(failure, as_json=options["as_json"])

    return run


@extension.command()
@click.option("--no-wait", is_flag=True, help="Do not wait until a browser has used the code.")
@_command
def pair(no_wait: bool, as_json: bool) -> int:
    """Show a code that pairs one browser within five minutes."""
    before = {one["name"]: one["paired_at"] for one in _browsers()}
    made = person.ask("POST", "/api/extension/pair", {})
    code = made["code"] if made["port"] == USUAL_PORT else f"{made['port']}-{made['code']}"
    if as_json:
        click.echo(json.dumps({**made, "code": code}))
        return 0
    click.echo(f"Code: {code}\n\nClick the Pilothouse icon beside Chrome's address bar and type it there.")
    click.echo("It is good for one browser and five minutes.")
    click.echo("No such icon? Load the extension first: `pilothouse extension path` says from where.")
    return 0 if no_wait or not sys.stdout.isatty() else _wait(before, made["valid_s"])


def _wait(before: dict[str, float], seconds: float) -> int:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for one in _browsers():
            if before.get(one["name"]) != one["paired_at"]:
                click.echo(f"\n{one['name']} is paired. {_NEXT}")
                return 0
        time.sleep(LOOK_S)
    return show.complain("nobody used the code", ["pilothouse extension pair  # makes a new one"])


@extension.command(name="list")
@_command
def list_command(as_json: bool) -> int:
    """The paired browsers, and how each of them is."""
    told = person.ask("GET", "/api/extension/browsers")
    if as_json:
        click.echo(json.dumps(told))
        return 0
    lines = [_line(one, told["port"]) for one in told["browsers"]] + ([told["misfit"]] if told["misfit"] else [])
    click.echo("\n".join(lines) or "no browser is paired; `pilothouse extension pair` pairs one")
    return 0


@extension.command()
@click.argument("name")
@_command
def forget(name: str, as_json: bool) -> int:
    """Let a browser in no more; what agents do there ends."""
    gone = person.ask("DELETE", _place(name))
    click.echo(json.dumps(gone) if as_json else f"{name} is forgotten")
    return 0


@extension.command()
@click.argument("name", required=False)
@_command
def stop(name: str | None, as_json: bool) -> int:
    """Stop everything that agents do in a browser, without NAME in all, as the popup does. Only a browser's popup
    allows them again."""
    if name:
        told = _stopped(name)
        click.echo(json.dumps(told) if as_json else _is_stopped(told))
        return 0
    all_told = _stop_all()
    lines = "\n".join(map(_is_stopped, all_told)) or "no browser is paired: there is nothing to stop"
    click.echo(json.dumps({"stopped": all_told}) if as_json else lines)
    return 0


def _stopped(name: str) -> Entry:
    return person.ask("POST", f"{_place(name)}/stop", {})


def _stop_all() -> list[Entry]:
    """All at once: a browser that does not answer, or cannot be stopped, keeps no other one running."""
    names = [one["name"] for one in _browsers()]
    with ThreadPoolExecutor(max(len(names), 1)) as pool:
        stopping = [pool.submit(_stopped, name) for name in names]
    return [one.result() for one in stopping]


def _is_stopped(told: Entry) -> str:
    later = "" if told["told"] else "; its extension has not answered, and is told as soon as it does"
    return f"everything in {told['stopped']} is stopped{later}"


@extension.command()
def path() -> int:
    """The folder that Chrome loads the extension from."""
    click.echo(folder())
    if sys.stdout.isatty():
        click.echo(
            "\nIn Chrome: chrome://extensions, Developer mode on, Load unpacked, and choose this folder.", err=True
        )
    return 0


@extension.command()
@_command
def dev(as_json: bool) -> int:
    """For its developers: reload the extension in every connected browser whenever a file of it changes."""
    seen = _stamps()
    click.echo(f"watching {folder()}; Ctrl-C ends it")
    while True:
        time.sleep(LOOK_S)
        now = _stamps()
        if now != seen:
            changed = sorted({name for name, _ in now ^ seen})
            seen = now
            click.echo(f"{', '.join(changed)}: {', '.join(_reload()) or 'no browser is connected'}")


def _reload() -> list[str]:
    """One that cannot is told of; the watching goes on."""
    try:
        names = [one["name"] for one in _browsers() if one["state"] in ("connected", "stopped")]
    except (Failure, person.NotThere) as problem:
        return [str(problem)]
    return [_reloaded(name) for name in names]


def _reloaded(name: str) -> str:
    try:
        person.ask("POST", f"{_place(name)}/reload", {})
    except (Failure, person.NotThere) as problem:
        return f"{name} does not reload ({problem})"
    return f"{name} reloads"


def _stamps() -> frozenset[tuple[str, int]]:
    files = [one for one in folder().rglob("*") if one.is_file()]
    return frozenset((str(one.relative_to(folder())), one.stat().st_mtime_ns) for one in files)


def folder() -> Path:
    """In a checkout it stands beside the source; an installed package has it within."""
    package = Path(pilothouse.__file__).parent
    beside = package.parents[1] / "extension"
    return beside if (beside / "manifest.json").exists() else package / "extension"


def _browsers() -> list[Entry]:
    return person.ask("GET", "/api/extension/browsers")["browsers"]


def _place(name: str) -> str:
    return f"/api/extension/browsers/{quote(name, safe='')}"


def elsewhere(one: Entry, port: int) -> str:
    """Of a browser that is not here because it looks for the daemon at another port; else empty."""
    is_here = one["state"] in ("connected", "away") or one.get("version")
    return "" if is_here or one["port"] in (0, port) else f"paired on port {one['port']}, the daemon is on {port}"


def back_from(port: int) -> str:
    """What a person can do about `elsewhere`."""
    return (
        f"set server.port = {port} in config.toml and restart the daemon, or forget it in its popup and pair it again"
    )


def _line(one: Entry, port: int) -> str:
    parts: list[str] = [one["name"], _STATES.get(one["state"], "")]
    if where := elsewhere(one, port):
        parts.append(f"{where}: {back_from(one['port'])}")
    if one["state"] in ("connected", "stopped") and one.get("version"):  # else it was not seen since the daemon began
        shared = {"tab": "tab by tab", "group": "its group", "all": "all tabs"}.get(one["share"], "")
        parts += [f"shares {shared}: {one['tabs']} now", f"extension {person.plain(one['version'])}"]
        parts += [] if one["version"] == __version__ else [f"(daemon {__version__}: update the older one)"]
    return "  ".join(parts)
