"""An offered tab followed in a terminal: `pilothouse browser-debug network HANDLE --follow`.

Above: shorter. Below: line, manifest (the filters are the tool's own arguments), show. Only the standard library.
"""

from __future__ import annotations

import os
import sys

from pilothouse.commands import manifest, show
from pilothouse.commands.arguments import UsageError, parse, wants_json
from pilothouse.commands.follow import NobodyReads, write
from pilothouse.commands.hints import answered
from pilothouse.commands.line import Line
from pilothouse.commands.show import RED, YELLOW, paint
from pilothouse.home import directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

FOLLOW = ("--follow", "-f")


def main(tool_name: str, arguments: list[str], called: str) -> int:
    """Print the past, then what comes until the tab is gone; the result is the exit code."""
    from pilothouse.instance import StartError

    complain = show.complain_json if wants_json(arguments) else show.complain
    known = manifest.read(directory())
    tool = manifest.find(known, tool_name)
    assert tool
    try:
        args, flags = parse(tool, [one for one in arguments if one not in FOLLOW])
        if flags.output or flags.timeout_s:
            raise UsageError("--output and --timeout do not go with --follow", ["`> FILE` writes what is printed"])
    except UsageError as error:
        hint = f"Try 'pilothouse {called} --help'."
        return complain(f"{called}: {error}", [*error.hints, hint], show.USAGE)
    line = Line()
    try:
        answer = line.follow_offered(tool_name, args, on_line=lambda told: _print(told, as_json=flags.json))
    except StartError as error:
        return complain(str(error))
    except NobodyReads:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return show.OK
    except KeyboardInterrupt:
        return show.INTERRUPTED
    finally:
        line.close()
    if answer["failed"]:
        return show.show(answered(answer, tool, known, called), as_json=flags.json, output="")
    sys.stderr.write(f"pilothouse: {answer['text']}\n")
    return show.OK


def _print(told: Entry, *, as_json: bool) -> None:
    if as_json:
        import json

        write(json.dumps(told, ensure_ascii=False))
    else:
        write(_missed(told) if "missed" in told else _request(told) if "request_id" in told else _entry(told))


def _missed(told: Entry) -> str:
    return paint(f"({told['missed']} lost: they came faster than they were read)", YELLOW, sys.stdout)


def _request(told: Entry) -> str:
    outcome = told.get("error") or str(told.get("status") or ("?" if "duration_ms" in told else "pending"))
    if told.get("error") or (told.get("status") or 0) >= 400:
        outcome = paint(outcome, RED, sys.stdout)
    took = f" {told['duration_ms']:.0f} ms" if "duration_ms" in told else ""
    return f"{told.get('method') or '?'} {outcome}{took} {told.get('url', '')}"


def _entry(told: Entry) -> str:
    place = f" ({told['source']}:{told.get('line', 0)})" if told.get("source") else ""
    colour = {"error": RED, "warn": YELLOW}.get(told["level"])
    text = f"{told['level']}: {told['message']}"
    return f"{paint(text, colour, sys.stdout) if colour else text}{place}"
