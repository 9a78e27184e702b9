"""The administrative commands: `serve`, `status`, `stop`.

Above: entry. Below: instance, and the daemon for `serve`. Uses click, which costs 30 ms: nothing here is in a hurry.
"""

import json
import os
import signal
import sys
from typing import Any

import click

from pilothouse import __version__, instance
from pilothouse.home import directory

STOP_TIMEOUT_S = 5.0
LINGER_S = 30 * 60.0


def main(arguments: list[str]) -> int:
    try:
        return commands.main(arguments, prog_name="pilothouse", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return 130
    except PermissionError as error:
        click.echo(f"pilothouse: {error}", err=True)
        return 1


@click.group()
@click.version_option(__version__, message="pilothouse %(version)s")
def commands() -> None:
    """One local daemon that lets agents drive, watch and debug Chrome.

    An MCP client starts `pilothouse mcp`, which starts the daemon by itself (see `pilothouse mcp --help`).
    """


@commands.command()
@click.option("--host", help="Address to listen on (127.0.0.1).")
@click.option("--port", type=int, help="Port of every door (8777); 0 picks a free one.")
@click.option("--tools", help="Tools to list over HTTP: core, all, or names and groups with commas.")
@click.option("--headed", is_flag=True, help="Browsers with a window.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False), help="Configuration file.")
@click.option("--auto", is_flag=True, hidden=True, help="Started by a bridge: ends by itself when unused.")
@click.option("--linger-s", type=float, default=LINGER_S, hidden=True, help="How long, with --auto.")
@click.option("--insecure-no-secret-for-conformance", is_flag=True, hidden=True)
def serve(**flags: Any) -> int:
    """Run the daemon until it is stopped. Prints one line of JSON when it is ready."""
    from pilothouse.daemon import serve

    return serve(**flags)


@commands.command(name="mcp", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def mcp(arguments: tuple[str, ...]) -> int:
    """MCP on stdin and stdout; starts the daemon when none runs."""
    from pilothouse.bridge import main as bridge

    return bridge(list(arguments))


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(as_json: bool) -> int:
    """Is a daemon running, and where? The exit code is 0 if so."""
    home = directory()
    info = instance.published(home)
    if as_json:
        click.echo(json.dumps({"running": info is not None, "home": home, **(info or {})}))
    elif info:
        click.echo(f"running: {info['url']}, pid {info['pid']}, version {info['version']}\nhome: {home}")
    else:
        click.echo(f"not running\nhome: {home}")
    return 0 if info else 1


@commands.command()
def stop() -> int:
    """End the daemon with its browsers and sessions."""
    home = directory()
    info = instance.published(home)
    if info is None:
        click.echo("not running")
        return 0
    if not _end(home, info["pid"]):
        click.echo(f"pid {info['pid']} did not end within {STOP_TIMEOUT_S:.0f} s", err=True)
        return 1
    click.echo("stopped")
    return 0


def _end(home: str, pid: int) -> bool:
    """SIGTERM to the holder of the home's lock. Its pid is not another's by now, for the lock is still held."""
    if sys.platform == "win32":
        instance.ask(home, json.dumps({"pilothouse": __version__, "door": "stop"}).encode())
    else:
        os.kill(pid, signal.SIGTERM)
    return instance.wait_gone(home, STOP_TIMEOUT_S)
