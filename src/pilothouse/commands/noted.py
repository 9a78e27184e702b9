"""What a person changes in the home while no daemon runs is in the audit log too.

Above: key, cocoon. Below: instance (nobody else writes that log meanwhile), guard.audit. A daemon that runs tells its
log itself what it sees.
"""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from pilothouse.guard.audit import Audit
from pilothouse.home import directory
from pilothouse.instance import Claim, StartError


@contextlib.contextmanager
def noted(kind: str, **what: Any) -> Generator[None]:
    """What is done inside; a refusal is not noted."""
    home = directory()
    try:
        claim = Claim(home)
    except StartError:
        yield
        return
    with claim, contextlib.closing(Audit(Path(home), retention_days=0)) as log:
        yield
        log.note(kind, **what)
