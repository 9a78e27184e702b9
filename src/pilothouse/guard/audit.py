"""The log of what was done: one line before an action, one after, each bound to the line before it by a hash.

Above: the gate writes, `pilothouse log` reads (chain.py verifies). Below: policy (the question), redact, syncing.
Lines are written in order on the event loop (3 µs); an action that changes something then waits until its line is
on the disk. What only reads does not wait: its lines survive a crash of ours, not of the machine.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard import chain
from pilothouse.guard.policy import Aim, Approved, Decision, Question
from pilothouse.guard.redact import for_log, for_log_tree
from pilothouse.guard.secrets import named
from pilothouse.guard.syncing import Syncer, to_disk
from pilothouse.options import shown_proxy
from pilothouse.tool import Access

NAME = "audit.jsonl"
MAX_LINE_BYTES = 32_768
MAX_LATE = 1000
LIMITED_EVERY_S = 60.0
OLD_EVERY_S = 3600.0  # how often a daemon that never rotates looks for files that are too old
_MAX_STRING = 300
_MAX_READ = 4_000
_MAX_ITEMS = 20
_MAX_DEPTH = 5
_MAX_ARGS_BYTES = 8_192
_MAX_URLS = 8
_MAX_AIMS = 8
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_SYNCED = {Access.WRITE, Access.SENSITIVE}
# What goes into a page may be a password, and a ref like `e12` or a selector does not tell: its length has to do.
_TYPED = {"text", "value", "data"}
_PROXIES = {"proxy", "proxy_server"}


def fault(home: Path) -> str:
    """Why nothing can be recorded there, and so nothing be done; empty if it can. Nothing is written."""
    path = home / NAME
    try:
        if path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)))
        elif not os.access(home, os.W_OK):
            return f"{home} cannot be written to"
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return ""


class Audit:
    """The one writer of a home's log. Rotated files are named by their last record: `audit-000000001234.jsonl`."""

    def __init__(self, home: Path, max_bytes: int = 20_000_000, retention_days: int = 90) -> None:
        self._path = home / NAME
        self._max_bytes = max_bytes
        self._retention_s = retention_days * 86_400
        self._looked_at = 0.0
        self._boot = secrets.token_hex(4)
        self._late: list[dict[str, Any]] = []
        self._lost = 0
        self._limited: dict[str, tuple[float, int]] = {}  # by caller: when it was told, how many were not since
        self._followers: set[Callable[[dict[str, Any]], None]] = set()
        self._file = -1
        self._synced = 0
        self._syncing = asyncio.Lock()
        self._syncer = Syncer()
        try:
            self._open()
        except OSError as error:
            raise _unwritable(self._path, error) from None

    async def before(
        self, question: Question, decision: Decision | None = None, approved: Sequence[Approved] = ()
    ) -> int:
        """Record what is about to happen and return the record's number; what cannot be recorded must not run."""
        number = self._record(_before(question) | _judged(decision) | _yes(approved))
        if question.access in _SYNCED:
            await self._keep(number)
        return number

    def after(self, number: int, *, outcome: str, duration_ms: float, why: str = "") -> None:
        """Record how it ended; `why` it was refused while it ran, if it was."""
        fields = {"event": "after", "of": number, "outcome": outcome, "ms": round(duration_ms, 1)}
        self._record_or_keep(fields | ({"why": for_log(_short(why, 0))} if why else {}))

    def refused(self, question: Question, *, outcome: str, why: str, decision: Decision | None = None) -> None:
        """Record what was asked for and did not happen."""
        told = {"event": "refused", "outcome": outcome, "why": for_log(_short(why, 0))}
        self._record_or_keep(_before(question) | _judged(decision) | told)

    def limited(self, caller: str, why: str, *, tool: str = "", session: str = "") -> None:
        """A caller beyond its limits gets a line a minute, not one for each call: else it could fill the disk."""
        now = time.monotonic()
        began, left_out = self._limited.get(caller, (-LIMITED_EVERY_S, 0))
        if now - began < LIMITED_EVERY_S:
            self._limited[caller] = (began, left_out + 1)
            return
        self._limited[caller] = (now, 0)
        self.note("over_limit", caller=caller, tool=tool, session=session, why=why, left_out=left_out)

    def note(self, kind: str, **fields: Any) -> None:
        """Record something that is no call, such as a key that tried a door of the person's."""
        self._record_or_keep(_note(kind, fields))

    async def decree(self, kind: str, **fields: Any) -> int:
        """As `note`, for what must not happen unrecorded (an answer, a new rule): on the disk, or it is refused."""
        number = self._record(_note(kind, fields))
        await self._keep(number)
        return number

    def tail(self, count: int = 50) -> list[dict[str, Any]]:
        """The newest records, oldest first."""
        return chain.tail(self._path, count)

    def after_number(self, number: int, count: int) -> list[dict[str, Any]]:
        """The records that follow a number, oldest first, at most so many."""
        return chain.after(self._path, number, count)

    def before_number(self, number: int, count: int) -> list[dict[str, Any]]:
        """The newest records below a number, oldest first, at most so many; 0 is below none."""
        return chain.below(self._path, number, count)

    def follow(self, follower: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Hear of every record as it is written; the result ends it."""
        self._followers.add(follower)
        return lambda: self._followers.discard(follower)

    @property
    def number(self) -> int:
        """Of the last record."""
        return self._number

    def close(self) -> None:
        file, self._file = self._file, -1  # its number may soon be another's
        self._syncer.close_file(file)
        self._syncer.end()

    def _record_or_keep(self, fields: dict[str, Any]) -> None:
        """Of what is past or will not be: a full disk is no error here. The line waits, and goes before the next."""
        try:
            self._record(fields)
        except Failure:
            if len(self._late) < MAX_LATE:
                self._late.append(fields)
            else:
                self._lost += 1

    def _record(self, fields: dict[str, Any]) -> int:
        try:
            while self._late:
                self._append(self._late[0])
                del self._late[0]
            if self._lost:
                self._append({"event": "lost", "records": self._lost})
                self._lost = 0
            return self._append(fields)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def _append(self, fields: dict[str, Any]) -> int:
        self._look_at_file()
        line, digest = self._sealed(fields)
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
            line, digest = self._sealed(fields)
        elif time.monotonic() - self._looked_at > OLD_EVERY_S:
            self._drop_old()
            line, digest = self._sealed(fields)
        _write(self._file, line, self._size)
        self._number, self._head = self._number + 1, digest
        self._size += len(line)
        if self._followers:
            self._tell(line)
        return self._number

    def _tell(self, line: bytes) -> None:
        """Exactly what was written: who follows and who reads the file see the same."""
        record = msgspec.json.decode(line)
        for follower in tuple(self._followers):
            follower(record)

    def _look_at_file(self) -> None:
        """Is it still there, and as we left it? Otherwise lines would go where nobody looks, or onto half a line."""
        status = os.fstat(self._file)
        try:
            there = os.path.samestat(status, os.stat(self._path, follow_symlinks=False))
        except FileNotFoundError:
            there = False
        if not there:
            self._reopen()
        elif status.st_size > self._size:
            self._mend(status.st_size)
        else:
            self._size = status.st_size  # smaller when somebody cut it: verify will tell

    def _mend(self, size: int) -> None:
        """Somebody wrote behind our last line, or half of one could not be taken back."""
        torn, self._size = size - self._size, size
        self._close_torn_line(torn)

    def _sealed(self, fields: dict[str, Any]) -> tuple[bytes, str]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line, digest = chain.seal({"n": self._number + 1, "time": now, **fields}, self._head)
        if len(line) > MAX_LINE_BYTES:
            line, digest = chain.seal({"n": self._number + 1, "time": now, **_least(fields)}, self._head)
        return line, digest

    async def _keep(self, number: int) -> None:
        """Return when the record is on the disk. Those that wait together share one sync."""
        async with self._syncing:
            if self._synced >= number:
                return
            last = self._number
            try:
                await self._syncer.sync(self._file)
            except OSError as error:
                raise _unwritable(self._path, error) from None
            self._synced = last

    def _open(self) -> None:
        self._file = os.open(self._path, _FLAGS, 0o600)
        found = chain.last(self._path)
        self._number, self._head = found.number, found.digest
        self._size = os.fstat(self._file).st_size
        if found.torn_bytes:
            self._close_torn_line(found.torn_bytes)
        self._looked_at = time.monotonic()
        self._append({"event": "start", "boot": self._boot, "pid": os.getpid()})
        self._drop_old()

    def _close_torn_line(self, torn_bytes: int) -> None:
        """A crash left half a line: it stays where it is, and the next record says so."""
        _write(self._file, b"\n", self._size)
        self._size += 1
        self._append({"event": "torn", "bytes": torn_bytes})

    def _rotate(self) -> None:
        to_disk(self._file)
        with suppress(FileNotFoundError):  # renamed by an attempt that then could not open the new file
            os.rename(self._path, chain.rotated_name(self._path, self._number))
        self._reopen()
        self._drop_old()

    def _reopen(self) -> None:
        """A new file in the old one's place, which was rotated away or deleted under our hands (verify will tell)."""
        old, self._file = self._file, os.open(self._path, _FLAGS, 0o600)
        self._syncer.close_file(old)
        self._size = os.fstat(self._file).st_size

    def _drop_old(self) -> None:
        """Old files go, and a record keeps their last hash, so that the rest still proves that nothing else went."""
        self._looked_at = time.monotonic()
        if not self._retention_s:
            return
        for path in chain.files(self._path)[:-1]:
            if path.stat().st_mtime >= time.time() - self._retention_s:
                return  # a later one may not go before it: what is left must be one piece
            last = chain.last_of(path)
            self._append({"event": "dropped", "file": path.name, "last": last.number, "digest": last.digest})
            to_disk(self._file)
            with suppress(OSError):  # it will be tried again; that it is too old is no reason to do nothing
                path.unlink()


def _before(question: Question) -> dict[str, Any]:
    return {
        "event": "before",
        "caller": question.caller,
        "session": question.session,
        "tool": question.tool,
        "access": question.access.value,
        "args": _short_args(_without_proxy_users(_public(question))),
        "urls": [for_log(_short(url, 0)) for url in question.urls[:_MAX_URLS]],
        "browser": question.browser,
        "mode": question.mode,
        **({"tab": question.tab} if question.tab else {}),
        **({"aims": [_aim(one) for one in question.aims[:_MAX_AIMS]]} if question.aims else {}),
    }


def _aim(aim: Aim) -> str:
    """What it was that a ref or a selector meant, in the page's own words."""
    return for_log(_short(" ".join(part for part in (aim.role or aim.kind, aim.name) if part), 0))


def _judged(decision: Decision | None) -> dict[str, Any]:
    """What the policy said."""
    if decision is None:
        return {}
    return {"decision": {"verdict": decision.verdict, "rule": _short(decision.rule, 0), "risk": decision.risk}}


def _yes(approved: Sequence[Approved]) -> dict[str, Any]:
    """Who was asked. Several domains are several questions."""
    return {"approved": _short(msgspec.to_builtins(list(approved)), 2)} if approved else {}


def _note(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    told = _short_args(_without_proxy_users(fields))
    return {"event": "note", "kind": kind[:80], "told": told}


def _least(fields: dict[str, Any]) -> dict[str, Any]:
    """What a record needs to be found and understood, when all of it would be too much."""
    kept = {key: _short(value, 1) for key, value in fields.items() if key not in ("args", "urls", "aims", "told")}
    return {**kept, "cut": True}


def _public(question: Question) -> dict[str, Any]:
    """The arguments without what is typed. What only reads types nothing: its `text` is what it looks for."""
    args = question.args
    if question.access not in _SYNCED:
        return args
    if question.tool == "batch":  # each step has a record of its own, made when its arguments have their names
        args = {**args, "steps": [step["tool"] for step in args.get("steps", ())]}
    if question.tool == "evaluate_js" and "args" in args:
        args = {**args, "args": f"({len(args['args'])} items)"}
    return _without_typed(args)


def _without_typed(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[Any, Any], value)
        return {
            key: _length(item) if key in _TYPED and not _names_secrets(item) else _key_told(key, item)
            for key, item in fields.items()
        }
    if isinstance(value, list):
        return [_without_typed(item) for item in cast(list[Any], value)]
    return value


def _key_told(key: str, item: Any) -> Any:
    """A key that writes is typed text, one character of it; a command (Control+a) or a named key is none."""
    writes = key == "key" and isinstance(item, str) and len(item.removeprefix("Shift+")) == 1
    return "(1 character)" if writes else _without_typed(item)


def _names_secrets(item: Any) -> bool:
    """Which secret was typed is worth knowing; what it is, is not here to be known."""
    return isinstance(item, str) and bool(named(item))


def _length(item: Any) -> str:
    return f"({len(str(item))} characters)"


def _without_proxy_users(value: Any) -> Any:
    """Users and passwords of proxies come in shapes that a search for secrets does not know."""
    if isinstance(value, dict):
        fields = cast(dict[Any, Any], value)
        return {
            key: shown_proxy(item) if key in _PROXIES and isinstance(item, str) else _without_proxy_users(item)
            for key, item in fields.items()
        }
    if isinstance(value, list | tuple):
        return [_without_proxy_users(item) for item in cast(list[Any], value)]
    return value


def _short_args(args: dict[str, Any]) -> Any:
    short = for_log_tree(_short(args, _MAX_DEPTH))
    if len(msgspec.json.encode(short)) > _MAX_ARGS_BYTES:
        return {"cut": [str(key)[:40] for key in list(args)[:_MAX_ITEMS]]}
    return short


def _short(value: Any, depth: int) -> Any:
    """Plain data in few bytes."""
    if isinstance(value, str):
        text = value
        if len(value) > _MAX_STRING:  # a secret that the cut goes through would not be recognised afterwards
            text = f"{for_log(value[:_MAX_READ])[:_MAX_STRING]}… ({len(value)} characters)"
        return text.encode("utf-8", "replace").decode()  # JSON has no lone surrogates
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 63):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        fields = cast(dict[Any, Any], value)
        kept = list(fields.items())[:_MAX_ITEMS]
        return {str(key)[:80]: _short(item, depth - 1) for key, item in kept}
    if isinstance(value, list | tuple):
        items = cast(list[Any], value)
        more = [f"… ({len(items)} items)"] if len(items) > _MAX_ITEMS else []
        return [_short(item, depth - 1) for item in items[:_MAX_ITEMS]] + more
    return _short(str(value), depth)


def _write(file: int, line: bytes, size: int) -> None:
    """All of the line or nothing: half a line would look like a crash."""
    written = os.write(file, line)
    if written < len(line):
        os.ftruncate(file, size)
        raise OSError(28, "No space left on device")


def _unwritable(path: Path, error: OSError) -> Failure:
    return Failure(
        "system",
        f"the audit log {path.name} cannot be written: {error.strerror or error}; nothing is done that is not recorded",
        suggestions=["free disk space or correct the permissions of the Pilothouse home, then repeat the call"],
    )
