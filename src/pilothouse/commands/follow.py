"""What a session's tabs say and ask for and what happens, as lines in a terminal: `pilothouse console --follow`.

Above: admin. Below: line, show. Only the standard library.
"""

from __future__ import annotations

import os
import sys

from pilothouse.commands import show
from pilothouse.commands.line import Line
from pilothouse.commands.show import DIM, RED, YELLOW, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]


class NobodyReads(Exception):
    """Our output goes to a program that has ended, as `head` does."""


def follow(kind: str, *, session: str, live: bool, as_json: bool, **asked: Any) -> int:
    """Print the past, then, if it is to be `live`, what comes until the session ends; the result is the exit code."""
    from pilothouse.instance import StartError

    wanted = {"kinds": [kind], "since": 0, **asked}
    line = Line()
    try:
        answer = line.follow(wanted, session, live=live, on_line=lambda told: _print(told, as_json=as_json))
    except StartError as error:
        return show.complain(str(error))
    except NobodyReads:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return show.OK
    finally:
        line.close()
    if answer["failed"]:
        return show.show(answer, as_json=as_json, output="")
    if answer["text"]:
        sys.stderr.write(f"pilothouse: {answer['text']}\n")
    return show.OK


def _print(told: Entry, *, as_json: bool) -> None:
    if as_json:
        import json

        text = json.dumps(told, ensure_ascii=False)
    else:
        text = _PRINTED[told["kind"]](told)
    write(text)


def write(text: str) -> None:
    out = sys.stdout
    try:
        out.buffer.write(text.encode(out.encoding or "utf-8", "replace") + b"\n")
        out.buffer.flush()
    except BrokenPipeError:
        raise NobodyReads from None


def _console(told: Entry) -> str:
    place = f" ({told['url']}:{told['line']})" if told["url"] else ""
    colour = {"error": RED, "warn": YELLOW, "debug": DIM}.get(told["level"])
    text = f"[{told['level']}] {told['text']}"
    return f"{_tab(told)}{paint(text, colour, sys.stdout) if colour else text}{paint(place, DIM, sys.stdout)}"


def _network(told: Entry) -> str:
    outcome = ", ".join(str(part) for part in (told["status"], told.get("failure")) if part)
    if told.get("failure") or told["status"] >= 400:
        outcome = paint(outcome, RED, sys.stdout)
    tail = f" ({told['mocked']})" if told.get("mocked") else ""
    took = f"{told.get('duration_ms', 0):.0f} ms"
    return f"{_tab(told)}{told['id']} {told['method']} {told['url']} {outcome} {told['type']} {took}{tail}"


def _event(told: Entry) -> str:
    return f"{_tab(told)}{told['event'].replace('_', ' ')}: {told['text']}"


def _lost(told: Entry) -> str:
    return paint(f"({told['count']} lines lost: they came faster than they were read)", YELLOW, sys.stdout)


def _tab(told: Entry) -> str:
    return paint(f"{told['tab'] or '-'} ", DIM, sys.stdout)


_PRINTED = {"console": _console, "network": _network, "event": _event, "lost": _lost}
