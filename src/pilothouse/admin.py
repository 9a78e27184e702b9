"""The administrative commands: what a person does besides calling tools.

Above: entry. Below: instance, the daemon for `serve`, and commands for those that have a file of their own. Uses click,
which costs 30 ms: nothing here is in a hurry.
"""

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import click

from pilothouse import __version__, instance
from pilothouse.commands import show
from pilothouse.commands.actions import DEBUG, PROFILE, Actions
from pilothouse.commands.arguments import wants_json
from pilothouse.commands.completion import SCRIPTS, SHELLS
from pilothouse.commands.follow import follow
from pilothouse.commands.show import EXIT_CODES
from pilothouse.commands.status import describe, look
from pilothouse.home import directory

STOP_TIMEOUT_S = 5.0
LINGER_S = 30 * 60.0
PERSON_FILES = (
    "approvals", "cocoon", "dashboard", "extension", "key", "log", "policy", "secret", "sessions", "user",
)  # fmt: skip
OWN_FILES = (*PERSON_FILES, "backup", "demo", "doctor", "install", "restore")


class Commands(click.Group):
    """Those with a file of their own are imported when they are called: nobody else waits for them, or breaks with
    them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *OWN_FILES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN_FILES:
            return getattr(importlib.import_module(f"pilothouse.commands.{cmd_name}"), cmd_name)
        return super().get_command(ctx, cmd_name)


def main(arguments: list[str]) -> int:
    try:
        return commands.main(arguments, prog_name="pilothouse", standalone_mode=False) or 0
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show()
            return error.exit_code
        complain = show.complain_json if wants_json(arguments) else show.complain
        return complain(" ".join(error.format_message().split()), [_where_help_is(error)], error.exit_code)
    except click.Abort:
        return 130
    except PermissionError as error:
        click.echo(f"pilothouse: {error}", err=True)
        return 1


def _where_help_is(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"Try '{context.command_path if context else 'pilothouse'} --help'."


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="pilothouse %(version)s")
def commands() -> None:
    """One local daemon that lets agents drive, watch and debug Chrome.

    An MCP client starts `pilothouse mcp`, which starts the daemon by itself; `pilothouse install CLIENT` tells it so.

    Every tool is a command too: `pilothouse navigate http://localhost:3000`, `pilothouse click e5`. `pilothouse tools`
    lists them, `pilothouse TOOL --help` explains one. They share one session in each terminal.
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
    """Is a daemon running, where, and what does it do? The exit code is 0 if one runs and answers, else 1."""
    home = directory()
    found = look(home, instance.published(home))
    click.echo(json.dumps(found) if as_json else describe(found))
    return 0 if found.get("answers") else 1


@commands.command()
@click.option("--set", "wanted", default="", help="Only these sets or names, with commas; `core` is one.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def tools(wanted: str, as_json: bool) -> int:
    """List the tools, each of which is a command."""
    from pilothouse.commands import manifest, usage

    known = manifest.read(directory())
    if wrong := usage.unknown_sets(known["tools"], wanted):
        raise click.UsageError(wrong)
    chosen = [one for one in known["tools"] if usage.belongs(one, wanted)]
    click.echo(json.dumps(chosen) if as_json else usage.tool_list(chosen), nl=as_json)
    return 0


@commands.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print what makes a shell complete commands, options and values; its first line says where to put it."""
    click.echo(SCRIPTS[shell], nl=False)
    return 0


def _following(command: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that tells what happens in a session."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
        click.option("--session", default="", help="Default: this terminal's own."),
        click.option("--limit", type=click.IntRange(0, 1000), default=50, help="How much of the past (50)."),
        click.option("--follow", "-f", "live", is_flag=True, help="Go on with what comes, until Ctrl-C."),
    ):
        command = option(command)
    return command


@commands.command()
@_following
@click.option("--level", multiple=True, type=click.Choice(["log", "debug", "info", "warn", "error"]))
@click.option("--pattern", default="", help="Regular expression.")
def console(**asked: Any) -> int:
    """Console lines and exceptions of a session, all its tabs; with --follow also those to come."""
    return follow("console", **asked)


@commands.command()
@_following
@click.option("--pattern", "url_pattern", default="", help="Part of the address, or glob with *.")
@click.option("--method", multiple=True, help="GET, POST …")
@click.option("--type", multiple=True, help="Document, Fetch, XHR …")
@click.option("--status-min", type=click.IntRange(0, 999), default=0, help="400 shows what went wrong.")
def network(**asked: Any) -> int:
    """Requests of a session that are done or failed, all its tabs; with --follow also those to come."""
    return follow("network", **asked)


@commands.command()
@_following
@click.option("--pattern", default="", help="Regular expression.")
def events(**asked: Any) -> int:
    """Dialogs, downloads, crashes, tabs, errors, navigations of a session; with --follow also those to come."""
    return follow("events", **asked)


class Shorter(click.Group):
    """Tools under shorter names. What follows an action is read by what the tool says of itself, `--help` too."""

    def __init__(self, name: str, about: str, run: Callable[[str, list[str]], int], actions: Actions) -> None:
        usage = [f"{action} {takes}".strip() for action, (_, takes, _) in actions.items()]
        super().__init__(name, help=about, subcommand_metavar=" | ".join(usage), options_metavar="")
        for action, (_, _, meaning) in actions.items():
            self.add_command(_action(action, meaning, run))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise click.UsageError(f"{args[0][:80]!r} is none of {', '.join(self.commands)}", ctx)
        return super().resolve_command(ctx, args)


def _action(name: str, meaning: str, run: Callable[[str, list[str]], int]) -> click.Command:
    def called(arguments: tuple[str, ...]) -> int:
        return run(name, list(arguments))

    return click.Command(
        name,
        callback=called,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        help=meaning,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


def _profile(action: str, arguments: list[str]) -> int:
    from pilothouse.commands import shorter

    return shorter.profile(action, arguments)


def _browser_debug(action: str, arguments: list[str]) -> int:
    from pilothouse.commands import shorter

    return shorter.browser_debug(action, arguments)


commands.add_command(
    Shorter(
        "profile",
        "Browser profiles: list, show, add, edit, remove. `pilothouse profile add --help` tells what each takes.",
        _profile,
        PROFILE,
    )
)
commands.add_command(
    Shorter(
        "browser-debug",
        "Tabs offered through the debug proxy: list-tabs, network, console. `… network --help` tells its filters.",
        _browser_debug,
        DEBUG,
    )
)


@commands.command()
@click.option("--port", type=int, help="Port to listen on (8778); 0 picks a free one.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False), help="Configuration file.")
def hub(**flags: Any) -> int:
    """Run the debug hub alone, for browsers and daemons on other machines; a proxy in front of it speaks TLS."""
    from pilothouse.alone import serve

    return serve(**flags)


@commands.command()
def stop() -> int:
    """End the daemon with its browsers and sessions. The exit code is 0 if none runs afterwards, else 1."""
    home = directory()
    try:
        info = instance.settled(home, STOP_TIMEOUT_S)  # one that is starting runs afterwards
    except instance.StartError as error:
        click.echo(f"{error}; try again when it is ready", err=True)
        return 1
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
