"""Files that a session makes or takes: only in its own folder, only under a plain name, never over another.

Above: tools, capture. Below: the file system.
"""

import os
import re
from pathlib import Path

from pilothouse.errors import Failure

_UNSAFE = re.compile(r"[^\w.-]+")


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


def allowed(path: str, roots: list[Path]) -> Path:
    """A file that may be uploaded: it really lies under one of the roots a person declared."""
    real = Path(path).expanduser().resolve()
    for root in roots:
        if real.is_relative_to(root.expanduser().resolve()):
            if not real.is_file():
                raise Failure("not_found", f"there is no file {path}")
            return real
    raise Failure(
        "denied",
        f"{path} is not under a directory that files may be uploaded from",
        suggestions=["a person can add its directory to files.roots in config.toml", "or give the bytes in `files`"],
    )


def _plain(name: str) -> str:
    return _UNSAFE.sub("_", os.path.basename(name)).strip("._") or "file"
