"""Writes docs/tools.md, docs/tools/*.md, docs/options.md, docs/errors.md, and the marked parts of other pages.

Everything in them comes from the code (tools, options, error codes, routes, metrics), so it cannot say anything else
than the code does. tests/test_docs.py fails when a page is stale; `scripts/docs` writes them anew.
"""

import ast
import asyncio
import functools
import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

import pilothouse.tools
from pilothouse.commands.clients import CLIENTS
from pilothouse.commands.show import EXIT_CODES
from pilothouse.doors.openapi import REFUSALS
from pilothouse.doors.places import SHORTCUTS
from pilothouse.errors import CODES
from pilothouse.gate import Gate
from pilothouse.metrics import Metrics
from pilothouse.options import Option, options, table_keys
from pilothouse.providers.arguments import ALLOWED
from pilothouse.tool import Access, Registry, Tool, declared

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "pilothouse"
MADE = "<!-- Made by scripts/docs from the declarations in src/pilothouse. Do not edit. -->"
BEGIN, END = "<!-- {name}: begin (scripts/docs) -->", "<!-- {name}: end -->"

# Options of other sections that bound what is kept.
LOG_LIMITS = {"log.file_max_bytes", "log.max_bytes", "log.retention_days"}

ACCESS = {
    Access.READ: "reads",
    Access.VISIT: "visits",
    Access.WRITE: "writes",
    Access.SENSITIVE: "sensitive",
}
PLACES = {
    "Tab": "a tab (`session?`, `tab?`)",
    "Session": "a session (`session?`)",
    "OwnSessions": "your sessions",
    "OwnBrowsers": "profiles and their browsers",
    "OwnDebug": "tabs that browsers offer through the debug proxy",
}


def registry() -> Registry:
    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    return Registry(one for one in declared() if one.handler.__module__.startswith("pilothouse.tools."))


def pages() -> dict[str, str]:
    """Every page that is made whole, by its path from the root."""
    tools = registry()
    groups = sorted({one.group for one in tools})
    made = {
        f"docs/tools/{group}.md": _group_page(group, [one for one in tools if one.group == group]) for group in groups
    }
    made["docs/tools.md"] = _index(list(tools))
    made["docs/options.md"] = _options_page()
    made["docs/errors.md"] = _errors_page()
    return made


def parts() -> dict[str, dict[str, list[str]]]:
    """What is made inside pages that a person writes: lines by page and by the name of their two marks."""
    return {
        "README.md": {"tools": _readme_table()},
        "docs/rest.md": {"shortcuts": _shortcut_rows(), "statuses": _status_rows()},
        "docs/cli.md": {"exit codes": _exit_rows(), "clients": _client_rows()},
        "docs/operations.md": {"limits": _limit_rows(), "metrics": _metric_rows()},
    }


def filled(path: str, made: dict[str, list[str]]) -> str:
    """A page with fresh lines between its marks."""
    text = _read(path)
    for name, lines in made.items():
        before, begin, rest = text.partition(BEGIN.format(name=name))
        _, end, after = rest.partition(END.format(name=name))
        if not begin or not end:
            raise SystemExit(f"{path} has no {BEGIN.format(name=name)} … {END.format(name=name)}")
        text = "\n".join([before + begin, *lines, end + after])
    return text


def _wanted() -> dict[str, str]:
    return {**pages(), **{path: filled(path, made) for path, made in parts().items()}}


def stale() -> list[str]:
    """Pages that do not say what the declarations say, and pages of sets that are gone."""
    wanted = _wanted()
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "tools").glob("*.md")}
    return sorted([path for path, text in wanted.items() if _read(path) != text] + list(there - wanted.keys()))


def write() -> list[str]:
    """Bring everything up to date; answers what was changed."""
    changed = stale()
    wanted = _wanted()
    for path in changed:
        if path in wanted:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(wanted[path], "utf-8")
        else:
            (ROOT / path).unlink()
    return changed


def _read(path: str) -> str:
    file = ROOT / path
    return file.read_text("utf-8") if file.exists() else ""


# Tools


def _readme_table() -> list[str]:
    rows = [f"| [{group}](docs/tools/{group}.md) | {names} |" for group, names in _by_group()]
    return ["| set | tools |", "|---|---|", *rows]


def _by_group() -> Iterator[tuple[str, str]]:
    """Sets in the order of the alphabet; core tools first, the others in brackets after them."""
    tools = list(registry())
    for group in sorted({one.group for one in tools}):
        own = [one for one in tools if one.group == group]
        core = ", ".join(f"`{one.name}`" for one in own if one.core)
        more = ", ".join(f"`{one.name}`" for one in own if not one.core)
        yield group, core + (f"{' ' if core else ''}({more})" if more else "")


def _index(tools: list[Tool]) -> str:
    core = sum(one.core for one in tools)
    lines = [
        MADE,
        "# Tools",
        "",
        f"{len(tools)} tools, {core} of them in the set `core`, which is listed unless `--tools` says otherwise.",
        "Names in brackets are not in `core`: `--tools core,tabs` adds a set, `--tools all` lists everything.",
        "A tool that is not listed can still be called by its name.",
        "",
        "| set | tools |",
        "|---|---|",
        *[f"| [{group}](tools/{group}.md) | {names} |" for group, names in _by_group()],
        "",
        "## What all tools share",
        "",
        "- `session` and `tab` may be left out: they mean your own session and its current tab. The first call opens",
        "  a session by itself and says its handle. Over HTTP in the newer generation of MCP (2026-07-28), and over",
        "  REST, it is the session of your key: clients that share a key share it, unless each opens one and names it.",
        "  A current tab that closes itself leaves none current: the next call is told so, and which ones there are.",
        "- `target` names an element: a ref from a snapshot (`e12`), a CSS selector, `text=Save`, `label=Name`,",
        '  `role=button[name="Save"]`, or a list of alternatives, of which the first that is there is used. `:focus`',
        "  is what has the focus. Who acts by a text, a label or a role that several elements have gets them listed",
        "  with their refs, and nothing is done (`ambiguous`); of several that match CSS the first in sight is used.",
        "  A text or label is what an element says, or whole words of it, or else the beginning of some; in quotes",
        '  (`text="Save"`) all of it.',
        '- `snapshot` on a tool that acts, moves or waits (`"diff"` or `"full"`) brings the page along in the same',
        "  answer. [How to read it](snapshots.md).",
        "- Unknown arguments are refused, with what was expected. Numbers may come as text.",
        "- Names that other servers use are understood and not listed: `ref`, `selector` or `element` for `target`,",
        "  `timeout` (in milliseconds, too) for `timeout_ms`, `waitUntil`, `fullPage`, `tabId`; in the `fields`",
        "  of `fill_form`, too. One name for each.",
        '- In a `batch` a step is `{"tool": …, "args": {…}}`. Pictures that steps take come with its answer: up',
        "  to 10, and 4 MB together; `picture` says which is a step's. The rest lie in files of the session (`path`).",
        "- Each tool has an access class: it *reads*, *visits* (changes what is shown, not the site), *writes*, or is",
        "  *sensitive*. It decides the hints that MCP clients see, and how the call is logged.",
        "- What can go wrong is listed in [errors](errors.md).",
        "",
    ]
    return "\n".join(lines)


def _group_page(group: str, tools: list[Tool]) -> str:
    module = importlib.import_module(f"pilothouse.tools.{group}")
    summary = " ".join((module.__doc__ or "").strip().split())
    lines = [MADE, f"# {group}", "", summary, ""]
    for one in tools:
        lines += _tool_section(one)
    lines += ["[All tools](../tools.md)", ""]
    return "\n".join(lines)


def _tool_section(one: Tool) -> list[str]:
    listed = "in `core`" if one.core else f"in `{one.group}`, not in `core`"
    about = f"*{ACCESS[one.access].capitalize()}* · on {PLACES[one.scope]} · {listed}"
    if one.aliases:
        about += " · also called " + ", ".join(f"`{alias}`" for alias in one.aliases)
    lines = [f"## {one.name}", "", one.description, "", about, ""]
    rows = list(_argument_rows(one))
    if rows:
        lines += ["| argument | type | default | |", "|---|---|---|---|", *rows, ""]
    if answer := _answer_fields(one):
        lines += [f"Answers {answer}.", ""]
    return [*lines, "```json", json.dumps({"tool": one.name, "arguments": one.example}, ensure_ascii=False), "```", ""]


def _argument_rows(one: Tool) -> Iterator[str]:
    for field in msgspec.structs.fields(one.arguments):
        if field.name in one.takes:
            default = (
                "required"
                if field.required
                else _default(field.default_factory() if field.default is msgspec.NODEFAULT else field.default)
            )
            yield f"| `{field.name}` | {_type(field.type)} | {default} | {_note(field.type)} |"


def _answer_fields(one: Tool) -> str:
    (data,) = get_args(get_type_hints(one.handler)["return"])
    return ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(data))


def _default(value: Any) -> str:
    return "" if value in ("", [], {}, None) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _type(declared: Any) -> str:
    """A type as a reader of JSON would say it."""
    origin, parts = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return _type(parts[0])
    if origin is Literal:
        return " \\| ".join(f"`{json.dumps(part)}`" for part in parts)
    if origin in (Union, UnionType):
        return " \\| ".join(_type(part) for part in parts if part is not NoneType)
    if origin is list:
        inner = _type(parts[0])
        return f"list of {inner}s" if inner.isalpha() and inner != "anything" else f"list of {inner}"
    if origin is dict:
        return "object"
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        inner = [f"{f.name}{'' if f.required else '?'}: {_type(f.type)}" for f in msgspec.structs.fields(declared)]
        return f"{{{', '.join(inner)}}}"
    return {str: "string", int: "integer", float: "number", bool: "boolean"}.get(declared, "anything")


def _note(declared: Any) -> str:
    """Description and bounds of an annotated type, or of the one that may be left out."""
    if get_origin(declared) in (Union, UnionType):
        return "; ".join(filter(None, map(_note, get_args(declared))))
    metas = [part for part in get_args(declared) if isinstance(part, Meta)] if get_origin(declared) is Annotated else []
    notes: list[str] = []
    for meta in metas:
        notes += [meta.description] if meta.description else []
        low, high = meta.ge if meta.ge is not None else meta.gt, meta.le
        if low is not None and high is not None:
            notes.append(f"{low} to {high}")
        elif low is not None:
            notes.append(f"at least {low}" if meta.ge is not None else f"more than {low}")
        if meta.max_length:
            notes.append(f"at most {meta.max_length} {'items' if _has_items(declared) else 'characters'}")
    return "; ".join(notes).replace("|", "\\|")


def _has_items(declared: Any) -> bool:
    return get_origin(get_args(declared)[0]) in (list, dict)


# Options


_READERS = {"pilothouse.options", "pilothouse.cocoons"}


def unread() -> set[str]:
    """Options that are declared for what is to come and that no code reads yet."""
    return {option.name for option in options() if option.key not in _attributes()}


@functools.cache
def _attributes() -> set[str]:
    """Attributes used in the files that read a `Config`, or the cocoons, which hand a part of it on."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if not any(one in text for one in _READERS):
            continue
        tree = ast.parse(text)
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if imported & _READERS:
            found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found


def _options_page() -> str:
    every = list(options())
    waiting = unread()
    lines = [
        MADE,
        "# Options",
        "",
        "Every option can be set in four places. The later one wins: the default, `config.toml` in the home directory,",
        "the environment, a flag (for the few that have one).",
        "",
        "```toml",
        "# config.toml",
        "[limits]",
        "sessions = 20",
        "```",
        "",
        "```sh",
        "PILOTHOUSE_LIMITS_SESSIONS=20 pilothouse serve",
        "```",
        "",
        "In the environment a list is `a,b` and a map is `name=value,other=value`. A name that does not exist, or a",
        "value that does not fit, is refused with its place and the nearest right name.",
        "",
    ]
    for section in dict.fromkeys(option.section for option in every):
        lines += [f"## [{section}]", "", "| key | type | default | meaning | environment |", "|---|---|---|---|---|"]
        lines += [_option_row(option, option.name in waiting) for option in every if option.section == section]
        lines.append("")
    lines += _tables_section() + _arguments_section()
    if waiting:
        lines += [
            "Options marked *not in force yet* are accepted and checked, but nothing reads them in this version.",
            "",
        ]
    return "\n".join(lines)


def _tables_section() -> list[str]:
    """What stands in the file only: lists of tables, one for each thing that has a name."""
    lines: list[str] = []
    for table in dict.fromkeys(option.section for option in table_keys()):
        lines += [f"## [[{table}]]", "", "In the file only; read anew whenever one is used.", ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for option in (one for one in table_keys() if one.section == table):
            bounds = [_note(option.type).removeprefix(option.description).strip("; ")]
            kind = ", ".join([_type(option.type), *filter(None, bounds)])
            default = "required" if option.default is msgspec.NODEFAULT else _default(option.default)
            lines.append(f"| `{option.key}` | {kind} | {default} | {option.description} |")
        lines.append("")
    return lines


def _arguments_section() -> list[str]:
    named = ", ".join(f"`{one}`" for one in sorted(ALLOWED))
    return ["## Chrome arguments", "", "`browser.args` may hold these, and no others:", named, ""]


def _limit_rows() -> list[str]:
    """What bounds use and what cleans up: limits, files, the log's sizes."""
    chosen = [one for one in options() if one.section in ("limits", "files") or one.name in LOG_LIMITS]
    rows = [f"| `{one.name}` | `{json.dumps(one.default)}` | {one.description} |" for one in chosen]
    return ["| option | default | meaning |", "|---|---|---|", *rows]


def _option_row(option: Option, waits: bool) -> str:
    default = f"`{json.dumps(option.default)}`"
    meaning = f"{option.description}{' *Not in force yet.*' if waits else ''}".replace("|", "\\|")
    bounds = _note(option.type).replace(option.description, "").strip("; ")
    kind = _type(option.type) + (f", {bounds}" if bounds else "")
    return f"| `{option.key}` | {kind} | {default} | {meaning} | `{option.env}` |"


# Doors


def _shortcut_rows() -> list[str]:
    rows = [f"| `{one.method}` | `/api/{one.path}` | `{one.tool}` |" for one in SHORTCUTS]
    return ["| method | address | tool |", "|---|---|---|", *rows]


def _status_rows() -> list[str]:
    """By status: the codes of tools, and what HTTP itself refuses."""
    meanings: dict[int, list[str]] = {}
    for code, kind in CODES.items():
        meanings.setdefault(kind.status, []).append(f"`{code}`")
    for status, text in REFUSALS.items():
        meanings.setdefault(status, []).append(text.rstrip("."))
    rows = [f"| {status} | {', '.join(texts)} |" for status, texts in sorted(meanings.items())]
    return ["| status | code or reason |", "|---|---|", *rows]


def _exit_rows() -> list[str]:
    told = " ".join(EXIT_CODES.split()).removeprefix("Exit codes: ").rstrip(".")
    rows = [f"| {number} | {meaning} |" for number, _, meaning in (one.partition(" ") for one in told.split("; "))]
    return ["| code | meaning |", "|---|---|", *rows]


def _client_rows() -> list[str]:
    rows = [
        f"| `{one.name}` | {one.title} | {f'`{one.project}`' if one.project else 'none'} |" for one in CLIENTS.values()
    ]
    return ["| name | client | file of a project (`--project`) |", "|---|---|---|", *rows]


def metrics() -> list[tuple[str, str, str, str]]:
    """Name, kind, labels and meaning of every number, read from what the daemon would print."""
    text = asyncio.run(_metrics_text())
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    found: list[tuple[str, str, str, str]] = []
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        sample = re.search(rf"^{name}(?:_bucket)?\{{(.*)\}} ", text, re.MULTILINE)
        labels = re.findall(r'(\w+)="', sample[1]) if sample else []
        found.append((name, kind, ", ".join(f"`{one}`" for one in labels), helps[name]))
    return found


async def _metrics_text() -> str:
    """A scrape of a gate that has one browser here, one elsewhere, and has failed once."""
    browser = SimpleNamespace(name="1", memory_bytes=0, cpu_s=0.0, processes=1)

    async def census() -> Any:
        place = SimpleNamespace(name="grid", browsers=1, waiting=0)
        return SimpleNamespace(sessions=1, tabs=1, waiting=0, browsers=[browser], places=[place])

    gate: Any = SimpleNamespace(_sessions=SimpleNamespace(census=census), _rates=SimpleNamespace(refused=0))
    counted = Metrics()
    counted.called("click", "stale_ref", 0.01)
    return counted.text(await Gate.samples(gate), "0")


def _metric_rows() -> list[str]:
    rows = [f"| `{name}` | {kind} | {labels} | {meaning} |" for name, kind, labels, meaning in metrics()]
    return ["| name | kind | labels | meaning |", "|---|---|---|---|", *rows]


# Errors


def _errors_page() -> str:
    rows = [
        f"| `{code}` | {kind.category} | {'yes' if kind.retryable else 'no'} | {kind.status} | {kind.meaning} |"
        for code, kind in CODES.items()
    ]
    lines = [
        MADE,
        "# Errors",
        "",
        "A call that fails answers with `isError`, a text that names the code and the next step, and",
        "`structuredContent.error`. (A tool that does not exist is an error of the protocol, -32602, as MCP has it.)",
        "",
        "```json",
        json.dumps(
            {
                "code": "stale_ref",
                "category": "browser",
                "message": "e4: its document is gone",
                "details": {},
                "suggestions": ["take a new snapshot (get_page_state) and use its refs"],
                "retryable": False,
                "metadata": {"tool": "click", "timestamp": 1794780000000, "tab": "t1", "url": "https://example.com/"},
            },
            indent=2,
        ),
        "```",
        "",
        "`retryable` says that the same call may work later; a single error may know better than the table.",
        "`suggestions` are ours and never hold text from a page; `details` may. Codes are added, never renamed.",
        "",
        "| code | category | retry | HTTP status | meaning |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        for path in (old := stale()):
            print(f"stale: {path}")
        return 1 if old else 0
    for path in write():
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
