"""One declaration per tool: `@tool` turns an annotated function into everything the doors need to know of it.

Above: tools declare with it, the gate and the doors read `Tool` and `Registry`. Below: errors, result, likely.
The function's name is the tool's name, its module the group, its docstring the description, its annotations the
schema, the class of its first parameter (`Tab`, `Session`, `OwnSessions` …) what the gate hands to it.
"""

import enum
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Protocol, cast, get_args, get_type_hints

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure
from pilothouse.likely import likely
from pilothouse.result import Image, Result
from pilothouse.schema import input_schema, output_schema, within

# What it may be is told once, at `click` and in the server's instructions: every further telling costs tokens.
Target = str | list[str]
TimeoutMs = Annotated[int, Meta(ge=1, le=600_000)]
Url = Annotated[str, Meta(max_length=65_536)]  # an address that will be opened: the gate checks it first

MOST_SAID = 300
_AT = " - at `$."


class Access(enum.Enum):
    """What a tool does to the world: the policy's first question."""

    READ = "read"
    VISIT = "visit"
    WRITE = "write"
    SENSITIVE = "sensitive"


class Progress(Protocol):
    """Tells the caller how far long work is; a tool asks for it by a parameter of this type."""

    async def __call__(self, done: float, total: float | None, message: str) -> None: ...


Dialog = Callable[[dict[str, Any]], Awaitable[str]]
"""Puts a question to the user of the calling client; `allow`, `deny`, or empty for no answer."""


class Runner(Protocol):
    """Runs another tool through the whole corridor; a tool made of steps asks for it by a parameter of this type."""

    async def __call__(self, name: str, args: dict[str, Any]) -> "Step": ...


class Step(msgspec.Struct, frozen=True):
    """How one step of a larger tool ended."""

    text: str
    data: dict[str, Any]
    failed: bool
    images: list[Image] = []


class Tool(msgspec.Struct, frozen=True):
    name: str
    group: str
    access: Access
    description: str
    scope: str
    handler: Callable[..., Awaitable[Result[Any]]]
    arguments: type[msgspec.Struct]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    example: dict[str, Any]
    core: bool
    queued: bool
    live: bool
    opens: bool
    leaves: bool
    revives: bool
    sensitive: frozenset[str]
    reveals: bool
    shows: bool
    progress_name: str
    runner_name: str
    url_names: tuple[str, ...]
    takes: frozenset[str]
    places: Callable[[Any, Any], Awaitable[list[str]]] | None
    grave: Callable[[Any, Any], bool] | None
    alone: str
    aliases: tuple[str, ...]
    synonyms: dict[str, str]

    @property
    def needs_session(self) -> bool:
        """Does it work in a session, or is it about sessions and browsers themselves?"""
        return "session" in _PLACES[self.scope]

    def parse(self, args: dict[str, Any]) -> msgspec.Struct:
        """The arguments as a typed struct, or `bad_request` with what was expected."""
        fields = self.arguments.__struct_fields__
        named = {self._canonical(key, fields): value for key, value in args.items()}
        named = {key: self._listed(key, value) for key, value in named.items()}
        if len(named) < len(args):
            raise self._refusal(f"the same argument is given twice: {self._twice(args, fields)}")
        try:
            return msgspec.convert(named, self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise self._refusal(*self._explained(str(error))) from None

    def placed_in(self, session: str, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments, in that session where they name none."""
        fields = self.arguments.__struct_fields__
        given = {key: value for key, value in args.items() if value or self._canonical(key, fields) != "session"}
        is_named = any(self._canonical(key, fields) == "session" for key in given)
        return given if is_named else {"session": session, **given}

    def accepted(self) -> dict[str, str]:
        """The unlisted names of its arguments, and what they mean."""
        fields = self.arguments.__struct_fields__
        return {key: name for key, name in {**_SYNONYMS, **self.synonyms}.items() if name in fields}

    def _listed(self, key: str, value: Any) -> Any:
        """One thing where a list is asked for is a list of one. What things in it are called is understood as well."""
        wanted = self.input_schema["properties"].get(key, {})
        if wanted.get("type") != "array":
            return value
        listed: Any = [value] if isinstance(value, str | dict) else value
        fields = tuple(wanted.get("items", {}).get("properties", ()))
        if not fields or not isinstance(listed, list):
            return listed
        return [self._renamed(one, fields) for one in cast(list[Any], listed)]

    def _renamed(self, thing: Any, fields: tuple[str, ...]) -> Any:
        """Two names of one thing stay as they are, and are refused."""
        if not isinstance(thing, dict):
            return thing
        given = cast(dict[str, Any], thing)
        renamed = {self._canonical(key, fields): value for key, value in given.items()}
        return renamed if len(renamed) == len(given) else given

    def _canonical(self, key: str, fields: tuple[str, ...]) -> str:
        if key in fields:
            return key
        for meaning in (self.synonyms.get(key), _SYNONYMS.get(key)):
            if meaning in fields:
                return str(meaning)
        return key

    def _twice(self, args: dict[str, Any], fields: tuple[str, ...]) -> str:
        meant: dict[str, list[str]] = {}
        for key in args:
            meant.setdefault(self._canonical(key, fields), []).append(key)
        return "; ".join(f"{' and '.join(keys)} both mean {name}" for name, keys in meant.items() if len(keys) > 1)

    def _explained(self, reason: str) -> tuple[str, list[str]]:
        """What msgspec says, with what could stand at the place that it names (`… - at `$.steps[0]``). It repeats the
        names that a caller has sent, however long."""
        said, at, place = reason.rpartition(_AT)
        if len(place) > MOST_SAID:  # no place of ours, but of a caller's name
            said, at, place = reason, "", ""
        reason = f"{said[:MOST_SAID]}…" if len(said) > MOST_SAID else said
        reason += at + place
        path = place.removesuffix("`") if at else ""
        found = within(self.input_schema, path)
        if choices := found.get("enum"):
            reason += f"; it can be {', '.join(map(str, choices))}"
        return reason, [_takes(path, found)] if found.get("properties") else []

    def _refusal(self, reason: str, more: Sequence[str] = ()) -> Failure:
        return Failure(
            "bad_request",
            f"{self.name}: {reason}",
            details={"expected": self.input_schema},
            suggestions=[*more, _takes(self.name, self.input_schema)],
        )


def _takes(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    shown = [one if one in required else f"{one}?" for one in schema["properties"]]
    return f"{name} takes {', '.join(shown)}" if shown else f"{name} takes no arguments"


# Names that the founding documents and other products use for the same things: accepted, never listed.
_SYNONYMS = {
    "selector": "target", "ref": "target", "ref_id": "target", "element": "target",
    "target_id": "tab", "tabId": "tab", "tab_id": "tab", "sessionId": "session", "session_id": "session",
    "timeout": "timeout_ms", "timeoutMs": "timeout_ms", "waitUntil": "wait_until", "fullPage": "full_page",
    "script": "expression", "code": "expression", "function_body": "expression",
}  # fmt: skip

_PLACES = {"Tab": ("session", "tab"), "Session": ("session",), "OwnSessions": (), "OwnBrowsers": (), "OwnDebug": ()}
_declared: list[Tool] = []


def tool(
    access: Access,
    *,
    example: dict[str, Any],
    core: bool = False,
    queued: bool | None = None,
    live: bool = True,
    opens: bool = False,
    leaves: bool = False,
    revives: bool = False,
    sensitive: tuple[str, ...] = (),
    reveals: bool = False,
    shows: bool | None = None,
    places: Callable[[Any, Any], Awaitable[list[str]]] | None = None,
    grave: Callable[[Any, Any], bool] | None = None,
    alone: str = "",
    aliases: tuple[str, ...] = (),
    synonyms: dict[str, str] | None = None,
) -> Callable[[Callable[..., Awaitable[Result[Any]]]], Callable[..., Awaitable[Result[Any]]]]:
    """Declare a tool.

    Reads run beside others in the same tab, the rest in order; `queued` says otherwise. `live` tools need a page that
    can answer: they wait until the last action has settled, and are refused while a dialog is open. A tool that `opens`
    gets a new tab when none is left; one that `leaves` the page may do so whatever page it is. A live tool that
    `revives` brings a page that has crashed back itself; before any other the page is loaded again, and it is refused.
    A call that gives one of the `sensitive` arguments is sensitive, whatever the tool is without them. What `reveals`
    secrets is asked for just these: its answer only loses those that a person registered. What `shows` the page as
    people read it only loses what has a secret's shape: "Cookie: oatmeal" is a recipe there. An action that can bring
    a snapshot along shows, too, unless it says otherwise; what moves or waits does when it brings one. `places`
    tells, from the session and the arguments, what a tool of a session touches beside pages: addresses, or domains as
    cookies have them; their rules hold for it. `grave` tells of a tool that does no harm as a rule whether this call
    of it is sensitive. `alone` says why it cannot be a step of a larger tool.
    """

    def declare(handler: Callable[..., Awaitable[Result[Any]]]) -> Callable[..., Awaitable[Result[Any]]]:
        hints = get_type_hints(handler, include_extras=True)
        place, *rest = inspect.signature(handler).parameters.values()
        scope = hints[place.name].__name__
        progress_name = next((p.name for p in rest if hints[p.name] is Progress), "")
        runner_name = next((p.name for p in rest if hints[p.name] is Runner), "")
        parameters = [p for p in rest if p.name not in (progress_name, runner_name)]
        arguments = _struct(handler.__name__, parameters, hints, _PLACES[scope])
        (data,) = get_args(hints["return"])
        _declared.append(
            Tool(
                name=handler.__name__,
                group=handler.__module__.rpartition(".")[2],
                access=access,
                description=" ".join(inspect.cleandoc(handler.__doc__ or "").split()),
                scope=scope,
                handler=handler,
                arguments=arguments,
                input_schema=input_schema(arguments),
                output_schema=output_schema(data),
                example=example,
                core=core,
                queued=access is not Access.READ if queued is None else queued,
                live=live,
                opens=opens,
                leaves=leaves,
                revives=revives,
                sensitive=frozenset(sensitive),
                reveals=reveals,
                shows="snapshot" in hints and access not in (Access.READ, Access.VISIT) if shows is None else shows,
                progress_name=progress_name,
                runner_name=runner_name,
                url_names=tuple(p.name for p in parameters if hints[p.name] is Url or hints[p.name] == Url),
                takes=frozenset(p.name for p in parameters),
                places=places,
                grave=grave,
                alone=alone,
                aliases=aliases,
                synonyms=synonyms or {},
            )
        )
        return handler

    return declare


def _struct(
    name: str, parameters: list[inspect.Parameter], hints: dict[str, Any], places: tuple[str, ...]
) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, hints[parameter.name]))
        else:
            fields.append((parameter.name, hints[parameter.name], parameter.default))
    taken = {parameter.name for parameter in parameters}
    fields += [(place, str, "") for place in places if place not in taken]
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True, frozen=True)


class Registry:
    """All tools of a daemon, by name and alias, in the order of their declaration."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._by_name: dict[str, Tool] = {}
        self._aliases: dict[str, Tool] = {}
        for one in tools:
            self._by_name[one.name] = one
            self._aliases |= dict.fromkeys(one.aliases, one)

    def __iter__(self):
        return iter(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        return self._by_name.get(name) or self._aliases.get(name)

    def find(self, name: str) -> Tool:
        found = self.get(name)
        if found is None:
            message = f"there is no tool called {name[:80]!r}"
            raise Failure("unknown_tool", message, suggestions=_similar(name, self._by_name) or self._known())
        return found

    def _known(self) -> list[str]:
        core = [one.name for one in self if one.core]
        return [f"the core set is {', '.join(core)}"] if core else []

    def listed(self, sets: str) -> list[Tool]:
        """The tools of `core`, `all`, or of names and groups separated by commas (`core` is then named too)."""
        wanted = {part.strip() for part in sets.split(",") if part.strip()} or {"core"}
        groups = {"core", "all"} | {one.group for one in self}
        if unknown := sorted(wanted - groups - set(self._by_name)):
            message = f"unknown tool set: {', '.join(unknown)}"
            near = [hint for one in unknown for hint in _similar(one, [*groups, *self._by_name], cutoff=0.6)]
            raise Failure("bad_request", message, suggestions=[*near, f"sets: {', '.join(sorted(groups))}"])
        return [one for one in self if _belongs(one, wanted)]


def _belongs(one: Tool, wanted: set[str]) -> bool:
    return "all" in wanted or ("core" in wanted and one.core) or bool({one.name, one.group} & wanted)


def _similar(name: str, names: Iterable[str], cutoff: float = 0.5) -> list[str]:
    return [f"did you mean {one}?" for one in likely(name, list(names), cutoff)]


def declared() -> list[Tool]:
    """Every tool whose module has been imported so far."""
    return list(_declared)
