"""`pilothouse approvals`: what waits for a person, and their answer, one by one or as it comes.

Above: admin. Below: person (the daemon, with the person's key), keypress (one key at a time), show.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import click

from pilothouse.commands import keypress, person
from pilothouse.commands.person import NotThere, plain
from pilothouse.commands.show import BOLD, DIM, OK, RED, SECURITY, SYSTEM, TROUBLE, USAGE, YELLOW, complain, paint
from pilothouse.errors import Failure

Entry = dict[str, Any]

_KEYS = {
    "a": ("allow", ""),
    "s": ("allow", "session"),
    "1": ("allow", "once"),
    "o": ("allow", "domain"),  # "on this site": the first letter of "domain" reads like a no
    "d": ("deny", ""),
    "n": ("deny", ""),
}
_CODES = {"protocol": USAGE, "security": SECURITY, "system": SYSTEM}
_COLOURS = {"medium": YELLOW, "high": RED}
_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group(invoke_without_command=True)
@click.option("--watch", is_flag=True, help="Show each question as it comes; on a terminal, answer by a key.")
@_JSON
@click.pass_context
def approvals(ctx: click.Context, watch: bool, as_json: bool) -> int | None:
    """What agents want to do that needs your yes. Without a yes within a minute it does not happen."""
    if ctx.invoked_subcommand:
        return None
    return _told(lambda: _watch(as_json=as_json) if watch else _list(as_json=as_json))


@approvals.command()
@click.argument("ident", metavar="ID")
@click.option("--once", "scope", flag_value="once", help="This call, and no other.")
@click.option("--session", "scope", flag_value="session", help="This tool, until its session ends.")
@click.option("--domain", "scope", flag_value="domain", help="Everything on this domain, until its session ends.")
@_JSON
def allow(ident: str, scope: str | None, as_json: bool) -> int:
    """Say yes. Without an option it reaches as far as `pilothouse approvals` says on the question's line `allow`."""
    return _told(lambda: _answer(ident, "allow", scope or "", as_json=as_json))


@approvals.command()
@click.argument("ident", metavar="ID")
@_JSON
def deny(ident: str, as_json: bool) -> int:
    """Say no. The same is then not asked again for five minutes, or until you `lift` it."""
    return _told(lambda: _answer(ident, "deny", "", as_json=as_json))


@approvals.command()
@click.argument("ident", metavar="ID")
def lift(ident: str) -> int:
    """Let what was denied, or not answered in time, be asked again at once."""

    def run() -> int:
        person.ask("DELETE", f"/api/approvals/{quote(ident, safe='')}")
        click.echo(f"lifted {plain(ident)}: it is asked again")
        return OK

    return _told(run)


@approvals.command()
@_JSON
def grants(as_json: bool) -> int:
    """What you have allowed for longer than one call."""

    def run() -> int:
        found = person.ask("GET", "/api/grants")["grants"]
        if as_json:
            click.echo(json.dumps(found))
        else:
            click.echo("\n".join(map(_grant, found)) or "nothing is allowed beyond single calls")
        return OK

    return _told(run)


@approvals.command()
@click.argument("ident", metavar="ID")
def revoke(ident: str) -> int:
    """Take back what `grants` lists; it is asked about again."""

    def run() -> int:
        person.ask("DELETE", f"/api/grants/{quote(ident, safe='')}")
        click.echo(f"revoked {plain(ident)}")
        return OK

    return _told(run)


def _told(run: Any) -> int:
    try:
        return run()
    except NotThere as error:
        return complain(str(error))
    except Failure as failure:
        return complain(plain(failure.message), failure.suggestions, _CODES.get(failure.category, TROUBLE))


def _list(*, as_json: bool) -> int:
    found = person.ask("GET", "/api/approvals")
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo("\n\n".join(map(described, found["pending"])) or "nothing waits for you")
        click.echo("".join(f"\n{_denied(one)}" for one in found["denied"]), nl=bool(found["denied"]))
    return OK


def _answer(ident: str, answer: str, scope: str, *, as_json: bool) -> int:
    ended = person.ask("POST", f"/api/approvals/{quote(ident, safe='')}", {"answer": answer, "scope": scope})
    click.echo(json.dumps(ended) if as_json else _ended(ended))
    return OK


# Watching


def _watch(*, as_json: bool) -> int:
    """Until Ctrl-C. One question at a time: a key pressed for one is never taken for the next."""
    from websockets.sync.client import connect

    url, secret = person.address()
    headers = {"Authorization": f"Bearer {secret}"}
    address = url.replace("http", "ws", 1) + "/api/approvals/live"
    try:
        with connect(address, additional_headers=headers, open_timeout=person.TIMEOUT_S, proxy=None) as line:
            answers = not as_json and keypress.is_possible()
            if not as_json:
                click.echo("waiting for questions; Ctrl-C ends this" + (", keys answer" if answers else ""), err=True)
            _Watching(line, as_json=as_json, answers=answers).run()
    except OSError as error:
        raise NotThere(f"the daemon does not answer: {error}") from None
    except Exception as error:  # every end of a socket is one of the library's own exceptions
        if type(error).__module__.partition(".")[0] != "websockets":
            raise
        raise NotThere("the daemon has ended") from None
    return OK


class _Watching:
    def __init__(self, line: Any, *, as_json: bool, answers: bool) -> None:
        self._line = line
        self._as_json = as_json
        self._answers = answers
        self._open: dict[str, Entry] = {}

    def run(self) -> None:
        while True:
            if self._answers and self._open:
                self._put(next(iter(self._open.values())))
            else:
                self._hear(json.loads(self._line.recv()))

    def _hear(self, event: Entry) -> None:
        if self._as_json:
            click.echo(json.dumps(event))
        for question in _questions(event):
            self._open[question["id"]] = question
            question["until"] = time.monotonic() + question["expires_in_s"]
            if not self._as_json and not self._answers:
                click.echo(described(question))
        ended = event.get("approval", {})
        if ended.get("outcome"):
            self._open.pop(ended["id"], None)
            if not self._as_json:
                click.echo(paint(_ended(ended), DIM, sys.stdout))
        if event["kind"] == "error" and not self._as_json:
            complain(plain(event["error"]["message"]), event["error"]["suggestions"])

    def _put(self, question: Entry) -> None:
        """Show one question and wait for a key, or until it is answered elsewhere."""
        question["expires_in_s"] = max(question["until"] - time.monotonic(), 0)
        click.echo(f"\n{described(question)}\n{_choices(question)}")
        allowed = {key: meant for key, meant in _KEYS.items() if not meant[1] or meant[1] in question["scopes"]}
        with keypress.Keys() as keys:
            while question["id"] in self._open:
                pressed = keys.next(0.1)
                if pressed in allowed:
                    answer, scope = allowed[pressed]
                    self._line.send(json.dumps({"id": question["id"], "answer": answer, "scope": scope}))
                    self._hear_until(question["id"])
                    return
                self._hear_all()

    def _hear_all(self) -> None:
        try:
            while True:
                self._hear(json.loads(self._line.recv(timeout=0)))
        except TimeoutError:
            return

    def _hear_until(self, ident: str) -> None:
        """Our answer has been taken, or somebody else's was first."""
        deadline = time.monotonic() + person.TIMEOUT_S
        while time.monotonic() < deadline:
            event = json.loads(self._line.recv(timeout=person.TIMEOUT_S))
            self._hear(event)
            if event["kind"] in ("accepted", "error") and event["id"] == ident:
                self._open.pop(ident, None)
                return


def _questions(event: Entry) -> Iterator[Entry]:
    if event["kind"] == "state":
        yield from event["pending"]
    elif event["kind"] == "pending":
        yield event["approval"]


# What a person reads


def described(question: Entry) -> str:
    """Exactly what would happen: our words first, what pages and agents wrote in quotes."""
    risk = paint(question["risk"], _COLOURS.get(question["risk"], DIM), sys.stdout)
    head = f"{paint(question['id'], BOLD, sys.stdout)}  {plain(question['tool'])}  risk {risk}"
    lines = [head, f"  rule     {plain(question['rule'])}"]
    if question["why"]:
        lines.append(f"  why      {plain(question['why'])}")
    for aim in question["aims"]:
        role = plain(aim.get("role") or aim.get("kind") or "element")
        lines.append(f"  element  {role} {_quoted(aim.get('name', ''))}")
        if aim.get("leads_to"):
            lines.append(f"  leads to {_quoted(aim['leads_to'])}")
        if aim.get("url") and aim["url"] not in question["urls"]:
            lines.append(f"  frame    {_quoted(aim['url'])}")
    lines += [f"  page     {_quoted(url)}" for url in question["urls"]]
    lines += [f"  {plain(name):<8} {_quoted(value)}" for name, value in question["args"].items()]
    lines.append(f"  asked by the key {plain(question['caller'])}{_where(question)}")
    if question.get("limits"):
        lines.append(f"  limits   {plain(question['limits'])}")
    if question.get("scopes"):
        lines.append(f"  allow    {_reaches(question)}")
    if "expires_in_s" in question:
        lines.append(f"  {question['expires_in_s']:.0f} s left; then it is denied")
    return "\n".join(lines)


def _where(question: Entry) -> str:
    if not question["session"]:
        return ""
    return f" in session {plain(question['session'])[:10]}, {plain(question['browser'])} browser"


def _reaches(question: Entry) -> str:
    """What a plain `allow` would allow, and what its options would."""
    usual, *more = question["scopes"]
    options = [f"; --{scope}: {_reach(scope, question)}" for scope in more]
    return _reach(usual, question) + "".join(options)


def _reach(scope: str, question: Entry) -> str:
    said = plain(question["reaches"][scope])
    return said if scope == "once" else f"{said}, until the session ends"


def _choices(question: Entry) -> str:
    usual, *more = question["scopes"]
    letters = {scope: key for key, (_, scope) in _KEYS.items() if scope}
    choices = [f"[{letters[scope]}] allow {_reach(scope, question)}" for scope in more if scope in letters]
    return "  ".join([f"[a] allow {_reach(usual, question)}", *choices, "[d] or [n] deny"])


def _ended(ended: Entry) -> str:
    scope = ended.get("scope") if ended["outcome"] == "allowed" else ""
    how = f": {_reach(scope, ended)}," if scope else ""
    by = f" by {plain(ended['by'])}" if ended.get("by") else f": {plain(ended.get('why_ended', ''))}"
    return f"{ended['id']} {plain(ended['tool'])} {ended['outcome']}{how}{by}"


def _denied(no: Entry) -> str:
    said = f"{no['id']} {plain(no['tool'])} is not asked again for {no['left_s']:.0f} s: {plain(no['why'])}"
    return f"{said}; `pilothouse approvals lift {no['id']}` changes that"


def _grant(grant: Entry) -> str:
    where = f"in session {plain(grant['session'])[:10]} of {plain(grant['caller'])}"
    return f"{grant['id']}  {plain(grant['reaches'])} ({where}, where {plain(grant['rule'])} asks)"


def _quoted(value: Any) -> str:
    return plain(json.dumps(value, ensure_ascii=False))
