"""What a person changes in the home while no daemon runs is in the audit log too.

Above: key, cocoon. Below: instance (nobody else writes that log meanwhile), guard.audit.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from pilothouse.errors import Failure
from pilothouse.guard.audit import Audit
from pilothouse.home import directory
from pilothouse.instance import SETTLE_TIMEOUT_S, Claim, StartError, published


@contextlib.contextmanager
def noted(kind: str, **what: Any) -> Generator[None]:
    """What is done inside, to files that a daemon looks at: one that runs tells its log itself what it sees. A refusal
    is not noted."""
    home = directory()
    try:
        claim = Claim(home)
    except StartError:
        yield
        return
    with claim, _log(home) as log:
        yield
        log.note(kind, **what)


def decreed(change: Callable[[], None], kind: str, **what: Any) -> None:
    """A change that a daemon would record before it made it: what cannot be recorded is not changed."""
    home = directory()
    with _claimed(home), _log(home) as log:
        asyncio.run(log.decree(kind, **what))
        change()


def busy() -> Failure:
    hint = "try again in a moment"
    return Failure("system", "a daemon is starting or ending: nothing was done", retryable=True, suggestions=[hint])


def _claimed(home: str) -> Claim:
    """Another command may write at the same time; a daemon that has come does not go away again."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while True:
        try:
            return Claim(home)
        except StartError:
            if published(home) or time.monotonic() > deadline:
                raise busy() from None


def _log(home: str) -> contextlib.closing[Audit]:
    return contextlib.closing(Audit(Path(home), retention_days=0))
