"""Records of the audit log as a person asks for them and reads them.

Above: log. Below: guard.chain reads the files, show paints. What pages wrote into a record cannot move a terminal's
cursor or turn its text round: everything that is not plain print is spelled out.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

from pilothouse.commands.show import BOLD, DIM, RED, YELLOW, paint
from pilothouse.guard import chain

Record = dict[str, Any]

_AGO = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MAX_SHOWN = 120
_REFUSALS = {"denied", "approval_denied", "unauthorized"}  # also of a call that had begun
_REFUSED_NOTES = {"over_limit", "door_refused", "answer_ignored"}


class Wanted(NamedTuple):
    """Which records somebody wants to see; empty means all."""

    since: str = ""  # as records write their time
    session: str = ""
    tool: str = ""
    caller: str = ""
    refused: bool = False

    def wants(self, record: Record) -> bool:
        """Of a record that begins something; how it ended belongs to it."""
        about = {**record, **_table(record, "told")}
        return (
            str(record["time"]) >= self.since
            and str(about.get("session", "")).startswith(self.session)
            and self.tool in ("", about.get("tool"))
            and self.caller in ("", about.get("caller"))
        )

    def wants_deed(self, deed: "Deed") -> bool:
        return self.wants(deed.record) and (not self.refused or deed.is_refused)


class Deed(NamedTuple):
    """One thing that happened: the record of its beginning, and of its end if it came to one."""

    record: Record
    end: Record | None

    @property
    def is_refused(self) -> bool:
        record, ended = self.record, self.end or {}
        return (
            record["event"] == "refused"
            or ended.get("outcome") in _REFUSALS
            or (record["event"] == "note" and record.get("kind") in _REFUSED_NOTES)
        )


class Selection(NamedTuple):
    """What was found; `last` is the number of the newest record there was."""

    deeds: list[Deed]
    bad_lines: int
    last: int


def parse_since(text: str, now: datetime | None = None) -> str:
    """`2h`, `7d`, or a date with or without a time (this machine's), as records write it. ValueError if it is none."""
    now = now or datetime.now(UTC)
    if found := _AGO.fullmatch(text.strip().lower()):
        moment = now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    else:
        moment = datetime.fromisoformat(text.strip())
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def select(path: Path, wanted: Wanted, limit: int) -> Selection:
    """The newest deeds that are wanted, oldest first. Newer files are read first: ends never come before beginnings."""
    found: list[Deed] = []
    ends: dict[int, Record] = {}
    bad = last = 0
    for file in reversed(chain.files(path)):
        if wanted.since and _ended_before(file, wanted.since):
            break
        lines = list(chain.read(file))
        bad += sum(record is None for _, record in lines)
        every = [record for _, record in lines if record]
        last = max([last, *(one["n"] for one in every)])
        ends |= {one["of"]: one for one in every if one["event"] == "after"}
        deeds = [Deed(one, ends.get(one["n"])) for one in every if one["event"] != "after"]
        found = [*(one for one in deeds if wanted.wants_deed(one)), *found]
        if limit and len(found) >= limit:
            break
    return Selection(found[-limit:] if limit else found, bad, last)


def pair(records: Iterable[Record], wanted: Wanted) -> Iterator[Deed]:
    """Deeds as they end, from records as they come."""
    open_: dict[int, Record] = {}
    for record in records:
        if record["event"] == "after":
            begun = open_.pop(record["of"], None)
            deed = Deed(begun, record) if begun else None
        elif record["event"] == "before":
            open_[record["n"]], deed = record, None
        else:
            deed = Deed(record, None)
        if deed and wanted.wants_deed(deed):
            yield deed


def line(deed: Deed) -> str:
    """One deed for a person, in one line."""
    record = deed.record
    what = _TOLD.get(record["event"], _other)(deed)
    clock, number = paint(_clock(record["time"]), DIM, sys.stdout), paint(f"#{record['n']}", DIM, sys.stdout)
    return f"{clock} {what} {number}"


def plain(value: Any) -> str:
    """Text in which nothing acts on a terminal; other values as JSON writes them."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if not text.isprintable():
        text = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _call(deed: Deed) -> str:
    record, end = deed
    outcome = record.get("outcome") or (end.get("outcome") if end else "unfinished")
    colour = RED if record["event"] == "refused" else "" if outcome == "ok" else YELLOW
    shown = f"{plain(outcome):<10}"
    parts = [
        paint(shown, colour, sys.stdout) if colour else shown,
        paint(plain(record.get("tool", "")), BOLD, sys.stdout),
        *_arguments(record),
        *_circumstances(record),
        *([f"because {plain(end['why'])}"] if end and end.get("why") else []),
        *([f"{end['ms']:g} ms"] if end and isinstance(end.get("ms"), int | float) else []),
    ]
    who = ", ".join(plain(record[name])[:32] for name in ("caller", "session") if record.get(name))
    return " ".join([*parts, paint(f"({who})", DIM, sys.stdout)])


def _arguments(record: Record) -> Iterator[str]:
    for name, value in _table(record, "args").items():
        if name not in ("session", "tab") and value not in ([], {}):
            yield f"{plain(name)}={plain(value)}"


def _circumstances(record: Record) -> Iterator[str]:
    """What it meant, where, and who had a say."""
    aims, urls = _list(record, "aims"), _list(record, "urls")
    decision = _table(record, "decision")
    if aims:
        yield f"[{plain(', '.join(map(str, aims)))}]"
    if urls:
        yield f"at {plain(urls[0])}"
    if record["event"] == "refused":
        yield f"because {plain(record.get('why', ''))}"
    if decision.get("verdict", "allow") != "allow":
        yield f"by {plain(decision.get('rule'))} (risk {plain(decision.get('risk'))})"
    for yes in _list(record, "approved"):
        if isinstance(yes, dict):
            told = cast(Record, yes)
            yield f"approved by {plain(told.get('by'))} ({plain(told.get('scope'))}, {plain(told.get('id'))})"


def _note(deed: Deed) -> str:
    said = " ".join(f"{plain(name)}={plain(value)}" for name, value in _table(deed.record, "told").items())
    return f"{paint(plain(deed.record.get('kind', 'note')), YELLOW, sys.stdout)} {said}"


def _other(deed: Deed) -> str:
    own = {"n", "time", "event", "prev", "hash", "digest"}
    said = " ".join(f"{plain(name)}={plain(value)}" for name, value in deed.record.items() if name not in own)
    return f"{paint(plain(deed.record['event']), DIM, sys.stdout)} {said}"


_TOLD: dict[str, Callable[[Deed], str]] = {"before": _call, "refused": _call, "note": _note}


def _table(record: Record, name: str) -> Record:
    """A hash says that a record is as it was written, not that we wrote it."""
    value = record.get(name)
    return cast(Record, value) if isinstance(value, dict) else {}


def _list(record: Record, name: str) -> list[Any]:
    value = record.get(name)
    return cast(list[Any], value) if isinstance(value, list) else []


def _clock(time: str) -> str:
    """This machine's time, of what may be no time at all."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return plain(time)


def _ended_before(file: Path, since: str) -> bool:
    """Was nothing written into it since? Then it need not be read, nor any older one."""
    try:
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except FileNotFoundError:
        return False
    return changed < datetime.fromisoformat(since)
