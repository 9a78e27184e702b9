"""`pilothouse restore FILE`: a backup into this home, looked at first, beside what is there, then in its place.

Above: admin. Below: archive reads, guard.chain verifies, guard.audit goes on with the log. No daemon may run: the
home's lock is held until all is in its place.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pilothouse import config
from pilothouse.commands import archive, show
from pilothouse.commands.archive import Member, Unfit
from pilothouse.errors import Failure
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.rules import read_rules
from pilothouse.guard.vault import Vault, system_keyring
from pilothouse.home import directory
from pilothouse.instance import Claim, StartError

# What a file must say to be taken in; a daemon would refuse to start with it otherwise.
_CHECKS: dict[str, Callable[[str, str], Any]] = {
    "config.toml": config.parse,
    "policy.toml": read_rules,
}


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Also where files are already; those are moved aside, not lost.")
@click.option("--accept-broken-log", is_flag=True, help="Also if the log in it was changed.")
def restore(file: Path, force: bool, accept_broken_log: bool) -> int:
    """Put back what `pilothouse backup` kept. Stop the daemon first."""
    home = Path(directory())
    try:
        with Claim(str(home)), _staging(home) as stage, file.open("rb") as data:
            members, about = archive.unpack(data, stage)
            report = _examined(stage, members, accept_broken_log=accept_broken_log)
            aside = _placed(home, stage, members, force=force)
            _go_on(home, about, report, aside)
    except StartError as error:
        return show.complain(str(error))
    except Unfit as error:
        return show.complain(f"{file}: {error}", ["nothing was changed"])
    except Failure as failure:
        return show.complain(failure.message, failure.suggestions)
    except OSError as error:
        return show.complain(f"{error.filename or file}: {error.strerror}")
    click.echo(f"{len(members)} files are back, the log up to record {report.last}")
    if aside:
        click.echo(f"what was there before is in {aside}")
    if why := Vault(home, system_keyring).problem():
        click.echo(show.paint(f"but saved states and secrets cannot be opened: {why}", show.YELLOW, sys.stdout))
        click.echo("- a backup made with --with-keys has the key, unless it lies in the system's keyring")
        click.echo("- `pilothouse secret start-anew` begins without the secrets")
    return show.OK


@contextlib.contextmanager
def _staging(home: Path) -> Any:
    stage = Path(tempfile.mkdtemp(dir=home, prefix=".restore-"))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _examined(stage: Path, members: list[Member], *, accept_broken_log: bool) -> chain.Report:
    """Nothing of it comes in unless all of it may."""
    for one in members:
        if check := _CHECKS.get(one.name):
            try:
                check((stage / one.name).read_text("utf-8"), one.name)
            except (Failure, ValueError) as error:
                raise Unfit(f"{one.name} in it is not right: {error}") from None
    report = chain.verify_log(stage / NAME)
    if not report.whole and not accept_broken_log:
        raise Unfit(f"the log in it is not whole: {report.faults[0]} (--accept-broken-log takes it all the same)")
    return report


def _placed(home: Path, stage: Path, members: list[Member], *, force: bool) -> Path | None:
    """Into the home; what stood there goes aside first. A log is one thing: of an old one no file may stay between."""
    names = {one.name for one in members}
    if any(archive.LOG.fullmatch(name) for name in names):
        names |= {name for name in archive.names(home, with_keys=False) if archive.LOG.fullmatch(name)}
    there = sorted(name for name in names if os.path.lexists(home / name))
    if there and not force:
        few = ", ".join(there[:5]) + (" …" if len(there) > 5 else "")
        raise Failure(
            "bad_request", f"{home} has {few} already", suggestions=["--force moves them aside and puts these in place"]
        )
    prefix = time.strftime("before-restore-%Y%m%d-%H%M%S-")
    aside = Path(tempfile.mkdtemp(dir=home, prefix=prefix)) if there else None
    for name in there:
        assert aside
        _move(home / name, aside / name)
    for one in members:
        _move(stage / one.name, home / one.name)
    return aside


def _move(path: Path, to: Path) -> None:
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.rename(path, to)


def _go_on(home: Path, about: dict[str, Any], report: chain.Report, aside: Path | None) -> None:
    """The log goes on where the backup ended, and says that it was one; the one it replaced ends with its own hash."""
    replaced = chain.last(aside / NAME) if aside else chain.Link(0, chain.START)
    log = Audit(home, retention_days=0)
    log.note(
        "restored",
        made=float(about["made"]) if isinstance(about.get("made"), int | float) else 0,
        last=report.last,
        whole=report.whole,
        replaced_last=replaced.number,
        replaced_digest=replaced.digest if replaced.number else "",
    )
    log.close()
