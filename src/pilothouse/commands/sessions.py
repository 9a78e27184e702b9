"""`pilothouse sessions`: what agents have open, everybody's, and an end to it.

Above: admin. Below: person (the daemon, with the person's key), show.
"""

import json
from typing import Any
from urllib.parse import quote

import click

from pilothouse.commands import person
from pilothouse.commands.person import NotThere, plain
from pilothouse.commands.show import OK, USAGE, complain
from pilothouse.errors import Failure

Entry = dict[str, Any]


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def sessions(ctx: click.Context, as_json: bool) -> int | None:
    """The open sessions of all agents, connections and terminals; `close` ends one."""
    if ctx.invoked_subcommand:
        return None
    try:
        found = everyones()
    except NotThere as error:
        return complain(str(error))
    click.echo(json.dumps(found) if as_json else "\n".join(map(line, found)) or "no session is open")
    return OK


@sessions.command()
@click.argument("ids", nargs=-1, metavar="ID…")
@click.option("--all", "everything", is_flag=True, help="All of them.")
def close(ids: tuple[str, ...], everything: bool) -> int:
    """End sessions, whoever opened them, with their tabs."""
    if bool(ids) == everything:
        return complain("say which ones, or --all", ["`pilothouse sessions` lists them"], USAGE)
    try:
        for one in [found["session"] for found in everyones()] if everything else ids:
            person.ask("DELETE", f"/api/sessions/{quote(one, safe='')}")
            click.echo(f"closed {plain(one)}")
    except NotThere as error:
        return complain(str(error))
    except Failure as failure:
        return complain(failure.message, failure.suggestions)
    return OK


def everyones() -> list[Entry]:
    return person.ask("GET", "/api/sessions")["sessions"]


def line(one: Entry) -> str:
    what = f"{one['browser']} {plain(one['profile'])}".strip() + ("" if one["mode"] == "auto" else f", {one['mode']}")
    tabs = ", ".join(map(plain, one["tabs"][:3]))
    whose = f"of {plain(one['caller'])} by {plain(one['connection']) or 'REST'}"
    return f"{one['session']} {whose}: {what}{f', at {tabs}' if tabs else ''}"
