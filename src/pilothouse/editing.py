"""A file of a person's, changed by us: one writer at a time, all or nothing, and never over what somebody just saved.

Above: profiles, cocoons. Below: written, errors.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

from pilothouse.errors import Failure
from pilothouse.written import PRIVATE, replace

LOCK_WAIT_S = 5.0
TRIES = 5  # a person may save the file while we write
T = TypeVar("T")


def read_text(file: Path) -> str:
    """What it says; a file that is not there says nothing."""
    try:
        return file.read_bytes().decode("utf-8")  # line ends as they are
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failure("bad_request", f"{file}: {error}") from None


def edited(file: Path, edit: Callable[[str], tuple[str, T]]) -> T:
    """`edit` gives the new text and what to answer, or refuses by raising; it is asked again if the file changed."""
    try:
        with _alone(file):
            for _ in range(TRIES):
                stamp, text = _stamp(file), read_text(file)
                new, answer = edit(text.replace("\r\n", "\n"))
                new = new.replace("\n", "\r\n") if "\r\n" in text else new
                if _stamp(file) == stamp and _replace(file, new, stamp):
                    return answer
    except OSError as error:
        raise Failure("system", f"{file} cannot be written: {error.strerror or error}") from None
    raise Failure("system", f"{file} is being written by somebody else", retryable=True)


@contextlib.contextmanager
def _alone(file: Path) -> Generator[None]:
    """One writer at a time, over all processes; the lock lies beside the file, for the file itself is replaced."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + LOCK_WAIT_S
    try:
        while not _locked(lock):
            if time.monotonic() > deadline:
                raise Failure("system", f"{file} is being written by another process", retryable=True)
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


def _locked(file: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        lock = lambda: msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        lock = lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        lock()
    except OSError:
        return False
    return True


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _replace(file: Path, text: str, stamp: tuple[int, int, int] | None) -> bool:
    """All or nothing, also when the machine stops; False when the file was changed in the meantime."""
    real = Path(os.path.realpath(file))  # a link to a file kept elsewhere stays one
    mode = real.stat().st_mode & 0o777 if stamp else PRIVATE
    return replace(real, text.encode("utf-8"), mode=mode, still=lambda: _stamp(file) == stamp)
