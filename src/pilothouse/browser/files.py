"""Files that a session makes or takes: only in its own folder, only under a plain name, never over another.

Above: tools, capture, downloads. Below: the file system.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from pilothouse.errors import Failure
from pilothouse.result import clean

# What a file system or a shell on any platform would read as more than a name.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)  # Windows' devices
_DOTS = re.compile(r"\.{2,}")
MAX_STEM_BYTES = 150
MAX_ENDING_BYTES = 30
MOST_ALIKE = 1000
RECOUNT_S = 5.0


class Folder:
    """The files of one session and the bytes they may take together, whoever writes them.

    They are counted as they come. When that says full the disk is asked, now and then: a file may have been taken away.
    """

    def __init__(self, path: Path, quota_bytes: int) -> None:
        self.path = path
        self.quota_bytes = quota_bytes
        self._bytes = 0
        self._recounted_at = -RECOUNT_S
        self._counting = threading.Lock()  # files are written in threads

    def keep(self, name: str, data: bytes, within: str = "") -> Path:
        """Write a new file, in a folder of its own if one is named, and answer its path."""
        self.take(len(data))
        try:
            return keep(self.path / within, name, data)
        except BaseException:
            self.give_back(len(data))
            raise

    def take(self, size: int) -> None:
        """Count bytes that are about to be written; `over_limit` if they do not fit."""
        with self._counting:
            if not self._fits(size):
                raise self._full(size)
            self._bytes += size

    def give_back(self, size: int) -> None:
        with self._counting:
            self._bytes = max(self._bytes - size, 0)

    def add(self, size: int) -> None:
        """Count what has come already."""
        with self._counting:
            self._bytes += size

    def has_room(self, size: int, coming: Container[str] = ()) -> bool:
        """Whether so many bytes of files that are still `coming`, under these names, fit in."""
        with self._counting:
            return self._fits(size, coming)

    def _fits(self, size: int, coming: Container[str] = ()) -> bool:
        if self._bytes + size <= self.quota_bytes:
            return True
        if time.monotonic() - self._recounted_at < RECOUNT_S:
            return False
        self._bytes = _bytes_in(self.path, coming)
        self._recounted_at = time.monotonic()
        return self._bytes + size <= self.quota_bytes

    def _full(self, size: int) -> Failure:
        return Failure(
            "over_limit",
            f"{size} bytes more do not fit: files of a session end at {self.quota_bytes} bytes",
            suggestions=[f"move files out of {self.path}", "ask for less", "or a person raises files.quota_mb"],
            retryable=False,
        )


def _bytes_in(folder: Path, but: Container[str]) -> int:
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # it just went
                found += os.lstat(os.path.join(place, name)).st_size if name.partition(".")[0] not in but else 0
    return found


def keep(folder: Path, name: str, data: bytes) -> Path:
    """Write a new file into the session's folder and answer its path."""
    path, file = create(folder, name)
    try:
        with file:
            file.write(data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def create(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """A new file in the session's folder, open for writing."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in _free(folder, plain(name)):
        with contextlib.suppress(FileExistsError):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
            return path, os.fdopen(handle, "wb")
    raise _too_many(name)


def name_again(file: Path, name: str) -> Path:
    """Give a file of the session's folder the name it is wanted under, or the next free one; never a hidden one."""
    for path in _free(file.parent, visible(name)):
        with contextlib.suppress(FileExistsError):
            _move(file, path)
            return path
    raise _too_many(name)


def _move(file: Path, to: Path) -> None:
    """Never over another file: a link fails where a rename would replace."""
    try:
        os.link(file, to)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if to.exists():
            raise FileExistsError(to) from None
        file.rename(to)
        return
    file.unlink()


def _free(folder: Path, name: str) -> Iterator[Path]:
    """The name, then name-2, name-3 …"""
    stem, dot, ending = name.rpartition(".")
    for number in range(1, MOST_ALIKE):
        tail = f"-{number}" if number > 1 else ""
        yield folder / (f"{stem}{tail}{dot}{ending}" if dot else f"{ending}{tail}")


def _too_many(name: str) -> Failure:
    return Failure("over_limit", f"there are too many files called {plain(name)[:60]}")


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
    folder = os.path.dirname(os.path.abspath(os.path.expanduser(path))) if "\0" not in path else "/directory"
    return Failure(
        "denied",
        f"{path} is not under a directory that files may be uploaded from",
        suggestions=[
            f"a person can allow its directory in config.toml, under [files]: roots = [{_quoted(folder)}]",
            "or give the bytes in `files`",
        ],
    )


def _quoted(text: str) -> str:
    """As TOML writes it."""
    return msgspec.json.encode(clean(text)[:500]).decode()


def plain(name: str) -> str:
    """The last part of a name, without what nobody can see, of bounded length, with nothing that leads elsewhere."""
    last = re.split(r"[/\\]", clean(name))[-1]
    base = _UNSAFE.sub("_", " ".join(last.split())).rstrip(" .")
    if not base.strip("._- "):
        return "file"
    stem, dot, ending = base.rpartition(".")
    if not dot or len(ending.encode()) > MAX_ENDING_BYTES:  # a sentence with a dot in it has no ending
        stem, dot, ending = base, "", ""
    short = f"{_cut(stem, MAX_STEM_BYTES)}{dot}{ending}"
    return f"_{short}" if _RESERVED.fullmatch(short) else short


def visible(name: str) -> str:
    """A plain name that no file system hides, and that does not even look like a path."""
    return plain(_DOTS.sub(".", plain(name)).lstrip(". "))


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode("utf-8", "ignore").rstrip(" .")
