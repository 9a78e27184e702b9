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

    Place = str | os.PathLike[str]

PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def replace(path: Place, data: bytes, *, mode: int = PRIVATE, still: Callable[[], bool] | None = None) -> bool:
    """Put a file in place of whatever is there; a link is replaced, not followed. Lasts when the machine stops.

    `still` is asked at the last moment whether that is still wanted; if not, nothing changes, and False says so.
    """
    with _draft(path, data, mode) as draft:
        if still is not None and not still():
            return False
        os.replace(draft, path)
    _sync_folder(path)
    return True


def create(path: Place, data: bytes, *, mode: int = PRIVATE) -> bool:
    """Put a file where none is; False if there is one, which stays as it is. Of many who try at once, one succeeds."""
    with _draft(path, data, mode) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    _sync_folder(path)
    return True


def publish(path: Place, data: bytes) -> None:
    """As `replace`, for what is made anew at each start: whole, but it need not outlast the machine."""
    with _draft(path, data, PRIVATE, lasting=False) as draft:
        os.replace(draft, path)


@contextlib.contextmanager
def _draft(path: Place, data: bytes, mode: int, *, lasting: bool = True) -> Generator[str]:
    folder, name = os.path.split(os.path.abspath(path))
    draft = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}")
    try:
        with open(os.open(draft, _NEW, PRIVATE), "wb") as file:
            if mode != PRIVATE:
                os.chmod(draft, mode)
            file.write(data)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        yield draft
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has its place
            os.unlink(draft)


def _sync_folder(path: Place) -> None:
    if sys.platform == "win32":
        return  # directories cannot be opened there
    descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
