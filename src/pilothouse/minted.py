"""Names that nobody can guess and that nothing masks: lower-case letters only, for every shape of a secret has a digit,
a capital or a sign in it.

Above: the sessions' and the tabs' handles. Below: nothing.
"""

import secrets
import string

LETTERS = 28  # of 26 kinds each: more than 128 bits


def minted() -> str:
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(LETTERS))


def lettered(raw: bytes) -> str:
    """The same for the same bytes, of which nobody can guess as many."""
    number, letters = int.from_bytes(raw, "big"), string.ascii_lowercase
    return "".join(letters[number // 26**place % 26] for place in range(LETTERS))
