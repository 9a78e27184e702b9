"""Who uses a user data directory: Chrome marks it with a link named SingletonLock, which says `host-pid`.

Above: launch. Below: nothing. A second Chrome on the same directory would hand its work to the first one, a person's
perhaps, and end; so it is asked before one is started.
"""

import contextlib
import os
import socket
from pathlib import Path


def user_of(data_dir: Path) -> str:
    """The living process that works in this directory, in words; empty when there is none."""
    try:
        host, _, pid = os.readlink(data_dir / "SingletonLock").rpartition("-")
    except OSError:
        return ""
    if host != socket.gethostname():
        return f"a browser on the machine {host[:80]!r}"
    if not pid.isdigit() or not is_alive(int(pid)) or not _answers(data_dir / "SingletonSocket"):
        return ""  # left behind by one that was killed; Chrome takes it over
    by = _parent(int(pid))
    return f"pid {pid} ({_name(int(pid))}{f', started by {by}' if by else ''})"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _answers(path: Path) -> bool:
    """A number may be another process's by now; only the browser listens here."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(1)
        try:
            link.connect(os.path.realpath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True  # there is something, and it is busy
    return True


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "a browser"


def _parent(pid: int) -> str:
    """Who started it, if it is another Pilothouse."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if b"pilothouse" in Path(f"/proc/{parent}/cmdline").read_bytes():
            return f"another Pilothouse, pid {parent}"
    return ""
