"""`pilothouse backup FILE`: what a person would miss, in one private file. A daemon may run meanwhile.

Above: admin. Below: archive packs, guard.chain says whether the log in it is whole.
"""

import contextlib
import io
import os
from pathlib import Path
from typing import IO

import click

from pilothouse import __version__
from pilothouse.commands import archive, show
from pilothouse.commands.archive import Source
from pilothouse.guard import chain
from pilothouse.home import directory
from pilothouse.written import writing

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
TRIES = 5  # a daemon may begin a new log file while we look


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--with-keys", is_flag=True, help="The keys too: whoever has the file can then do what you can.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def backup(file: Path, with_keys: bool, force: bool) -> int:
    """Keep configuration, policy, log, profiles' definitions, saved states and secrets in FILE (tar.gz, for you only).

    States and secrets stay encrypted: without their key, which is in the system's keyring or in state.key, nobody can
    open them.
    """
    home = Path(directory())
    with contextlib.ExitStack() as stack:
        sources = _opened(home, stack, with_keys=with_keys)
        if not sources:
            return show.complain(f"there is nothing to keep in {home}")
        report = _verified(sources)  # of the very bytes that will be in it
        about = {"pilothouse": __version__, "keys": with_keys, "last": report.last, "digest": report.digest}
        try:
            with writing(file, over=force) as out:
                archive.pack(out, sources, about)
        except FileExistsError:
            return show.complain(f"{file} is there already", ["--force writes over it"])
        except OSError as error:
            return show.complain(f"{file}: {error.strerror}")
    click.echo(f"{len(sources)} files in {file}, the log up to record {report.last}")
    if not with_keys:
        click.echo("without keys: --with-keys takes them too")
    if not report.whole:
        show.complain(f"the log is not whole: {report.faults[0]}", ["restore will ask for --accept-broken-log"])
    return show.OK


def _opened(home: Path, stack: contextlib.ExitStack, *, with_keys: bool) -> list[Source]:
    """All files at one moment: if the log began a new one meanwhile, they are opened again."""
    sources: list[Source] = []
    for _ in range(TRIES):
        stack.pop_all().close()
        listed = archive.names(home, with_keys=with_keys)
        with contextlib.suppress(FileNotFoundError):
            sources = [_source(home, name, stack) for name in listed]
            if archive.names(home, with_keys=with_keys) == listed:
                break
    return sources


def _source(home: Path, name: str, stack: contextlib.ExitStack) -> Source:
    file = stack.enter_context(os.fdopen(os.open(home / name, _READ), "rb"))
    size = os.fstat(file.fileno()).st_size
    return Source(name, file, _whole_lines(file, size) if archive.LOG.fullmatch(name) else size)


def _whole_lines(file: IO[bytes], size: int) -> int:
    """Up to the last line that is written: the daemon may be in the middle of one."""
    at = max(size - chain.MAX_TAIL_BYTES, 0)
    file.seek(at)
    end = file.read(size - at).rfind(b"\n")
    file.seek(0)
    return at + end + 1 if end >= 0 else size


def _verified(sources: list[Source]) -> chain.Report:
    logs = [one for one in sources if archive.LOG.fullmatch(one.name)]
    logs.sort(key=lambda one: (one.name == "audit.jsonl", one.name))
    report = chain.verify_lines((one.name, io.BytesIO(one.file.read(one.size)).readlines()) for one in logs)
    for one in logs:
        one.file.seek(0)
    return report
