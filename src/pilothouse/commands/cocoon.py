"""`pilothouse cocoon`: the apps whose pages go through the debug proxy.

Above: admin. Below: person (a daemon that runs writes them into config.toml and its log), or else cocoons, the file
itself: a hub alone needs no daemon beside it. Proxy and hub look at the file at each request.
"""

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from pilothouse import instance
from pilothouse.cocoons import Cocoons, checked_id, listed, shown
from pilothouse.commands import person, show
from pilothouse.commands.noted import busy, decreed
from pilothouse.config import load
from pilothouse.errors import Failure
from pilothouse.home import directory
from pilothouse.instance import StartError

Entry = dict[str, Any]
_ON = "set `enabled = true` below [proxy] in config.toml, or ENABLE_PROXY=true,"
_OFF = f"the proxy is off: {_ON} and restart the daemon"
_HUB = "a hub that runs with this file knows its cocoons at once"
_UNSERVED = "without a target: only `pilothouse hub` counts it"
_ALONE = f"no daemon runs: {_HUB}, the proxy when one is started"
_ALONE_OFF = f"no daemon runs: {_HUB}; for a proxy here {_ON} and start one"


@click.group()
def cocoon() -> None:
    """Apps behind the debug proxy (a dev server, a container): add, list, remove."""


class _Daemon:
    """One that runs."""

    def add(self, cocoon_id: str, given: Entry) -> tuple[Entry, str]:
        kept = person.ask("PUT", f"/api/cocoons/{quote(cocoon_id, safe='')}", given)
        return kept, f"{kept['id']} is at {kept['url']}"

    def all(self) -> Entry:
        return person.ask("GET", "/api/cocoons")

    def remark(self) -> str:
        return "" if self.all()["proxy"] else _OFF

    def remove(self, cocoon_id: str) -> None:
        person.ask("DELETE", f"/api/cocoons/{quote(cocoon_id, safe='')}")


class _File:
    """The same where none runs, or for a file that is another's."""

    def __init__(self, file: Path, *, is_ours: bool) -> None:
        self._is_ours = is_ours
        self._file = file.absolute()
        settings = load(self._file, os.environ)
        self._proxy = settings.proxy
        ports = {settings.server.port, settings.proxy.port}
        self._cocoons = Cocoons(self._file, settings.proxy, forbidden_ports=ports, served=settings.proxy.enabled)

    def add(self, cocoon_id: str, given: Entry) -> tuple[Entry, str]:
        values = {"id": checked_id(cocoon_id), **given}
        self._cocoons.having(self._cocoons.text(), values)  # the log tells of what was done, not of what could not be
        self._change("cocoon_added", values, lambda: self._cocoons.write(values))
        kept = shown(self._cocoons.placed(cocoon_id))
        counts = f"for {kept['url']}" if kept["target"] else _UNSERVED
        return kept, f"{cocoon_id} is in {self._file}, {counts}"

    def all(self) -> Entry:
        return listed(self._cocoons)

    def remark(self) -> str:
        return (_ALONE if self._proxy.enabled else _ALONE_OFF) if self._is_ours else _HUB

    def remove(self, cocoon_id: str) -> None:
        self._cocoons.without(self._cocoons.text(), checked_id(cocoon_id))
        self._change("cocoon_removed", {"id": cocoon_id}, lambda: self._cocoons.remove(cocoon_id))

    def _change(self, kind: str, values: Entry, work: Callable[[], None]) -> None:
        if self._is_ours:
            decreed(work, kind, **values)
        else:
            work()


def _place(config: str | None) -> _Daemon | _File:
    """A daemon that runs has its own file to itself, by whatever name somebody calls that."""
    home = directory()
    try:
        running = instance.settled(home)
    except StartError:
        raise busy() from None
    ours = Path((running or {}).get("config") or Path(home) / "config.toml")
    if config is not None and not (ours.exists() and ours.samefile(config)):
        return _File(Path(config), is_ours=False)
    return _Daemon() if running else _File(ours, is_ours=True)


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--config`, `--json`, and mistakes told as everywhere."""

    @click.option(
        "--config", type=click.Path(exists=True, dir_okay=False), help="The file of a hub, if it is not the home's."
    )
    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, config: str | None, **options: Any) -> int:
        try:
            return work(_place(config), *args, **options)
        except person.NotThere as error:
            return show.complain(str(error))
        except Failure as failure:
            return person.complain(failure, as_json=options["as_json"])

    return run


@cocoon.command()
@click.argument("cocoon_id", metavar="ID")
@click.argument("target", default="")
@click.option("--name", default="", help="What people call it.")
@click.option("--owner", default="local", help="The user whose it is.")
@_command
def add(place: _Daemon | _File, cocoon_id: str, target: str, name: str, owner: str, as_json: bool) -> int:
    """Put the app at TARGET (http://127.0.0.1:3000) behind the proxy, as ID. A hub alone serves none and needs no
    TARGET."""
    kept, told = place.add(cocoon_id, {"target": target, "name": name, "owner": owner})
    click.echo(json.dumps(kept) if as_json else told)
    _remark(place.remark())
    return 0


@cocoon.command(name="list")
@_command
def list_command(place: _Daemon | _File, as_json: bool) -> int:
    """Ids, owners, addresses, targets."""
    told = place.all()
    if as_json:
        click.echo(json.dumps({key: told[key] for key in ("cocoons", "left_out", "mistake")}))
        return 0
    click.echo("\n".join(map(_line, told["cocoons"])) or "no cocoons; `pilothouse cocoon add ID TARGET` adds one")
    for one in told["left_out"]:
        _remark(f"the cocoon {one['id']} does not count: {person.plain(one['why'])}")
    _remark(person.plain(told["mistake"]))
    _remark(place.remark())
    return 0


@cocoon.command()
@click.argument("cocoon_id", metavar="ID")
@_command
def remove(place: _Daemon | _File, cocoon_id: str, as_json: bool) -> int:
    """Take an app out of the proxy."""
    place.remove(cocoon_id)
    click.echo(json.dumps({"removed": cocoon_id}) if as_json else f"{cocoon_id} is removed")
    return 0


def _remark(text: str) -> None:
    if text:
        click.echo(f"pilothouse: {text}", err=True)


def _line(one: Entry) -> str:
    parts = [one["id"], one["owner"], one["url"], one["target"] or f"({_UNSERVED})"]
    named = [] if one["name"] == one["id"] else [person.plain(one["name"])]
    return "  ".join([*parts, *named, *([] if one["enabled"] else ["no tokens"])])
