"""Files that a session makes or takes: only in its own folder, only under a plain name, never over another.

Above: tools, capture. Below: the file system.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from pilothouse.errors import Failure

# What a file system or a shell on any platform would read as more than a name.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
MAX_NAME = 150


def keep(folder: Path, name: str, data: bytes) -> Path:
    """Write a new file into the session's folder and answer its path."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stem, dot, ending = _plain(name).rpartition(".")
    for number in range(1, 1000):
        tail = f"-{number}" if number > 1 else ""
        path = folder / (f"{stem}{tail}{dot}{ending}" if dot else f"{ending}{tail}")
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return path
    raise Failure("over_limit", f"there are too many files called {name[:60]}")


def allowed(path: str, roots: Iterable[Path], private: Iterable[Path] = ()) -> Path:
    """A file that may be uploaded: it really lies under one of the roots a person declared."""
    try:
        real = Path(path).expanduser().resolve()
        inside = _under(real, roots) and not _under(real, private)
    except (ValueError, OSError, RuntimeError):  # no path at all: a NUL, a loop of links, an unknown user
        raise _not_allowed(path) from None
    if not inside:
        raise _not_allowed(path)
    if not real.is_file():
        raise Failure("not_found", f"there is no file {path}")
    return real


def _under(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder.expanduser().resolve()) for folder in folders)


def _not_allowed(path: str) -> Failure:
    return Failure(
        "denied",
        f"{path} is not under a directory that files may be uploaded from",
        suggestions=["a person can add its directory to files.roots in config.toml", "or give the bytes in `files`"],
    )


def _plain(name: str) -> str:
    """The last part of a name, with nothing in it that leads elsewhere."""
    base = _UNSAFE.sub("_", re.split(r"[/\\]", name)[-1]).rstrip(" .")
    stem, dot, ending = base.rpartition(".")
    return f"{stem[:MAX_NAME]}{dot}{ending[:MAX_NAME]}" if base.strip("._ ") else "file"
