"""The audit log's files as a chain of hashes: how a line is sealed, where the chain ends, whether it is whole.

Above: audit (writes), `pilothouse log` (verifies). Below: nothing. A line is JSON whose last field is the SHA-256 of
everything before that field, and its `prev` is the hash of the line before: a changed, removed or inserted line does
not fit any more. Only the end can be cut off unseen, so a report names its last record.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

START = "0" * 64
_SEAL = re.compile(rb'(.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)
_NUMBER = re.compile(rb'\{"n":(\d{1,15}),')
MAX_TAIL_BYTES = 131_072
_MAX_FAULTS = 100
_READ_AGAIN = 5
# What else a record of a kind must have for us to follow it.
_KINDS: dict[str, dict[str, type]] = {
    "after": {"of": int},
    "torn": {"bytes": int},
    "dropped": {"last": int, "digest": str},
}


class Link(NamedTuple):
    """The end of a chain: its last whole record, and how many bytes of a half-written one follow."""

    number: int
    digest: str
    torn_bytes: int = 0


class Fault(msgspec.Struct, frozen=True):
    """Where the chain is broken: the line of a file, and the last record before it that is sound."""

    file: str
    line: int
    after: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}"


class Report(msgspec.Struct):
    """What `verify` found; the chain is whole when there are no faults. `seen` are those of the asked hashes.

    `is_begun` is false for a part of a log: nothing proves what was before its first record.
    """

    records: int = 0
    first: int = 0
    last: int = 0
    last_time: str = ""
    digest: str = START
    torn: int = 0
    dropped: int = 0
    is_begun: bool = True
    unfinished: list[int] = []
    faults: list[Fault] = []
    seen: list[str] = []

    @property
    def whole(self) -> bool:
        return not self.faults


def seal(fields: dict[str, Any], previous: str) -> tuple[bytes, str]:
    """The line of a record and its hash."""
    whole = {**fields, "prev": previous}
    try:
        body = msgspec.json.encode(whole)[:-1]
    except UnicodeEncodeError:  # half a character, from a caller: the log keeps what can be written
        plain = json.dumps(msgspec.to_builtins(whole), ensure_ascii=False, separators=(",", ":"))
        body = plain.encode("utf-8", "replace")[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, digest.encode()), digest


def unseal(line: bytes) -> dict[str, Any] | None:
    """The record of a line whose hash fits; None otherwise."""
    found = _SEAL.fullmatch(line.rstrip(b"\n"))
    if not found or hashlib.sha256(found[1]).hexdigest() != found[2].decode():
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if _is_record(record) else None


def _is_record(record: Any) -> bool:
    """A hash proves nothing about who made it: what others sealed must not break those who read."""
    kinds = {"n": int, "event": str, "time": str, "prev": str, "hash": str, **_KINDS.get(str(record.get("event")), {})}
    return all(isinstance(record.get(name), kind) for name, kind in kinds.items())


def rotated_name(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number:012d}{path.suffix}")


def files(path: Path) -> list[Path]:
    """Every file of a log, oldest first, the one that is written to last."""
    return [*sorted(path.parent.glob(f"{path.stem}-{'[0-9]' * 12}{path.suffix}")), path]


def last(path: Path) -> Link:
    """Where the chain of a log ends, to go on from there."""
    torn = 0
    for one in reversed(files(path)):
        found = last_of(one)
        torn += found.torn_bytes
        if found.number:
            return found._replace(torn_bytes=torn)
    return Link(0, START, torn)


def last_of(path: Path) -> Link:
    """The last whole record of one file."""
    torn = 0
    for limit in (MAX_TAIL_BYTES, None):
        torn = 0
        for line in reversed(_lines(path, limit)):
            if record := unseal(line):
                return Link(record["n"], record["hash"], torn)
            torn += len(line.rstrip(b"\n"))
    return Link(0, START, torn)


def tail(path: Path, count: int) -> list[dict[str, Any]]:
    """The newest whole records of a log, oldest first."""
    return below(path, 0, count)


def below(path: Path, number: int, count: int) -> list[dict[str, Any]]:
    """The newest whole records below a number (0: of all), oldest first; only those are read as JSON."""
    return _unrotated(path, lambda all_files: _below(all_files, number, count))


def after(path: Path, number: int, count: int) -> list[dict[str, Any]]:
    """The whole records above a number, oldest first, at most so many."""
    return _unrotated(path, lambda all_files: _after(all_files, number, count))


def _unrotated(path: Path, read: Callable[[list[Path]], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A log that rotates while it is read would seem to have a gap: it is read again."""
    result = read(found := files(path))
    for _ in range(_READ_AGAIN - 1):
        if found == (now := files(path)):
            break
        result = read(found := now)
    return result


def _below(all_files: list[Path], number: int, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in reversed(all_files):
        for line in reversed(_lines(one, None)):
            if len(found) >= count:
                return found[::-1]
            if (not number or _number_of(line) < number) and (record := unseal(line)):
                found.append(record)
    return found[::-1]


def _after(all_files: list[Path], number: int, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in all_files:
        if one != all_files[-1] and int(one.stem.rpartition("-")[2]) <= number:
            continue  # named by its last record
        for line in _lines(one, None):
            if len(found) >= count:
                return found
            if _number_of(line) > number and (record := unseal(line)):
                found.append(record)
    return found


def _number_of(line: bytes) -> int:
    found = _NUMBER.match(line)
    return int(found[1]) if found else 0


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole record of a log, oldest first."""
    for one in files(path):
        yield from (record for _, record in read(one) if record)


def read(path: Path) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """The lines of one file, each with its record; None where there is none, or it was changed."""
    for line in _lines(path, None):
        yield line, unseal(line)


def verify(paths: Sequence[Path], *, part: bool = False, seen: Collection[str] = ()) -> Report:
    """Read the files of a log, oldest first, and say whether anything was changed, removed or inserted.

    A `part` may begin anywhere. `seen` are hashes that somebody noted down earlier: the report says which it met.
    """
    return verify_lines(((path.name, _lines(path, None)) for path in paths), part=part, seen=seen)


def verify_lines(named: Iterable[tuple[str, list[bytes]]], *, part: bool = False, seen: Collection[str] = ()) -> Report:
    """The same for files that somebody has read already."""
    reader = _Reader(frozenset(seen))
    for name, lines in named:
        for number, line in enumerate(lines, 1):
            reader.read(line, (name, number))
    return reader.finish(part=part)


def verify_log(path: Path, *, seen: Collection[str] = ()) -> Report:
    """`verify` for a whole log, also while a daemon writes it: if it rotated meanwhile, it is read again."""
    report, read = verify(found := files(path), seen=seen), 1
    while not report.whole and found != files(path) and read < _READ_AGAIN:
        report, read = verify(found := files(path), seen=seen), read + 1
    return report


Place = tuple[str, int]  # a file and a line of it


class _Reader:
    """Follows the chain line by line."""

    def __init__(self, seen: frozenset[str]) -> None:
        self.report = Report()
        self._seen = seen
        self._before_first = Link(0, START)
        self._first_place = ("", 0)
        self._open: set[int] = set()
        self._dropped: set[Link] = set()
        self._bad_bytes = 0
        self._bad_place: Place | None = None

    def read(self, line: bytes, place: Place) -> None:
        record = unseal(line)
        if record is None:
            self._bad_place = self._bad_place or place
            self._bad_bytes += len(line.rstrip(b"\n"))
            if not line.endswith(b"\n"):  # the last line, and a crash explains it
                self._settle_torn()
            return
        if self._bad_place:
            self._judge_bad_lines(record)
        elif self.report.records and (record["prev"], record["n"]) != (self.report.digest, self.report.last + 1):
            self._fault(place, f"record {record['n']} does not follow record {self.report.last}")
        if not self.report.records:
            self._first_place = place
        self._take(record)

    def finish(self, *, part: bool) -> Report:
        report = self.report
        if self._bad_place:
            self._fault(self._bad_place, "changed, or no record")
        report.is_begun = self._before_first in self._dropped | {Link(0, START)}
        if report.records and not part and not report.is_begun:
            why = f"the log begins with record {report.first}, and nothing says where those before are"
            file, line = self._first_place
            report.faults.insert(0, Fault(file, line, 0, why))
        report.unfinished = sorted(self._open)
        return report

    def _fault(self, place: Place, why: str) -> None:
        if len(self.report.faults) < _MAX_FAULTS:
            file, line = place
            self.report.faults.append(Fault(file, line, self.report.last, why))

    def _judge_bad_lines(self, record: dict[str, Any]) -> None:
        """Half a line is excused by the record that was written when the log was opened next."""
        excused = record["event"] == "torn" and record["bytes"] == self._bad_bytes
        if excused and record["prev"] == self.report.digest:
            self._settle_torn()
        else:
            assert self._bad_place
            self._fault(self._bad_place, "changed, or no record")
            self._bad_place, self._bad_bytes = None, 0

    def _settle_torn(self) -> None:
        self.report.torn += 1
        self._bad_place, self._bad_bytes = None, 0

    def _take(self, record: dict[str, Any]) -> None:
        report = self.report
        if not report.records:
            report.first = record["n"]
            self._before_first = Link(record["n"] - 1, record["prev"])
        report.records += 1
        report.last, report.digest, report.last_time = record["n"], record["hash"], record["time"]
        if record["hash"] in self._seen:
            report.seen.append(record["hash"])
        if record["event"] == "before":
            self._open.add(record["n"])
        elif record["event"] == "after":
            self._open.discard(record["of"])
        elif record["event"] == "dropped":
            self._dropped.add(Link(record["last"], record["digest"]))
            report.dropped = max(report.dropped, record["last"])


def _lines(path: Path, limit: int | None) -> list[bytes]:
    """The lines of a file, or only the whole ones within its last bytes."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = 0 if limit is None else max(0, size - limit)
            file.seek(start)
            lines = file.readlines()
    except FileNotFoundError:
        return []
    return lines[1:] if start else lines
