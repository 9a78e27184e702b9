"""Where everything of one user lives: config, keys, logs, session files, and the daemon's address.

Above: everyone, the stdio bridge among them. Below: `os` and `sys` only, and paths are strings, because the bridge
must answer within milliseconds: `pathlib` costs 12 ms at import here and `platformdirs` 24 ms, so its rule is
written out below (a test compares the two).
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` itself costs milliseconds; type checkers know this name
if TYPE_CHECKING:
    from pathlib import Path

_POSIX = sys.platform != "win32"
# 108 bytes on Linux and 104 on macOS, the closing NUL included; a little less leaves room for a suffix.
_SOCKET_MAX_BYTES = 100
# What marks a directory as ours, so that tightening its mode surprises nobody.
_OURS = {"config.toml", "policy.toml", "agent.key", "person.key", "daemon.json", "audit.jsonl", "profiles", "sessions"}


def directory() -> str:
    """The home as a string, made with mode 0700."""
    path = os.path.abspath(os.path.expanduser(os.environ.get("PILOTHOUSE_HOME") or _default()))
    os.makedirs(path, mode=0o700, exist_ok=True)
    if _POSIX:
        _make_private(path)
    return path


def home() -> Path:
    """The home as a `Path`, for everyone who has imported pathlib anyway."""
    from pathlib import Path

    return Path(directory())


def daemon_file(home: str | os.PathLike[str]) -> str:
    """Where a running daemon writes its url, port, pid and socket."""
    return os.path.join(home, "daemon.json")


def socket_path(home: str | os.PathLike[str]) -> str:
    """Where the daemon listens for bridges. A home too long for a unix socket gets a private directory in /tmp.

    Not in `$TMPDIR`: the daemon and a bridge started by a desktop program may see different ones.
    """
    near = os.path.join(os.path.abspath(home), "daemon.sock")
    if not _POSIX or len(os.fsencode(near)) <= _SOCKET_MAX_BYTES:
        return near
    import hashlib

    digest = hashlib.sha256(os.fsencode(os.path.abspath(home))).hexdigest()[:16]
    private = f"/tmp/pilothouse-{os.getuid()}-{digest}"
    _make_own(private)
    return f"{private}/daemon.sock"


def _default() -> str:
    """`platformdirs.user_state_dir("pilothouse", appauthor=False)`."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME", "").strip() or "~/.local/state"
    return os.path.join(base, "pilothouse")


def _make_private(path: str) -> None:
    """Take group and others off a directory that is plainly ours; refuse anything else that they can enter."""
    status = os.stat(path)
    if status.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user; point PILOTHOUSE_HOME at a directory of your own")
    if not status.st_mode & 0o077:
        return
    names = set(os.listdir(path))
    if names and not names & _OURS:
        raise PermissionError(
            f"{path} is open to other users and holds other things; "
            f"run `chmod 700 {path}` or choose another PILOTHOUSE_HOME"
        )
    os.chmod(path, 0o700)


def _make_own(path: str) -> None:
    """Anyone can make names in /tmp, so what is found there must be a real directory, ours, and closed to others."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        status = os.lstat(path)
        if status.st_mode & 0o170077 != 0o040000 or status.st_uid != os.getuid():
            raise PermissionError(f"{path} is not a private directory of this user; remove it") from None
