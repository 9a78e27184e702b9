"""`pilothouse key`: named keys for agents that call over HTTP, made, listed and taken back by a person.

Above: admin. Below: guard.keys (the files), guard.chain (when a key was last used), noted. A running daemon reads
the files at each request, so nothing has to be told to it; it also writes into the log what it sees.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pilothouse.commands import show
from pilothouse.commands.noted import noted
from pilothouse.errors import Failure
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME as LOG
from pilothouse.guard.keys import Keys
from pilothouse.home import directory


@click.group()
def key() -> None:
    """Keys of agents, by name: add, list, revoke."""


@key.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def add(name: str, as_json: bool) -> int:
    """Make a key and print it: what an agent sends as `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    try:
        with noted("key_added", key=f"agent:{name}"):
            made = _keys().add(name)
    except Failure as failure:
        return _complain(failure)
    if as_json:
        click.echo(json.dumps({"name": name, "key": made.secret, "file": str(made.path)}))
    else:
        click.echo(made.secret)
        click.echo(f"the key {name} is kept in {made.path}; `pilothouse key revoke {name}` ends it", err=True)
    return show.OK


@key.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_keys(as_json: bool) -> int:
    """The keys there are, when they were made, and when they were last used."""
    home = Path(directory())
    keys = Keys(home)
    found = [
        {"name": name, "made": _moment(keys.made_at(name)), "used": _last_used(home / LOG, name)}
        for name in keys.names()
    ]
    if as_json:
        click.echo(json.dumps(found))
        return show.OK
    for one in found or []:
        used = f"last used {one['used'][:16].replace('T', ' ')}" if one["used"] else "not used yet, or long ago"
        click.echo(f"{one['name']:<16} made {one['made'][:16].replace('T', ' ')}, {used} (UTC)")
    if not found:
        click.echo("none yet: the daemon makes `default` at its first start, `pilothouse key add NAME` any other")
    return show.OK


@key.command()
@click.argument("name")
def revoke(name: str) -> int:
    """Take a key back: from now on it opens nothing, in a daemon that runs too."""
    try:
        with noted("key_revoked", key=f"agent:{name}"):
            _keys().revoke(name)
    except Failure as failure:
        return _complain(failure)
    click.echo(f"the key {name} opens nothing any more")
    if name == "default":
        click.echo("`pilothouse key add default` makes a new one, as does the next start of the daemon")
    return show.OK


def _keys() -> Keys:
    return Keys(Path(directory()))


def _complain(failure: Failure) -> int:
    return show.complain(failure.message, failure.suggestions, show.USAGE if failure.code == "bad_request" else 1)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _last_used(log: Path, name: str) -> str:
    """From the newest file of the log that knows the key; empty if none does. (M: 9 ms for 20 MB that do not.)"""
    for path in reversed(chain.files(log)):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        if found := _newest_by(data, name):
            return found
    return ""


def _newest_by(data: bytes, name: str) -> str:
    end, sought = len(data), b'"caller":%b' % json.dumps(name).encode()
    while (at := data.rfind(sought, 0, end)) >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        record: dict[str, Any] = chain.unseal(data[begin : _line_end(data, at)]) or {}
        if record.get("caller") == name:  # not in what somebody wrote into an argument
            return str(record["time"])
        end = begin
    return ""


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return end if end >= 0 else len(data)
