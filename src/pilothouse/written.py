"""Files that others only ever see whole, and that no other user can read: written beside, synced, put in place.

Above: everyone who keeps something in a file. Below: the standard library only, paths may be strings: the daemon's
address and the list of tools are written by it too. What goes wrong is an `OSError`; callers know the words for it.
"""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import BinaryIO

    Place = str | os.PathLike[str]

PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def replace(path: Place, data: bytes, *, mode: int = PRIVATE, still: Callable[[], bool] | None = None) -> bool:
    """Put a file in place of whatever is there; a link is replaced, not followed. Lasts when the machine stops.

    `still` is asked at the last moment whether that is still wanted; if not, nothing changes, and False says so.
    """
    with _draft(path) as draft:
        _write(draft, data, mode)
        if still is not None and not still():
            return False
        os.replace(draft, path)
    _sync_folder(path)
    return True


def create(path: Place, data: bytes, *, mode: int = PRIVATE) -> bool:
    """Put a file where none is; False if there is one, which stays as it is. Of many who try at once, one succeeds."""
    with _draft(path) as draft:
        _write(draft, data, mode)
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    _sync_folder(path)
    return True


@contextlib.contextmanager
def writing(path: Place, *, over: bool = False) -> Generator[BinaryIO]:
    """A private file for much data: it takes its place when the block has ended well.

    One that is there already is kept (`FileExistsError`), unless it may be written `over`.
    """
    with _draft(path) as draft:
        with _opened(draft, PRIVATE) as file:
            yield file
        if over:
            os.replace(draft, path)
        else:
            os.link(draft, path)
    _sync_folder(path)


def publish(path: Place, data: bytes) -> None:
    """As `replace`, for what is made anew at each start: whole, but it need not outlast the machine."""
    with _draft(path) as draft:
        _write(draft, data, PRIVATE, lasting=False)
        os.replace(draft, path)


@contextlib.contextmanager
def _draft(path: Place) -> Generator[str]:
    """A name beside the place, and no file of that name afterwards."""
    folder, name = os.path.split(os.path.abspath(path))
    draft = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}")
    try:
        yield draft
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has its place, or never was
            os.unlink(draft)


def _write(draft: str, data: bytes, mode: int, *, lasting: bool = True) -> None:
    with _opened(draft, mode, lasting=lasting) as file:
        file.write(data)


@contextlib.contextmanager
def _opened(draft: str, mode: int, *, lasting: bool = True) -> Generator[BinaryIO]:
    with open(os.open(draft, _NEW, PRIVATE), "wb") as file:
        if mode != PRIVATE:
            os.chmod(draft, mode)
        yield file
        file.flush()
        if lasting:
            os.fsync(file.fileno())


def _sync_folder(path: Place) -> None:
    if sys.platform == "win32":
        return  # directories cannot be opened there
    descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
