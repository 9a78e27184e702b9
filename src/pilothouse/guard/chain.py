"""The audit log's files as a chain of hashes: how a line is sealed, where the chain ends, whether it is whole.

Above: audit (writes), `pilothouse log` (verifies). Below: nothing. A line is JSON whose last field is the SHA-256 of
everything before that field, and its `prev` is the hash of the line before: a changed, removed or inserted line does
not fit any more. Only the end can be cut off unseen, so a report names its last record.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

START = "0" * 64
_SEAL = re.compile(rb'(.*),"hash":"([0-9a-f]{64})"\}', re.DOTALL)
_TAIL_BYTES = 131_072


class Link(NamedTuple):
    """The end of a chain: its last whole record, and how many bytes of a half-written one follow."""

    number: int
    digest: str
    torn_bytes: int = 0


class Report(msgspec.Struct):
    """What `verify` found; the chain is whole when there are no faults."""

    records: int = 0
    first: int = 0
    last: int = 0
    digest: str = START
    torn: int = 0
    unfinished: list[int] = []
    faults: list[str] = []

    @property
    def whole(self) -> bool:
        return not self.faults


def seal(fields: dict[str, Any], previous: str) -> tuple[bytes, str]:
    """The line of a record and its hash."""
    body = msgspec.json.encode({**fields, "prev": previous})[:-1]
    digest = hashlib.sha256(body).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, digest.encode()), digest


def unseal(line: bytes) -> dict[str, Any] | None:
    """The record of a line whose hash fits; None otherwise."""
    found = _SEAL.fullmatch(line.rstrip(b"\n"))
    if not found or hashlib.sha256(found[1]).hexdigest() != found[2].decode():
        return None
    return json.loads(line)


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
    for limit in (_TAIL_BYTES, None):
        torn = 0
        for line in reversed(_lines(path, limit)):
            if record := unseal(line):
                return Link(record["n"], record["hash"], torn)
            torn += len(line.rstrip(b"\n"))
    return Link(0, START, torn)


def tail(path: Path, count: int) -> list[dict[str, Any]]:
    """The newest whole records of a log, oldest first."""
    found: list[dict[str, Any]] = []
    for one in reversed(files(path)):
        for line in reversed(_lines(one, None)):
            if len(found) >= count:
                return found[::-1]
            if record := unseal(line):
                found.append(record)
    return found[::-1]


def verify(paths: Sequence[Path]) -> Report:
    """Read the files of a log, oldest first, and say whether anything was changed, removed or inserted."""
    reader = _Reader()
    for path in paths:
        for number, line in enumerate(_lines(path, None), 1):
            reader.read(line, f"{path.name}:{number}")
    return reader.finish()


class _Reader:
    """Follows the chain line by line."""

    def __init__(self) -> None:
        self.report = Report()
        self._before_first = Link(0, START)
        self._open: set[int] = set()
        self._dropped: set[Link] = set()
        self._bad_bytes = 0
        self._bad_place = ""

    def read(self, line: bytes, place: str) -> None:
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
            self.report.faults.append(f"{place}: record {record['n']} does not follow record {self.report.last}")
        self._take(record)

    def finish(self) -> Report:
        report = self.report
        if self._bad_place:
            report.faults.append(f"{self._bad_place}: changed, or no record")
        if report.records and self._before_first not in self._dropped | {Link(0, START)}:
            report.faults.append(f"the log begins with record {report.first}, and nothing says where those before are")
        report.unfinished = sorted(self._open)
        return report

    def _judge_bad_lines(self, record: dict[str, Any]) -> None:
        """Half a line is excused by the record that was written when the log was opened next."""
        excused = record["event"] == "torn" and record["bytes"] == self._bad_bytes
        if excused and record["prev"] == self.report.digest:
            self._settle_torn()
        else:
            self.report.faults.append(f"{self._bad_place}: changed, or no record")
            self._bad_place, self._bad_bytes = "", 0

    def _settle_torn(self) -> None:
        self.report.torn += 1
        self._bad_place, self._bad_bytes = "", 0

    def _take(self, record: dict[str, Any]) -> None:
        report = self.report
        if not report.records:
            report.first = record["n"]
            self._before_first = Link(record["n"] - 1, record["prev"])
        report.records += 1
        report.last, report.digest = record["n"], record["hash"]
        if record["event"] == "before":
            self._open.add(record["n"])
        elif record["event"] == "after":
            self._open.discard(record["of"])
        elif record["event"] == "dropped":
            self._dropped.add(Link(record["last"], record["digest"]))


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
