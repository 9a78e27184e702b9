"""`pilothouse secret`: passwords and the like that agents type by name and never see.

Above: admin. Below: person (the daemon keeps them, encrypted, and knows a new one at once). A value is asked for
without an echo, or read from a pipe; on a command line other programs and the shell's history would see it.
"""

import functools
import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import click

from pilothouse import instance
from pilothouse.commands import person, show
from pilothouse.errors import Failure
from pilothouse.home import directory

Entry = dict[str, Any]

MAX_CHARS = 10_000
_SHORT = 8


@click.group()
def secret() -> None:
    """Passwords that agents type by name (`secret:NAME`) into their own sites, and never see: set, list, remove."""


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--json`, and mistakes told as everywhere."""

    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> int:
        try:
            if instance.ensure(directory()):
                click.echo("pilothouse: no daemon was running: a new one was started", err=True)
            return work(*args, **options)
        except instance.StartError as error:
            return show.complain(str(error))
        except Failure as failure:
            return person.complain(failure, as_json=options["as_json"])

    return run


@secret.command(name="set")
@click.argument("name")
@click.argument("extra", nargs=-1, metavar="")
@click.option("--domain", "-d", "domains", multiple=True, help="Where it may be typed: github.com, *.github.com …")
@click.option("--note", default="", help="For yourself.")
@click.option("--any-field", is_flag=True, help="Also into fields whose content can be read on the screen.")
@_command
def set_command(
    name: str, extra: tuple[str, ...], domains: tuple[str, ...], note: str, any_field: bool, as_json: bool
) -> int:
    """Keep a secret, in the place of an older one of that name. Its value is asked for, or read from standard input."""
    if extra:
        raise Failure(
            "bad_request",
            "the value is not given on the command line, where other programs and the shell's history see it",
            suggestions=[
                "you are asked for it",
                f"or it comes from a pipe: … | pilothouse secret set {name} -d DOMAIN",
            ],
        )
    if not domains:
        hint = f"pilothouse secret set {name} --domain github.com"
        raise Failure("bad_request", "a secret needs a domain where it may be typed", suggestions=[hint])
    value = _value(name)
    given = {"value": value, "domains": list(domains), "note": note, "any_field": any_field}
    kept = person.ask("PUT", f"/api/secrets/{quote(name, safe='')}", given)
    told = f"{name} is kept; agents type it as secret:{name} on {', '.join(kept['domains'])}"
    if len(value) < _SHORT:
        told += f"\nit is short: below {_SHORT} characters it is masked only where it stands as a whole word"
    click.echo(json.dumps(kept) if as_json else told)
    return 0


@secret.command(name="list")
@_command
def list_command(as_json: bool) -> int:
    """Names, domains and dates. No value is ever shown."""
    kept: list[Entry] = person.ask("GET", "/api/secrets")["secrets"]
    if as_json:
        click.echo(json.dumps({"secrets": kept}))
        return 0
    click.echo("\n".join(map(_line, kept)) or "no secrets; `pilothouse secret set NAME --domain DOMAIN` keeps one")
    return 0


@secret.command()
@click.argument("name")
@_command
def remove(name: str, as_json: bool) -> int:
    """Forget a secret."""
    gone = person.ask("DELETE", f"/api/secrets/{quote(name, safe='')}")
    click.echo(json.dumps(gone) if as_json else f"{name} is removed")
    return 0


@secret.command(name="start-anew")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@_command
def start_anew(yes: bool, as_json: bool) -> int:
    """Begin without the secrets, when their key is gone. The file that cannot be opened is kept aside."""
    if not yes and not click.confirm("Begin without the registered secrets? They have to be set again", err=True):
        return show.TROUBLE
    done = person.ask("DELETE", "/api/secrets")
    told = f"there are no secrets now; what could not be opened is in {done['aside']}"
    click.echo(json.dumps(done) if as_json else told)
    return 0


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True))
    read = sys.stdin.read(MAX_CHARS + 1)
    if len(read) > MAX_CHARS:
        raise Failure("bad_request", f"the value is longer than {MAX_CHARS} characters")
    return read.removesuffix("\n").removesuffix("\r")


def _line(one: Entry) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["set_at"]))
    parts = [one["name"], ", ".join(one["domains"]), f"set {when}"]
    parts += ["any field"] if one["any_field"] else []
    return "  ".join([*parts, *([one["note"]] if one["note"] else [])])
