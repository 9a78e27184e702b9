"""A tool as a command: `pilothouse click e5`. Made from the manifest, answered by the daemon, in a tenth of a second.

Above: entry. Below: manifest, arguments, line, show, likely. Only the standard library, and no module in vain.
"""

from __future__ import annotations

import os
import sys

from pilothouse.commands import manifest
from pilothouse.commands.arguments import UsageError, parse, wants_json
from pilothouse.home import directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entry = dict[str, Any]
    from pilothouse.commands.arguments import Flags

ADMINISTRATIVE = (
    "approvals", "backup", "browser-debug", "cocoon", "completion", "console", "dashboard", "demo", "doctor", "events",
    "extension", "hub", "install", "key", "log", "mcp", "network", "policy", "profile", "restore", "secret", "serve",
    "sessions", "status", "stop", "tools", "user",
)  # fmt: skip


def main(arguments: list[str], called: str = "") -> int:
    """The exit code of one command; `called` is what was typed where that is not the tool's own name."""
    from pilothouse.commands import show

    name, *rest = arguments
    complain = show.complain_json if wants_json(rest) else show.complain
    try:
        known = manifest.read(directory())
        tool = manifest.find(known, name)
        if tool is None:
            return complain(f"there is no command {name[:80]!r}", _nearest(known, name), show.USAGE)
        return _run(tool, (name, called), rest, complain, known)
    except UsageError as error:
        hint = f"Try 'pilothouse {called or name} --help'."
        return complain(f"{called or name}: {error}", [*error.hints, hint], show.USAGE)
    except PermissionError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return show.INTERRUPTED


def _run(
    tool: Entry, names: tuple[str, str], arguments: list[str], complain: Callable[[str], int], known: Entry
) -> int:
    from pilothouse.commands import show

    name, called = names
    args, flags = parse(tool, arguments)
    if flags.help:
        from pilothouse.commands.usage import tool_help

        sys.stdout.write(tool_help(tool))
        return show.OK
    _fit_output(tool, args, flags)
    answer = _asked(name if name in tool["aliases"] else tool["name"], tool, args, flags)
    if isinstance(answer, str):
        return complain(answer)
    if answer["failed"] and not flags.json:
        from pilothouse.commands.hints import answered

        answer = answered(answer, tool, known, called)
    return show.show(answer, as_json=flags.json, output=flags.output)


def _asked(name: str, tool: Entry, args: Entry, flags: Flags) -> Entry | str:
    from pilothouse.commands.line import Line, failed
    from pilothouse.commands.show import Progress
    from pilothouse.instance import StartError

    line, progress = Line(), Progress()
    wait_s = flags.timeout_s
    if wait_s and tool["timed"]:
        args.setdefault("timeout_ms", max(int(wait_s * 1000), 1))
        wait_s += 2  # the daemon's own words are better than ours
    try:
        return line.call(name, args, timeout_s=wait_s, on_progress=progress)
    except TimeoutError:
        if progress.approval:
            return _unanswered(name, flags, progress.approval)
        steps = [
            f"give it longer: --timeout {_longer(flags.timeout_s)}",
            "a page that hangs: pilothouse reload, or pilothouse navigate elsewhere",
            "what it waits for: pilothouse network, pilothouse console; a dialog: pilothouse events",
        ]
        return failed("timeout", f"{name} did not end within {flags.timeout_s:g} s and was cancelled", steps)
    except StartError as error:
        return str(error)
    finally:
        progress.clear()
        line.close()


def _unanswered(name: str, flags: Flags, ident: str) -> Entry:
    from pilothouse.commands.line import failed

    steps = [
        "answer such questions as they come: pilothouse approvals --watch, in another terminal",
        f"give it longer: --timeout {_longer(flags.timeout_s)}",
    ]
    why = f"{name} waited for a person's approval ({ident}) for {flags.timeout_s:g} s, and was not done"
    return failed("timeout", why, steps)


def _longer(seconds: float) -> str:
    return f"{seconds * 3:g}" if seconds >= 1 else "5"


def _fit_output(tool: Entry, args: Entry, flags: Flags) -> None:
    """`--output page.png` says the format too, where a tool has several."""
    suffix = os.path.splitext(flags.output)[1][1:].lower()
    written = "jpeg" if suffix == "jpg" else suffix
    for parameter in tool["parameters"]:
        formats: list[str] = parameter.get("choices", []) if parameter["name"] == "format" else []
        if written in formats:
            args.setdefault("format", written)
        elif suffix and "png" in formats:  # of a PDF, it is the paper that has a format
            known = ", ".join(f".{one}" for one in sorted([*formats, "jpg"]))
            raise UsageError(f"--output: a picture cannot be a .{suffix[:20]} file", [f"these can be: {known}"])


def _nearest(known: Entry, name: str) -> list[str]:
    from pilothouse.likely import likely

    plain = name.replace("-", "_").lower()
    names = [one["name"] for one in known["tools"]] + list(ADMINISTRATIVE)
    close = likely(name, names, cutoff=0.55) or [one for one in names if plain in one][:4]
    hints = [f"did you mean {one.replace('_', '-')}?" for one in close]
    return [*hints, "Try 'pilothouse --help' or 'pilothouse tools'."]
