"""An answer as a person reads it in a terminal, or a program on a pipe; pictures and files go to where they are wanted.

Above: call. Below: home. Colour only on a terminal, and never with NO_COLOR.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

OK, TROUBLE, USAGE, SECURITY, BROWSER, SYSTEM, TIMEOUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
_CATEGORIES = {"protocol": USAGE, "security": SECURITY, "browser": BROWSER, "system": SYSTEM}
EXIT_CODES = """\
Exit codes: 0 done; 1 no daemon, or a file that cannot be written; 2 wrong usage or arguments; 3 refused by the policy
or a person; 4 the page or browser; 5 a limit, or Pilothouse itself; 6 out of time; 130 interrupted."""

RED, YELLOW, DIM, BOLD, CYAN = "31", "33", "2", "1", "36"


def paint(text: str, colour: str, stream: Any) -> str:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def exit_code(answer: Entry) -> int:
    if not answer["failed"]:
        return OK
    error = answer["data"]["error"]
    return TIMEOUT if error["code"] == "timeout" else _CATEGORIES.get(error["category"], TROUBLE)


def show(answer: Entry, *, as_json: bool, output: str) -> int:
    """Print it; the result is the exit code."""
    try:
        files = _kept(answer, output, always=not as_json)
    except OSError as error:
        told = complain(f"{error.filename or output}: {error.strerror}")
        if not answer["failed"]:
            return told
        files = []  # what has gone wrong before is told all the same
    if as_json:
        _write(sys.stdout, _as_json(answer, files))
    elif answer["failed"]:
        _write(sys.stderr, "\n".join([_error_text(answer["text"]), *_saved(files)]))
    elif "-" in files:
        _write(sys.stderr, "\n".join(_saved(files)))
    else:
        lines = [_coloured(answer["text"])] if answer["text"] and not _is_text(answer, output) else []
        _write(sys.stdout, "\n".join([*lines, *_saved(files)]))
    return exit_code(answer)


def _saved(files: list[str]) -> list[str]:
    return [f"saved {path}" for path in files if path != "-"]


def complain(text: str, hints: list[str] | None = None, code: int = TROUBLE) -> int:
    lines = [f"pilothouse: {paint(text, RED, sys.stderr)}", *(f"- {hint}" for hint in hints or [])]
    _write(sys.stderr, "\n".join(lines))
    return code


def complain_json(text: str, hints: list[str] | None = None, code: int = TROUBLE) -> int:
    """The same for a program that asked for JSON: the envelope of every other error, on stdout."""
    from pilothouse.commands.line import failed

    error = "bad_request" if code == USAGE else "system"
    _write(sys.stdout, _as_json(failed(error, text, hints), []))
    return code


class Progress:
    """How far long work is, on a terminal, in one line that goes away. That a person is waited for is told to all."""

    def __init__(self) -> None:
        self.approval = ""  # the question that is waited for
        self._shown = False

    def __call__(self, told: Entry) -> None:
        self._tell_of_approval(told["message"])
        if not sys.stderr.isatty():
            return
        so_far = f"{round(told['done'], 1):g}/{told['total']:g} " if told.get("total") else ""
        sys.stderr.write(f"\r\x1b[K{so_far}{told['message'][:60]}")
        sys.stderr.flush()
        self._shown = True

    def _tell_of_approval(self, message: str) -> None:
        """As guard's approvals tell it: `waiting for approval of click (a1b2c3), 60 s left`."""
        _, waits, about = message.rpartition("waiting for approval of ")  # in a batch, after the step's name
        tool, _, rest = about.partition(" (")
        ident = rest.partition(")")[0] if waits else ""
        if ident and ident != self.approval:
            self.clear()
            ways = f"`pilothouse approvals` shows it, `pilothouse approvals allow {ident}` or `deny {ident}` answers"
            sys.stderr.write(f"pilothouse: {waits}{tool} {ident}: {ways}\n")
        self.approval = ident

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _kept(answer: Entry, output: str, *, always: bool) -> list[str]:
    """Where the pictures of an answer, the file it speaks of, or else its text, were put; without `always` only if
    asked. Of what failed it is the pictures of steps that were done before."""
    if answer["images"] and (always or output not in ("", "-")):
        return _put_pictures(answer["images"], output)
    if answer["failed"]:
        return []
    kept = answer["data"].get("path")
    if output and isinstance(kept, str) and _is_ours(kept) and os.path.isfile(kept):
        with open(kept, "rb") as file:
            return [_put(file.read(), "", output)]
    if _is_text(answer, output) and (always or output != "-"):
        return [_put(f"{answer['text']}\n".encode(errors="replace"), "", output)]
    return []


def _is_text(answer: Entry, output: str) -> bool:
    """Is its text all that can be put anywhere? With --output only: the rest is for the screen."""
    return bool(output) and not answer["images"] and "path" not in answer["data"]


def _is_ours(path: str) -> bool:
    """Does it lie where sessions keep their files? A path may also be what a page or another program has said."""
    from pilothouse.home import directory

    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(directory()), "sessions", ""))


def _put_pictures(images: list[Entry], output: str) -> list[str]:
    """The first where it is wanted, the others beside it: `page.png`, `page-2.png`. One stream holds one picture."""
    from base64 import b64decode

    stem, suffix = os.path.splitext(output if output != "-" else "")
    first, *others = [(b64decode(one["data"]), one["mime_type"]) for one in images]
    kept = [_put(*first, output)]
    for data, mime_type in others:
        kept.append(_put_new(data, stem, suffix, first=2) if stem else _put(data, mime_type, ""))
    return kept


def _put(data: bytes, mime_type: str, output: str) -> str:
    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return "-"
    if output:
        with open(output, "wb") as file:
            file.write(data)
        return output
    return _put_here(data, mime_type.rpartition("/")[2] or "bin")


def _put_here(data: bytes, suffix: str) -> str:
    """A new file in the current directory."""
    import time

    return _put_new(data, time.strftime("screenshot-%Y%m%d-%H%M%S"), f".{suffix}")


def _put_new(data: bytes, stem: str, suffix: str, *, first: int = 0) -> str:
    """Never over a file that is there."""
    for number in range(first, first + 100):
        name = f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            with open(name, "xb") as file:
                file.write(data)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(17, "too many files of that name", stem)


def _as_json(answer: Entry, files: list[str]) -> str:
    """The shape of the REST door, with the text and pictures that MCP gives."""
    import json

    data: Entry = dict(answer["data"])
    whole: Entry = {"success": not answer["failed"]}
    if answer["failed"]:
        whole["error"] = data.pop("error")
    if data or not answer["failed"]:
        whole["data"] = data
    whole["text"] = answer["text"]
    if files:
        whole["files"] = files
    elif answer["images"]:
        whole["images"] = answer["images"]
    return json.dumps(whole, ensure_ascii=False)


def _error_text(text: str) -> str:
    first, *rest = text.split("\n")
    code, colon, message = first.partition(": ")
    if not sys.stderr.isatty():
        return text
    return "\n".join([paint(code, RED, sys.stderr) + colon + message, *(paint(one, DIM, sys.stderr) for one in rest)])


def _coloured(text: str) -> str:
    """Refs stand out, and so does what went wrong on the page."""
    if paint("", RED, sys.stdout) == "":
        return text
    import re

    lines: list[str] = []
    for line in text.split("\n"):
        if re.match(r"(console error|page error|dialog|crash|network)[ a-z0-9]*: ", line):
            lines.append(paint(line, YELLOW, sys.stdout))
        elif line.startswith("session: "):
            lines.append(paint(line, DIM, sys.stdout))
        else:
            lines.append(re.sub(r" (e\d+)(?=$| )", lambda ref: " " + paint(ref[1], CYAN, sys.stdout), line))
    return "\n".join(lines)


def _write(stream: Any, text: str) -> None:
    """A character that the terminal's encoding lacks is replaced; a reader that is gone is no trouble of ours."""
    if not text:
        return
    try:
        stream.flush()
        stream.buffer.write(text.encode(stream.encoding or "utf-8", "replace") + b"\n")
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
