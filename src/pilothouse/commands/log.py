"""`pilothouse log`: what was done, read from the files themselves, with or without a daemon.

Above: admin. Below: records (what is shown), guard.chain (whether it is true), written.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from pilothouse.commands import records, show
from pilothouse.commands.records import Deed, Record, Wanted
from pilothouse.guard import chain
from pilothouse.home import directory
from pilothouse.written import writing

NAME = "audit.jsonl"
POLL_S = 0.1


@click.group()
def log() -> None:
    """The log of what agents did: show, tail, verify, export."""


def _path() -> Path:
    return Path(directory()) / NAME


def _since(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return records.parse_since(value) if value else ""
    except (ValueError, OverflowError):
        raise click.BadParameter("use 30m, 2h, 7d, or a date such as 2026-11-16 or 2026-11-16T09:30") from None


_SINCE = click.option("--since", default="", callback=_since, help="30m, 2h, 7d, or a date (and time).")


def _filters(command: Callable[..., int]) -> Callable[..., int]:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="The records as they are, one JSON object a line."),
        click.option("--refused", is_flag=True, help="Only what did not happen."),
        click.option("--caller", default="", help="Of this agent key."),
        click.option("--tool", default="", help="Of this tool."),
        click.option("--session", default="", help="Of this session, or what its handle begins with."),
        _SINCE,
    ):
        command = option(command)
    return command


@log.command(name="show")
@_filters
@click.option("--limit", type=click.IntRange(0), default=100, help="How many of the newest (100); 0 shows all.")
def show_log(as_json: bool, limit: int, **asked: Any) -> int:
    """Print what happened, one line each, oldest first."""
    found = records.select(_path(), _wanted(asked), limit)
    _print(found.deeds, as_json=as_json)
    if found.bad_lines:
        lines = "line is" if found.bad_lines == 1 else "lines are"
        sys.stderr.write(f"pilothouse: {found.bad_lines} {lines} no record; `pilothouse log verify` says why\n")
    return show.OK


@log.command()
@_filters
@click.option("--lines", "-n", "limit", type=click.IntRange(0), default=20, help="How much of the past (20).")
@click.option("--follow", "-f", "live", is_flag=True, help="Go on with what comes, until Ctrl-C.")
def tail(as_json: bool, limit: int, live: bool, **asked: Any) -> int:
    """Print the newest lines; with --follow also those to come, when they are done."""
    path, wanted = _path(), _wanted(asked)
    with _Follower(path) as follower:
        past = records.select(path, wanted, limit or 1)
        shown = past.deeds if limit else []
        if not live:
            _print(shown, as_json=as_json)
            return show.OK
        begun = [one.record for one in shown if one.record["event"] == "before" and not one.end]
        _print([one for one in shown if one.record not in begun], as_json=as_json)
        fresh = (one for one in follower.records() if one["n"] > past.last)
        try:
            for deed in records.pair(_after(begun, fresh), wanted):
                _print([deed], as_json=as_json)
        except KeyboardInterrupt:
            return show.INTERRUPTED
    return show.OK


@log.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seen", multiple=True, metavar="HASH", help="The last hash of an earlier look: is it still in there?")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def verify(files: tuple[Path, ...], seen: tuple[str, ...], as_json: bool) -> int:
    """Was anything changed, taken out or put in? The exit code is 1 if so, or if there is no log.

    FILES are exports or copies, oldest first; without them this home's log is read. A file may begin anywhere: then it
    is called unbroken, not whole, because nothing in it proves what was before.
    """
    report = chain.verify(files, part=True, seen=seen) if files else chain.verify_log(_path(), seen=seen)
    missing = [one for one in seen if one not in report.seen]
    unbroken = report.whole and not missing and report.records > 0
    if as_json:
        told = {"whole": unbroken and report.is_begun, "unbroken": unbroken, "missing": missing}
        click.echo(json.dumps({**told, **msgspec.to_builtins(report)}))
    else:
        _tell(report, missing, unbroken=unbroken)
    return show.OK if unbroken else show.TROUBLE


@log.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=str))
@_SINCE
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def export(file: str, since: str, force: bool) -> int:
    """Write the records into FILE (- is stdout), as they are: `pilothouse log verify FILE` still proves them."""
    if file == "-":
        _export(sys.stdout.buffer, since)
        return show.OK
    try:
        with writing(file, over=force) as out:
            count = _export(out, since)
    except FileExistsError:
        return show.complain(f"{file} is there already", ["--force writes over it"])
    except OSError as error:
        return show.complain(f"{file}: {error.strerror}")
    click.echo(f"{count} records in {file}")
    return show.OK


def _wanted(asked: dict[str, Any]) -> Wanted:
    return Wanted(**{**asked, "tool": asked["tool"].replace("-", "_")})


def _print(deeds: list[Deed], *, as_json: bool) -> None:
    lines = [json.dumps(one) for deed in deeds for one in deed if one] if as_json else map(records.line, deeds)
    out = sys.stdout
    try:
        for one in lines:
            out.buffer.write(one.encode(out.encoding or "utf-8", "replace") + b"\n")
        out.buffer.flush()
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        raise SystemExit(show.OK) from None


def _after(begun: list[Record], fresh: Iterator[Record]) -> Iterator[Record]:
    yield from begun
    yield from fresh


def _export(out: BinaryIO, since: str) -> int:
    """From the first record of that time on, everything, or the chain would have holes."""
    count, began = 0, not since
    for file in chain.files(_path()):
        for raw, record in chain.read(file):
            began = began or (record is not None and record["time"] >= since)
            if began:
                out.write(raw)
                count += record is not None
    out.flush()
    return count


def _tell(report: chain.Report, missing: list[str], *, unbroken: bool) -> None:
    if not report.records:
        click.echo(show.paint("there is no log", show.RED, sys.stdout))
        return
    for fault in report.faults:
        click.echo(f"{show.paint('broken', show.RED, sys.stdout)} {fault} (sound up to record {fault.after})")
    for one in missing:
        click.echo(f"{show.paint('missing', show.RED, sys.stdout)} no record has the hash {records.plain(one)}")
    said = "NOT whole" if not unbroken else "whole" if report.is_begun else "unbroken"
    click.echo(f"{said}: {report.records} records, {report.first} to {report.last}")
    if unbroken and not report.is_begun:
        click.echo(f"what was before record {report.first} is not in this file, and nothing here proves it")
    if report.dropped:
        click.echo(
            f"older ones, up to record {report.dropped}, were dropped by log.retention_days, and that is recorded"
        )
    if report.torn:
        click.echo(f"{report.torn} half-written by a daemon that was killed, and recorded as such")
    if count := len(report.unfinished):
        calls = "1 call has" if count == 1 else f"{count} calls have"
        click.echo(f"{calls} no end: still running, or a daemon ended meanwhile")
    click.echo(f"last: {records.plain(report.last_time)} {report.digest}")
    if unbroken:
        click.echo("an end that was cut off cannot be seen: note the last hash, and give it to --seen next time")
    else:
        click.echo("keep the files as they are, and compare them with a backup or an export")


class _Follower:
    """Lines of the log as they come, across its rotations; from the moment it is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._opened()
        if self._file:
            self._file.seek(0, os.SEEK_END)
        self._rest = b""
        self._last = chain.last(path).number

    def __enter__(self) -> "_Follower":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def records(self) -> Iterator[Record]:
        while True:
            moved = self._moved()
            yield from self._fresh(map(chain.unseal, self._new_lines()))
            if moved:
                self.__exit__()
                self._file, self._rest = self._opened(), b""
                for path in chain.files(self._path)[:-1]:  # it may have rotated more than once
                    if path.name > chain.rotated_name(self._path, self._last).name:
                        yield from self._fresh(record for _, record in chain.read(path))
            else:
                time.sleep(POLL_S)

    def _fresh(self, found: Iterable[Record | None]) -> Iterator[Record]:
        for record in found:
            if record and record["n"] > self._last:
                self._last = record["n"]
                yield record

    def _new_lines(self) -> list[bytes]:
        *lines, self._rest = (self._rest + (self._file.read() if self._file else b"")).split(b"\n")
        return lines

    def _moved(self) -> bool:
        """Is another file in its place? Looked at before it is read, so that nothing comes after the last look."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        return self._file is None or not os.path.samestat(os.fstat(self._file.fileno()), there)

    def _opened(self) -> BinaryIO | None:
        try:
            return open(self._path, "rb")
        except FileNotFoundError:
            return None
