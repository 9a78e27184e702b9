"""Names that nobody can guess and that nothing masks: lower-case letters only, for every shape of a secret has a digit,
a capital or a sign in it.

Above: the sessions' and the tabs' handles. Below: nothing.
"""

import secrets
import string

LETTERS = 28  # of 26 kinds each: more than 128 bits


def minted() -> str:
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(LETTERS))
