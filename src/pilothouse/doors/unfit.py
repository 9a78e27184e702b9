"""Which field of a request does not fit: a client that is told only that something is wrong tries the same again.

Above: mcp, which catches what the SDK finds. Below: nothing. What a client sent is not repeated, only where it stands.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MAX_TOLD = 5
MAX_READ = 100  # of more nobody wants to hear which, and to write them down takes seconds (M)
MAX_FIELD_CHARS = 120
_KINDS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
}


class Unfit(NamedTuple):
    field: str
    problem: str


def unfit(problems: Iterable[Mapping[str, Any]]) -> list[Unfit]:
    """Of what pydantic tells; some of its models begin at the request, some at its parameters."""
    told = [Unfit(_field(one["loc"]), _problem(one)) for one in problems]
    return list(dict.fromkeys(told))[:MAX_TOLD]


def in_words(method: str, told: list[Unfit]) -> str:
    fields = "; ".join(f'"{one.field}" {one.problem}' for one in told)
    return f"{method[:80]}: {fields or f'more than {MAX_READ} fields do not fit'}"


def _field(where: Iterable[str | int]) -> str:
    parts = [str(part) for part in where]
    path = ".".join(parts if parts[:1] == ["params"] else ["params", *parts])
    return path if len(path) <= MAX_FIELD_CHARS else f"{path[:MAX_FIELD_CHARS]}…"


def _problem(told: Mapping[str, Any]) -> str:
    said = str(told["msg"])
    return _KINDS.get(told["type"], f"does not fit: {said[:1].lower()}{said[1:300]}")
