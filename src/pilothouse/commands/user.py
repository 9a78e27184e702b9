"""`pilothouse user`: who may use the signaling hub, and with which key.

Above: admin. Below: users (config.toml). It works on the file, so that a hub alone needs no daemon beside it.
"""

import json
import shlex
from pathlib import Path

import click

from pilothouse.commands import show
from pilothouse.errors import Failure
from pilothouse.home import directory
from pilothouse.users import Users

_config = click.option(
    "--config", type=click.Path(exists=True, dir_okay=False), help="Another file than config.toml in the home."
)
_json = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group()
def user() -> None:
    """Users of the debug hub: add, list, remove."""


@user.command()
@click.argument("name")
@_config
@_json
def add(name: str, config: str | None, as_json: bool) -> int:
    """Make a key for a user and print it, this once: it goes into their extension's settings or their daemon's hub.key.
    For a user who has one it is replaced."""
    try:
        key = _users(config).add(name)
    except Failure as failure:
        return _complain(failure)
    click.echo(json.dumps({"name": name, "key": key}) if as_json else key)
    if not as_json:
        click.echo(f"this is the key of {name}; only its hash is kept", err=True)
    return show.OK


@user.command(name="list")
@_config
@_json
def list_users(config: str | None, as_json: bool) -> int:
    """The users there are."""
    try:
        found = [{"name": one.name, "key": bool(one.key_sha256)} for one in _users(config).all()]
    except Failure as failure:
        return _complain(failure)
    if as_json:
        click.echo(json.dumps(found))
        return show.OK
    for one in found:
        click.echo(f"{one['name']}{'' if one['key'] else '  (no key)'}")
    if not found:
        click.echo("none yet: `pilothouse user add NAME` makes one")
    return show.OK


@user.command()
@click.argument("name")
@_config
def remove(name: str, config: str | None) -> int:
    """Their key opens nothing any more, in a hub that runs too. Who owns a cocoon is not removed: remove that first."""
    try:
        _users(config).remove(name)
    except Failure as failure:
        return _complain(failure, config)
    click.echo(f"{name} is removed")
    return show.OK


def _users(config: str | None) -> Users:
    return Users(Path(config) if config else Path(directory()) / "config.toml")


def _complain(failure: Failure, config: str | None = None) -> int:
    """`config` belongs to the commands that are the next step, too."""
    file = f" --config {shlex.quote(config)}" if config else ""
    steps = [f"{one}{file}" if one.startswith("pilothouse ") else one for one in failure.suggestions]
    return show.complain(failure.message, steps, show.USAGE if failure.code == "bad_request" else 1)
