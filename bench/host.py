"""What the machine's host gave to others while the rows ran: on a shared one, times are longer by as much.

Ratios bear it, because everybody's samples are taken in turn; bars in milliseconds do not.
"""

from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/stat")


class Cpu(NamedTuple):
    """Ticks since the machine began: wanted by somebody here, and not given."""

    wanted: int
    stolen: int


def cpu() -> Cpu | None:
    if not _STAT.exists():
        return None
    user, nice, system, _idle, _waiting, hard, soft, stolen = map(int, _STAT.read_text().split()[1:9])
    return Cpu(user + nice + system + hard + soft + stolen, stolen)


def stolen_since(began: Cpu | None) -> float | None:
    """In percent of what was wanted; None where no system tells."""
    now = cpu()
    if began is None or now is None or now.wanted == began.wanted:
        return None
    return 100 * (now.stolen - began.stolen) / (now.wanted - began.wanted)
