"""A command line made into the arguments of a tool, by what the manifest says of it.

Above: call. Below: nothing. Only shapes are checked here, so that a slip is told at once and in the words of a command
line; whether a value fits is for the daemon to say.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]

_YES, _NO = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
# What can be told by `@file` and `-`: code and markup, and texts if they may be at least so long. An @ in front of
# anything else (a target, a name, an address) is an @.
_CODE = {"body", "body_base64", "expression", "footer", "function", "header", "script"}
_TEXTS = {"content", "text", "value"}
_LONG = 20_000
PATHS = {"paths"}  # of files here: the daemon stands in another directory
MAX_INPUT_BYTES = 4 * 1024 * 1024


class UsageError(Exception):
    """The command line is not one; the text says what is wrong, `hints` what would be right."""

    def __init__(self, text: str, hints: list[str] | None = None) -> None:
        super().__init__(text)
        self.hints = hints or []


class Flags:
    """What the command line itself wants to know, whatever the tool."""

    def __init__(self) -> None:
        self.help = False
        self.json = False
        self.output = ""
        self.timeout_s = 0.0


_ALONE = ("string", "choice", "integer", "number")
OWN_OPTIONS = ("help", "json", "output", "timeout")


def parse(tool: Entry, arguments: list[str]) -> tuple[Entry, Flags]:
    """The tool's arguments and the flags around them, or `UsageError`."""
    reading = _Reading(tool)
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            reading.positional += rest
        elif argument.startswith("--"):
            reading.option(argument, rest)
        elif argument in ("-h", "-o"):
            reading.option({"-h": "--help", "-o": "--output"}[argument], rest)
        elif argument.startswith("-") and argument != "-" and not _is_number(argument):
            raise UsageError(f"unknown option {argument}", ["after `--` nothing is taken for an option"])
        else:
            reading.positional.append(argument)
    if not reading.flags.help:
        reading.place()
    return reading.args, reading.flags


def wants_json(arguments: list[str]) -> bool:
    """Is the answer to be JSON? Asked of a command line that may be wrong in any other way."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(one == "--json" or (one.startswith("--json=") and one[7:].lower() in _YES) for one in options)


class _Reading:
    def __init__(self, tool: Entry) -> None:
        self.tool = tool
        self.args: Entry = {}
        self.flags = Flags()
        self.positional: list[str] = []
        called = {word(one): one for one in tool["parameters"]}
        self._parameters: dict[str, Entry] = called | {one["name"]: one for one in tool["parameters"]}

    def option(self, argument: str, rest: Any) -> None:
        written, equals, text = argument[2:].partition("=")
        name = written.replace("-", "_")
        parameter = self._known(name) or self._known(written)
        if parameter is None and name.startswith("no_") and (parameter := self._known(name[3:])):
            if parameter["kind"] != "boolean" or equals:
                raise UsageError(f"--{written}: only a switch can be switched off, and takes no value")
            self.args[parameter["name"]] = False
        elif parameter is None:
            self._own(name, written, (equals, text), rest)
        elif parameter["kind"] == "boolean":
            self.args[parameter["name"]] = _boolean(f"--{written}", text) if equals else True
        else:
            self._give(parameter, text if equals else _next(written, rest), split=True)

    def _known(self, name: str) -> Entry | None:
        """`--timeout` is ours, in seconds, even where the founding documents knew it as milliseconds."""
        if name in self._parameters:
            return self._parameters[name]
        return None if name in OWN_OPTIONS else self._parameters.get(self.tool["synonyms"].get(name, ""))

    def _own(self, name: str, written: str, value: tuple[str, str], rest: Any) -> None:
        equals, text = value
        if name in ("help", "json"):
            setattr(self.flags, name, _boolean(f"--{written}", text) if equals else True)
        elif name == "output":
            self.flags.output = text if equals else _next(written, rest)
        elif name == "timeout":
            self.flags.timeout_s = seconds(text if equals else _next(written, rest))
        else:
            raise UsageError(f"there is no option --{written}", self._nearest(written))

    def _nearest(self, written: str) -> list[str]:
        from difflib import get_close_matches

        names = [*self._parameters, *OWN_OPTIONS]
        close = get_close_matches(written.replace("-", "_"), names, n=3, cutoff=0.5)
        return [f"did you mean --{one.replace('_', '-')}?" for one in close]

    def place(self) -> None:
        """Positional arguments, in the order of the declaration."""
        order = positional(self.tool)
        waiting = [one for one in order if one["name"] not in self.args]
        for index, parameter in enumerate(waiting):
            if not self.positional:
                break
            needed = sum(1 for one in waiting[index + 1 :] if one.get("required"))
            takes = len(self.positional) - needed if parameter["kind"] == "list" else 1
            for _ in range(max(takes, 1)):
                self._give(parameter, self.positional.pop(0), split=False)
        expected = [word(one).upper() for one in order]
        if self.positional:
            hint = f"it takes {' '.join(expected)}" if expected else "it takes options only"
            raise UsageError(f"too many arguments: {self.positional[0][:80]!r}", [hint])
        missing = [one for one in order if one.get("required") and one["name"] not in self.args]
        if missing:
            raise UsageError(f"missing: {', '.join(word(one).upper() for one in missing)}")

    def _give(self, parameter: Entry, text: str, *, split: bool) -> None:
        name = parameter["name"]
        if parameter["kind"] == "list":
            items = _items(parameter, text, split=split and name not in PATHS)
            self.args.setdefault(name, []).extend(map(_absolute, items) if name in PATHS else items)
            return
        value = read_value(parameter, text, label(parameter))
        if name in self.args and parameter.get("many"):
            before = self.args[name]
            value = [*(before if isinstance(before, list) else [before]), value]  # pyright: ignore[reportUnknownVariableType]
        elif name in self.args:
            raise UsageError(f"--{name.replace('_', '-')} is given twice")
        self.args[name] = value


def word(parameter: Entry) -> str:
    """What people call it: in a usage line, and as an option beside its name."""
    return parameter.get("word", parameter["name"])


def label(parameter: Entry) -> str:
    """How a mistake in it is told: HANDLE, --status-min."""
    if parameter.get("required") and parameter["kind"] != "boolean":
        return word(parameter).replace("_", "-").upper()
    return f"--{parameter['name'].replace('_', '-')}"


def positional(tool: Entry) -> list[Entry]:
    """What may stand without a name: what is required; of a tool that requires nothing the first, if it is plain,
    and the paths that follow it."""
    own = [one for one in tool["parameters"] if not one.get("place")]
    required = [one for one in own if one.get("required")]
    first = [one for one in own[:1] if one["kind"] in _ALONE and one["name"] != "timeout_ms"]
    return required or [*first, *(one for one in own[1:2] if one["name"] in PATHS)]


def is_long(parameter: Entry) -> bool:
    """May it be told by a file?"""
    name = parameter.get("name", "")
    return name in _CODE or (name in _TEXTS and parameter.get("longest", 0) >= _LONG)


def read_value(parameter: Entry, text: str, name: str) -> Any:
    kind = parameter["kind"]
    if kind == "string":
        if is_long(parameter):
            text = _told(text, name)
        return _json(text, name) if parameter.get("many") and text.startswith('["') else text
    if kind == "boolean":
        return _boolean(name, text)
    if kind in ("integer", "number"):
        return _number(kind, text, name)
    if kind == "choice":
        return _choice(parameter["choices"], text, name)
    text = _told(text, name)
    if kind == "any":
        return _json_or_text(text)
    return _object(parameter, text, name)


def seconds(text: str) -> float:
    """`10`, `10s`, `500ms`, `2m`."""
    for suffix, factor in (("ms", 0.001), ("s", 1), ("m", 60)):
        if text.endswith(suffix):
            text, scale = text[: -len(suffix)], factor
            break
    else:
        scale = 1
    try:
        value = float(text) * scale
    except ValueError:
        value = 0.0
    if not 0 < value <= 86_400:
        raise UsageError("--timeout takes seconds, or a number with ms, s or m")
    return value


def _items(parameter: Entry, text: str, *, split: bool) -> list[Any]:
    """One more item, or several as JSON or, for an option, between commas without spaces."""
    of, name = parameter["of"], label(parameter)
    if of["kind"] not in ("string", "choice"):
        text = _told(text, name)
    if text.lstrip().startswith("["):
        found = _json_or_text(text)
        if isinstance(found, list):
            return found  # pyright: ignore[reportUnknownVariableType]
    simple = of["kind"] in ("string", "choice", "integer", "number")
    if split and simple and "," in text and " " not in text:
        return [read_value(of, part, name) for part in text.split(",") if part]
    return [text if of["kind"] == "string" else read_value(of, text, name)]


def _absolute(path: Any) -> Any:
    return os.path.abspath(os.path.expanduser(path)) if isinstance(path, str) else path


def _object(parameter: Entry, text: str, name: str) -> Any:
    if text.lstrip().startswith("{"):
        return _json(text, name)
    fields: Entry = parameter.get("fields", {})
    pairs: list[str] = []
    for part in text.split(","):
        key, equals, _ = part.partition("=")
        if equals and (not fields or key.strip() in fields):
            pairs.append(part)
        elif pairs:
            pairs[-1] += f",{part}"  # a comma of the value before it
        else:
            known = ",".join(f"{one}=…" for one in fields) or "key=value,…"
            raise UsageError(f"{name}: {text[:80]!r} is neither JSON nor {known}")
    split = [pair.partition("=") for pair in pairs]
    return {key.strip(): _field(fields, key.strip(), value, name) for key, _, value in split}


def _field(fields: Entry, key: str, text: str, name: str) -> Any:
    return read_value({**fields.get(key, {"kind": "any"}), "name": key}, text, name)


def _told(text: str, name: str) -> str:
    """`@file` and `-` stand for what is in the file or comes on stdin; `@@` for an @."""
    if text.startswith("@@"):
        return text[1:]
    if text in ("-", "@-"):
        return _decoded(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1), name)
    if not text.startswith("@"):
        return text
    try:
        with open(os.path.expanduser(text[1:]), "rb") as file:
            return _decoded(file.read(MAX_INPUT_BYTES + 1), name)
    except OSError as error:
        raise UsageError(f"{name}: {text[1:]}: {error.strerror}", ["write @@ for a text that begins with @"]) from None


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > MAX_INPUT_BYTES:
        raise UsageError(f"{name}: more than {MAX_INPUT_BYTES} bytes")
    try:
        return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8 text") from None


def _next(written: str, rest: Any) -> str:
    text = next(rest, None)
    if text is None or text.startswith("--"):
        raise UsageError(f"--{written} needs a value", [f"--{written}={text} if that is the value"] if text else [])
    return text


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in _YES | _NO:
        raise UsageError(f"{name}: {text[:80]!r} is neither true nor false")
    return text.lower() in _YES


def _number(kind: str, text: str, name: str) -> int | float:
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        article = "an integer" if kind == "integer" else "a number"
        raise UsageError(f"{name}: {text[:80]!r} is not {article}") from None


def _choice(choices: list[str], text: str, name: str) -> str:
    same = [one for one in choices if one.lower() == text.lower()]
    if not same:
        raise UsageError(f"{name}: {text[:80]!r} is none of {', '.join(choices)}")
    return text if text in choices else same[0]


def _json(text: str, name: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not JSON: {error}") from None


def _json_or_text(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_number(text: str) -> bool:
    return text[1:].replace(".", "", 1).isdigit()
