"""`pilothouse dashboard`: opens the page on which a person sees, answers and steers what agents do.

Above: admin. Below: person (the daemon, with the person's key), instance. The link holds a ticket behind its #, which
no server sees; it opens one page, within a minute.
"""

import json
import os
import sys
import webbrowser

import click

from pilothouse import instance
from pilothouse.commands import person
from pilothouse.commands.person import NotThere
from pilothouse.commands.show import OK, complain
from pilothouse.errors import Failure
from pilothouse.home import directory


@click.command()
@click.option("--print", "only_print", is_flag=True, help="Print the link instead of opening it.")
@click.option("--json", "as_json", is_flag=True, help="For programs; prints and opens nothing.")
def dashboard(only_print: bool, as_json: bool) -> int:
    """Open the dashboard in your browser: sessions, approvals, activity, policy. Starts the daemon if none runs.

    The link works once, within a minute. Give it to nobody: whoever opens it can do what you can.
    """
    try:
        instance.ensure(directory())
        link, valid_s = new_link()
    except (NotThere, instance.StartError) as error:
        return complain(str(error))
    except Failure as failure:
        return complain(failure.message, failure.suggestions)
    if as_json:
        click.echo(json.dumps({"url": link, "valid_s": valid_s}))
    elif only_print or not (_has_display() and webbrowser.open(link)):
        click.echo(link)
        click.echo(f"It opens once, within {valid_s} s.", err=True)
    else:
        click.echo("opened in your browser; `pilothouse dashboard --print` prints a link instead")
    return OK


def new_link() -> tuple[str, int]:
    url, _ = person.address()
    told = person.ask("POST", "/api/dashboard/ticket", {})
    return f"{url}/dashboard#ticket={told['ticket']}", told["valid_s"]


def _has_display() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
