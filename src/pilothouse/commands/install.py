"""`pilothouse install CLIENT`: writes our entry into an MCP client's own file, and takes it out again.

Above: admin. Below: clients. What will change is shown first; the file as it was is kept beside it.
"""

import contextlib
import difflib
import os
import shutil
import sys
from pathlib import Path

import click

from pilothouse.commands import manifest
from pilothouse.commands.clients import CLIENTS, Client, Unreadable
from pilothouse.commands.usage import unknown_sets
from pilothouse.home import directory
from pilothouse.written import PRIVATE, replace

BACKUP = ".before-pilothouse"


@click.command()
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--tools", default="", help="Tools to list: core, all, or names and groups with commas.")
@click.option("--profile", default="", help="Sessions in this browser profile.")
@click.option(
    "--extension",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Sessions in your own Chrome, through the extension; NAME when several are paired.",
)
@click.option("--headed", is_flag=True, help="Browsers with a window.")
@click.option("--project", is_flag=True, help="Into the project in the current directory, not for the whole user.")
@click.option("--print", "only_print", is_flag=True, help="Only print what would be written.")
@click.option("--undo", is_flag=True, help="Take our entry out again, or put back what stood in its place.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install(
    client: str,
    tools: str,
    profile: str,
    extension: str | None,
    headed: bool,
    project: bool,
    only_print: bool,
    undo: bool,
    yes: bool,
) -> int:
    """Connect an MCP client: write Pilothouse into its configuration."""
    one = CLIENTS[client]
    flags = _flags(tools, profile, extension, headed)
    entry = one.entry(own_command(), ["mcp", *flags], own_environment())
    if only_print:
        click.echo(one.alone(entry), nl=False)
        return 0
    path = _place(one, project)
    try:
        before = _read(path)
        after = _undone(one, path, before) if undo else one.put(before or "", entry)
    except Unreadable as error:
        click.echo(f"pilothouse: {path}: {error}. It is left as it is; put this into it by hand:", err=True)
        click.echo(one.alone(entry), nl=False)
        return 1
    return _change(one, path, before, after, undo=undo, yes=yes, project=project)


def _flags(tools: str, profile: str, extension: str | None, headed: bool) -> list[str]:
    if profile and extension is not None:
        raise click.UsageError("--profile and --extension exclude each other")
    if tools and (wrong := unknown_sets(manifest.read(directory())["tools"], tools)):
        raise click.UsageError(wrong)
    flags = [*(["--tools", tools] if tools else []), *(["--profile", profile] if profile else [])]
    if extension is not None:
        flags += ["--extension", extension] if extension else ["--extension"]
    return [*flags, *(["--headed"] if headed else [])]


def own_command() -> str:
    """This installation's `pilothouse`, by its absolute path: clients often have another PATH than shells."""
    beside = Path(sys.executable).with_name("pilothouse.exe" if sys.platform == "win32" else "pilothouse")
    return str(beside) if beside.exists() else shutil.which("pilothouse") or os.path.abspath(sys.argv[0])


def own_environment() -> dict[str, str]:
    home = os.environ.get("PILOTHOUSE_HOME")
    return {"PILOTHOUSE_HOME": os.path.abspath(os.path.expanduser(home))} if home else {}


def _place(one: Client, project: bool) -> Path:
    if project and not one.project:
        raise click.UsageError(f"{one.title} knows no servers of a project")
    return Path(os.path.realpath(one.project if project else one.path()))  # a link stays a link


def _read(path: Path) -> str | None:
    """The text with its own line ends; None when there is no file."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text") from None


def _undone(one: Client, path: Path, before: str | None) -> str | None:
    """The file as it was, if only our entry changed since; else the file without our entry. None: no file."""
    if before is None or (entry := one.get(before)) is None:
        return before
    kept = _read(_backup(path))
    if kept is not None and one.put(kept, entry) == before:
        return kept
    old = one.get(kept) if kept is not None else None
    after = one.put(before, old) if old is not None else one.drop(before)
    return None if kept is None and one.is_empty(after) else after


def _change(
    one: Client, path: Path, before: str | None, after: str | None, *, undo: bool, yes: bool, project: bool
) -> int:
    if before == after:
        click.echo(f"{path}: nothing to {'take out' if undo else 'change'}")
        return 0
    click.echo(_difference(one, path, before, after), nl=False)
    if not yes and not _confirmed(path):
        click.echo("nothing was changed; --yes does not ask")
        return 1
    if undo:
        _write(path, after)
        _backup(path).unlink(missing_ok=True)
        click.echo(f"{one.title} no longer starts Pilothouse; restart it")
        return 0
    if before is not None and not _backup(path).exists():
        shutil.copy2(path, _backup(path))
    _write(path, after)
    kept = f"; the file as it was: {_backup(path)}" if before is not None else ""
    click.echo(f"{one.title} starts Pilothouse from now on; restart it{kept}")
    click.echo(f"`pilothouse install {one.name}{' --project' if project else ''} --undo` takes it back")
    return 0


def _confirmed(path: Path) -> bool:
    try:
        return click.confirm(f"Change {path}?")
    except click.Abort:  # nobody is there to answer
        return False


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _difference(one: Client, path: Path, before: str | None, after: str | None) -> str:
    """What others keep in the file is none of the screen's business, nor of who reads its log."""
    old, new = (one.veiled(text or "").splitlines(keepends=True) for text in (before, after))
    diff = difflib.unified_diff(old, new, f"{path} (now)", f"{path} (then)")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in diff)


def _write(path: Path, text: str | None) -> None:
    """Others see the old file or the new one; mode and owner's rights stay. None: there is to be no file."""
    if text is None:
        path.unlink(missing_ok=True)
        if path.parent.name.startswith("."):  # the client's own folder; rmdir takes away an empty one only
            with contextlib.suppress(OSError):
                path.parent.rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, text.encode("utf-8"), mode=path.stat().st_mode & 0o7777 if path.exists() else PRIVATE)
