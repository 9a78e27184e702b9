"""`pilothouse cocoon`: the apps whose pages go through the debug proxy.

Above: admin. Below: person (the daemon writes them into config.toml, and the proxy knows a new one at once).
"""

import functools
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import click

from pilothouse import instance
from pilothouse.commands import person, show
from pilothouse.errors import Failure
from pilothouse.home import directory

Entry = dict[str, Any]
_OFF = (
    "the proxy is off: set `enabled = true` below [proxy] in config.toml, or ENABLE_PROXY=true, and restart the daemon"
)


@click.group()
def cocoon() -> None:
    """Apps behind the debug proxy (a dev server, a container): add, list, remove."""


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--json`, and mistakes told as everywhere."""

    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> int:
        try:
            if instance.ensure(directory()):
                click.echo("pilothouse: no daemon was running: a new one was started", err=True)
            return work(*args, **options)
        except (instance.StartError, person.NotThere) as error:
            return show.complain(str(error))
        except Failure as failure:
            return person.complain(failure, as_json=options["as_json"])

    return run


@cocoon.command()
@click.argument("cocoon_id", metavar="ID")
@click.argument("target")
@click.option("--name", default="", help="What people call it.")
@click.option("--owner", default="local", help="The user whose it is.")
@_command
def add(cocoon_id: str, target: str, name: str, owner: str, as_json: bool) -> int:
    """Put the app at TARGET (http://127.0.0.1:3000) behind the proxy, as ID."""
    given = {"target": target, "name": name, "owner": owner}
    kept = person.ask("PUT", f"/api/cocoons/{quote(cocoon_id, safe='')}", given)
    click.echo(json.dumps(kept) if as_json else f"{kept['id']} is at {kept['url']}")
    _tell_if_off()
    return 0


@cocoon.command(name="list")
@_command
def list_command(as_json: bool) -> int:
    """Ids, owners, addresses, targets."""
    told = person.ask("GET", "/api/cocoons")
    if as_json:
        click.echo(json.dumps({"cocoons": told["cocoons"]}))
        return 0
    lines = [_line(one) for one in told["cocoons"]]
    click.echo("\n".join(lines) or "no cocoons; `pilothouse cocoon add ID TARGET` adds one")
    _tell_if_off()
    return 0


@cocoon.command()
@click.argument("cocoon_id", metavar="ID")
@_command
def remove(cocoon_id: str, as_json: bool) -> int:
    """Take an app out of the proxy."""
    gone = person.ask("DELETE", f"/api/cocoons/{quote(cocoon_id, safe='')}")
    click.echo(json.dumps(gone) if as_json else f"{cocoon_id} is removed")
    return 0


def _tell_if_off() -> None:
    if not person.ask("GET", "/api/cocoons")["proxy"]:
        click.echo(f"pilothouse: {_OFF}", err=True)


def _line(one: Entry) -> str:
    parts = [one["id"], one["owner"], one["url"], one["target"]]
    named = [] if one["name"] == one["id"] else [person.plain(one["name"])]
    return "  ".join([*parts, *named, *([] if one["enabled"] else ["no tokens"])])
