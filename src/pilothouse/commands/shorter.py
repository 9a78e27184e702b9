"""Tools under shorter names, with help of their own: `pilothouse profile add`, `pilothouse browser-debug network`.

Above: admin. Below: call, offered (what goes on with --follow), usage. Only the standard library.
"""

from __future__ import annotations

import sys

from pilothouse.commands import call, manifest, offered, show
from pilothouse.commands.actions import DEBUG, PROFILE
from pilothouse.commands.arguments import wants_json
from pilothouse.commands.usage import tool_help
from pilothouse.home import directory

_FOLLOWED = ("network", "console")
_FOLLOW = [("-f, --follow", "go on with what comes, until the tab is gone or Ctrl-C; without --output and --timeout")]


def profile(action: str, arguments: list[str]) -> int:
    return _explained(f"profile {action}", PROFILE[action][0], arguments)


def browser_debug(action: str, arguments: list[str]) -> int:
    called, tool = f"browser-debug {action}", DEBUG[action][0]
    options = _options(arguments)
    if options & set(offered.FOLLOW) and not _wants_help(options):
        if action in _FOLLOWED:
            return offered.main(tool, arguments, called)
        complain = show.complain_json if wants_json(arguments) else show.complain
        hints = [f"pilothouse browser-debug {one} HANDLE --follow" for one in _FOLLOWED]
        return complain(f"{called} tells what is there now and does not go on", hints, show.USAGE)
    return _explained(called, tool, arguments, _FOLLOW if action in _FOLLOWED else [])


def _explained(called: str, tool_name: str, arguments: list[str], more: list[tuple[str, str]] | None = None) -> int:
    if not _wants_help(_options(arguments)):
        return call.main([tool_name, *arguments], called)
    tool = manifest.find(manifest.read(directory()), tool_name)
    assert tool
    sys.stdout.write(tool_help(tool, called, more or []))
    return show.OK


def _wants_help(options: set[str]) -> bool:
    return bool(options & {"-h", "--help"})


def _options(arguments: list[str]) -> set[str]:
    """What stands before `--`, after which nothing is taken for an option."""
    return set(arguments[: arguments.index("--")] if "--" in arguments else arguments)
