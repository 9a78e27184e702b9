"""Patterns that take time in proportion to the text, whatever the text: RE2, behind the face of `re`.

Above: redact, known. Below: google-re2.
"""

from re import Pattern
from typing import cast

import re2  # pyright: ignore[reportMissingTypeStubs]

_MAX_MEM = 64 << 20  # where states of many patterns do not fit, RE2 falls back to a slow engine


def compiled(pattern: str, *, groups: bool = True) -> Pattern[str]:
    """Without `groups` it only says whether and where: RE2's fastest engine."""
    options = re2.Options()
    options.log_errors = False  # RE2 writes to stderr otherwise
    options.max_mem = _MAX_MEM
    options.never_capture = not groups
    return cast(Pattern[str], re2.compile(pattern, options))  # pyright: ignore[reportUnknownMemberType]
