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
from pilothouse.cocoons import Cocoons, checked_id, shown
from pilothouse.commands import person, show
from pilothouse.commands.noted import noted
from pilothouse.config import load
from pilothouse.errors import Failure
from pilothouse.home import directory

Entry = dict[str, Any]
_ON = "set `enabled = true` below [proxy] in config.toml, or ENABLE_PROXY=true,"
_OFF = f"the proxy is off: {_ON} and restart the daemon"
_HUB = "a hub that runs with this file knows its cocoons at once"
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

    def all(self) -> tuple[list[Entry], str]:
        """And what to know about them."""
        told = person.ask("GET", "/api/cocoons")
        return told["cocoons"], "" if told["proxy"] else _OFF

    def remove(self, cocoon_id: str) -> None:
        person.ask("DELETE", f"/api/cocoons/{quote(cocoon_id, safe='')}")


class _File:
    """The same where none runs, or for a file that may be another's."""

    def __init__(self, config: str | None) -> None:
        self._is_ours = config is None
        self._file = Path(config or Path(directory()) / "config.toml").absolute()
        settings = load(self._file, os.environ)
        self._proxy = settings.proxy
        ports = {settings.server.port, settings.proxy.port}
        self._cocoons = Cocoons(
            self._file, settings.proxy, forbidden_ports=ports, served=settings.proxy.enabled, on_mistake=_remark
        )

    def add(self, cocoon_id: str, given: Entry) -> tuple[Entry, str]:
        values = {"id": checked_id(cocoon_id), **given}
        kept = shown(self._noting("cocoon_added", values, lambda: self._cocoons.add(values)))
        return kept, f"{cocoon_id} is in {self._file}, for {kept['url']}"

    def all(self) -> tuple[list[Entry], str]:
        remark = (_ALONE if self._proxy.enabled else _ALONE_OFF) if self._is_ours else _HUB
        return [shown(one) for one in self._cocoons.all()], remark

    def remove(self, cocoon_id: str) -> None:
        self._noting("cocoon_removed", {"id": checked_id(cocoon_id)}, lambda: self._cocoons.remove(cocoon_id))

    def _noting(self, kind: str, values: Entry, work: Callable[[], Any]) -> Any:
        if not self._is_ours:
            return work()
        with noted(kind, **values):
            return work()


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--config`, `--json`, and mistakes told as everywhere."""

    @click.option("--config", type=click.Path(dir_okay=False), help="The file of a hub, if it is not the home's.")
    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, config: str | None, **options: Any) -> int:
        try:
            is_running = config is None and instance.published(directory()) is not None
            return work(_Daemon() if is_running else _File(config), *args, **options)
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
    _remark(place.all()[1])
    return 0


@cocoon.command(name="list")
@_command
def list_command(place: _Daemon | _File, as_json: bool) -> int:
    """Ids, owners, addresses, targets."""
    found, remark = place.all()
    if as_json:
        click.echo(json.dumps({"cocoons": found}))
        return 0
    click.echo("\n".join(map(_line, found)) or "no cocoons; `pilothouse cocoon add ID TARGET` adds one")
    _remark(remark)
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
    parts = [one["id"], one["owner"], one["url"], one["target"] or "(no target)"]
    named = [] if one["name"] == one["id"] else [person.plain(one["name"])]
    return "  ".join([*parts, *named, *([] if one["enabled"] else ["no tokens"])])
