"""`pilothouse policy`: what agents may do where, for the person who decides it.

Above: admin. Below: person (a running daemon takes a change over at once), else guard's rulebook (the file itself).
"""

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from pilothouse import instance
from pilothouse.commands import person, show
from pilothouse.errors import Failure
from pilothouse.home import directory
from pilothouse.result import counted

Entry = dict[str, Any]

MODES = ("auto", "ask", "readonly")
TEMPLATES = ("sandbox", "careful", "locked", "readonly")
DEFAULTS = ("allow", "ask", "deny")


@click.group()
def policy() -> None:
    """What agents may do where: show, check, test, allow, deny, remove, template, mode, default.

    The rules stand in policy.toml, which may be edited by hand as well; a running daemon takes over what is right and
    keeps what it has otherwise.
    """


def _command(work: Callable[..., int]) -> Callable[..., int]:
    """What every one of them has: `--json`, and mistakes told as everywhere."""

    @click.option("--json", "as_json", is_flag=True, help="For programs.")
    @functools.wraps(work)
    def run(*args: Any, **options: Any) -> int:
        try:
            return work(*args, **options)
        except Failure as failure:
            return person.complain(failure, as_json=options["as_json"])
        except person.NotThere as error:
            return show.complain(str(error), ["pilothouse doctor finds out what is wrong"])

    return run


@policy.command(name="show")
@_command
def show_command(as_json: bool) -> int:
    """What holds now, each rule with who set it and when."""
    told = person.ask("GET", "/api/policy") if _runs() else _from_file()
    click.echo(json.dumps(told) if as_json else _text(told))
    return 1 if told["problem"] else 0


@policy.command()
@click.argument("file", required=False, type=click.Path(dir_okay=False))
@_command
def check(file: str | None, as_json: bool) -> int:
    """Is a policy file right? Without FILE the one in force. Nothing is changed."""
    path = Path(file) if file else _path()
    if file and not path.exists():
        raise Failure("not_found", f"there is no file {file}")
    from pilothouse.guard.rulebook import Rulebook

    rules = Rulebook(path).read()
    told = {"ok": True, "file": str(path), "rules": len(rules.rules)}
    there = (
        f"right, {counted(len(rules.rules), 'rule')}"
        if path.exists()
        else "there is none: the templates hold as they are"
    )
    click.echo(json.dumps(told) if as_json else f"{path}: {there}")
    return 0


@policy.command()
@click.argument("url")
@click.option("--tool", default="", help="As if this tool were called there; else reading, changing, sensitive acts.")
@click.option(
    "--browser",
    type=click.Choice(["isolated", "profile", "extension", "remote"]),
    help="Without it: isolated, and your own Chrome too if one is paired.",
)
@click.option("--mode", default="auto", type=click.Choice(MODES), help="Of the session.")
@_command
def test(url: str, tool: str, browser: str | None, mode: str, as_json: bool) -> int:
    """What would happen at URL?"""
    asked = {"url": url, "tool": tool.replace("-", "_"), "browser": browser or "isolated", "mode": mode}
    told = _tested(asked)
    if not browser and _has_own_chrome():
        told["own_chrome"] = _tested(asked | {"browser": "extension"})
    click.echo(json.dumps(told) if as_json else _said(told))
    return 0


def _tested(asked: Entry) -> Entry:
    return person.ask("POST", "/api/policy/test", asked) if _runs() else _explained(asked)


def _has_own_chrome() -> bool:
    from pilothouse.guard.pairing import kept

    return bool(kept(Path(directory())))


@policy.command()
@click.argument("host")
@click.option("--read-only", is_flag=True, help="Reading only; changes are denied.")
@click.option("--write", is_flag=True, help="Changes too, without the questions that the template would ask.")
@click.option("--approval", is_flag=True, help="Every change asks.")
@click.option("--steps", type=click.IntRange(0), help="Steps an hour of one agent key; 0 for no limit.")
@click.option("--resources", multiple=True, help="A host its pages may load from (again for more); * for anything.")
@_command
def allow(
    host: str,
    read_only: bool,
    write: bool,
    approval: bool,
    steps: int | None,
    resources: tuple[str, ...],
    as_json: bool,
) -> int:
    """Let agents go to HOST ([scheme://]host[:port] or *.host)."""
    if read_only and (write or approval):
        raise click.UsageError("--read-only leaves nothing to write or approve")
    values: Entry = {
        "read": True,
        "write": True if write else False if read_only else None,
        "approval": approval or None,
    }
    values |= {"max_steps_per_hour": steps} if steps is not None else {}
    values |= {"resources": list(resources)} if resources else {}
    return _set_rule(host, values, as_json)


@policy.command()
@click.argument("host")
@_command
def deny(host: str, as_json: bool) -> int:
    """Keep agents away from HOST."""
    return _set_rule(host, {"read": False, "write": False}, as_json)


@policy.command()
@click.argument("host")
@_command
def remove(host: str, as_json: bool) -> int:
    """Take the rule of HOST out."""
    if _runs():
        told = person.ask("DELETE", f"/api/policy/rules?host={quote(host, safe='')}")
    else:
        told = _edited(lambda book: book.drop_rule(host))
    return _done(told, as_json)


@policy.command()
@click.argument("name", type=click.Choice(TEMPLATES))
@_command
def template(name: str, as_json: bool) -> int:
    """Where the rest starts from."""
    return _set("template", name, as_json)


@policy.command()
@click.argument("name", type=click.Choice(MODES))
@_command
def mode(name: str, as_json: bool) -> int:
    """Of all sessions; each may be narrower, none wider."""
    return _set("mode", name, as_json)


@policy.command()
@click.argument("name", type=click.Choice(DEFAULTS))
@_command
def default(name: str, as_json: bool) -> int:
    """About hosts that no rule names."""
    return _set("default", name, as_json)


def _set(key: str, value: str, as_json: bool) -> int:
    told = person.ask("PATCH", "/api/policy", {key: value}) if _runs() else _edited(lambda book: book.set(key, value))
    return _done(told, as_json)


def _set_rule(host: str, values: Entry, as_json: bool) -> int:
    if _runs():
        told = person.ask("POST", "/api/policy/rules", {"host": host, **values})
    else:
        told = _edited(lambda book: book.set_rule(host, values, by="person"))
    return _done(told, as_json)


def _done(told: Entry, as_json: bool) -> int:
    click.echo(json.dumps(told) if as_json else _text(told))
    return 0


def _runs() -> bool:
    return instance.published(directory()) is not None


# Without a daemon


def _path() -> Path:
    return Path(directory()) / "policy.toml"


def _from_file() -> Entry:
    return _edited(None)


def _edited(edit: Callable[[Any], Any] | None) -> Entry:
    from pilothouse.guard.rulebook import Rulebook, told

    book = Rulebook(_path())
    return told(book, edit(book) if edit else book.read())


def _explained(asked: Entry) -> Entry:
    from pilothouse.guard.explain import explained
    from pilothouse.guard.policy import Policy
    from pilothouse.guard.rulebook import Rulebook

    rules = Rulebook(_path()).read()
    found = _tool(asked["tool"]) if asked["tool"] else None
    return explained(Policy(rules), asked["url"], tool=found, browser=asked["browser"], mode=asked["mode"])


def _tool(name: str) -> Any:
    import importlib
    import pkgutil

    import pilothouse.tools
    from pilothouse.tool import Registry, declared

    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    return Registry(declared()).find(name)


# Words


def _text(told: Entry) -> str:
    holds: Entry = told["policy"]
    by_browser = "sandbox (careful in your own Chrome and in remote ones)"
    lines = [f"file: {told['path']}{'' if os.path.exists(told['path']) else ' (none yet)'}"]
    if told["problem"]:
        lines.append(f"NOT TAKEN OVER, the policy before it holds: {told['problem']}")
    lines += [
        f"template: {holds['template'] or by_browser}",
        f"mode: {holds['mode']}",
        f"hosts without a rule: {holds['default'] or 'as the template says'}",
        f"steps a session: {holds['step_budget'] or 'any number'}",
    ]
    lines += [f"sensitive: {one}" for one in holds["sensitive_patterns"]]
    return "\n".join([*lines, *(_rule(one, holds["template"]) for one in holds["rules"])])


_UNSAID = {  # what a rule leaves open
    "sandbox": "read, write (template sandbox)",
    "careful": "read; write: asks (template careful)",
    "locked": "read; write: no (template locked)",
    "readonly": "read; write: no (template readonly)",
}


def _rule(rule: Entry, template: str) -> str:
    unsaid = _UNSAID.get(template, "read, write by template")
    can = "denied" if not rule["read"] else {True: "read, write", False: "read", None: unsaid}[rule["write"]]
    more = [can]
    more += ["every change asks"] if rule["approval"] else []
    more += [f"{rule['max_steps_per_hour']} steps an hour"] if rule["max_steps_per_hour"] else []
    more += [f"loads from {', '.join(rule['resources']) or 'itself only'}"] if "resources" in rule else []
    return f"{rule['host']}: {'; '.join(more)} (set by {', '.join(filter(None, (rule['by'], rule['at'])))})"


_VERDICTS = {"allow": "it is allowed", "ask": "a person is asked each time", "deny": "it is denied"}
_RISKY = {
    "medium": "passwords, deleting, sending, pages of payment …",
    "high": "cards, paying, deleting an account, your own patterns …",
}


def _said(told: Entry) -> str:
    if own := told.get("own_chrome"):
        both = "isolated browser:", *_verdicts(told), "your own Chrome:", *_verdicts(own)
        return "\n".join([told["url"], *both])
    return "\n".join([told["url"], *_verdicts(told)])


def _verdicts(told: Entry) -> list[str]:
    lines: list[str] = []
    for name, decisions in told["says"].items():
        for one in decisions:
            why = f": {one['why']}" if one["why"] else ""
            once = f" (one answer holds for {one['once_for']} in the session)" if one["once_for"] else ""
            lines.append(f"{name}: {one['verdict']} by {one['rule']}{why}{once}")
            if one["line"] and one["verdict"] != "allow":
                lines += [f"    {line}" for line in one["line"].splitlines()]
        for risk, verdict in told["riskier"].get(name, {}).items():
            lines.append(f"    but {_VERDICTS[verdict]} where what it acts on has {risk} risk ({_RISKY[risk]})")
    return lines
