"""Numbers that are somebody's: cards (Luhn), bank accounts (IBAN, mod 97), telephones. Found, then checked.

Above: shapes. Below: config. The patterns run on RE2 and take whole runs of digits; what is inside is judged here.
"""

import re

from pilothouse.options import HIDDEN

# Where a word begins; in a text that is escaped for a URL or for JSON, right after an escape too.
AFTER = r"(?:\b|%[0-9A-Fa-f]{2}|\\(?:[nrtbf]|u[0-9A-Fa-f]{4}))"
# What stands between the groups of a card's number, as people and forms write it.
_BETWEEN = "(?:[ \\-+\u00a0\u202f]|%20)?"
# Without groups: counted repeats with groups are what RE2 is slow at (M: 1.4 ms a run with, 20 µs without).
CARD_RUN = rf"{AFTER}(?:4[0-9]|5[0-9]|3[04-9]|6[0-9]|2[2-7])[0-9](?:{_BETWEEN}[0-9]){{10,}}\b"
IBAN_RUN = r"(?i)\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
PHONE_RUN = (
    r"(?:\+[1-9](?:[ ()./\-]{0,3}[0-9]){6,14}|\b0[1-9][0-9]{0,4}\)?[ /\-](?:[ /\-]?[0-9]){5,10}|"
    r"\b[2-9][0-9]{2}\)?[ .\-][0-9]{3}[ .\-][0-9]{4})\b"
)
_GROUPS = re.compile(r"[0-9]+")
_ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
_NOT_DIGITS = re.compile(r"[^0-9]")
_MOST_GROUPS = 7
_DOUBLED = str.maketrans("0123456789", "0246813579")
# Who issues cards under which first digits, and how long these are. Visa's of 13 digits are no longer issued, and too
# many articles have numbers of that kind.
_ISSUERS = [
    (re.compile("4"), {16, 19}),
    (re.compile("5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), {16}),
    (re.compile("3[47]"), {15}),
    (re.compile("30[0-5]|3095|36|3[89]"), {14}),
    (re.compile("352[89]|35[3-8]"), {16}),
    (re.compile("60|64[4-9]|65|62"), {16, 17, 18, 19}),
    (re.compile("50|5[6-9]|6[37]"), {16, 18, 19}),
]
_IBAN_LENGTHS = range(15, 35)


def is_fraction(text: str, start: int) -> bool:
    """The digits after a decimal point are nobody's."""
    return text[max(start - 1, 0) : start] == "." and text[max(start - 2, 0) : start - 1].isdigit()


def mask_cards(run: str) -> str:
    """A run of digit groups with every card in it masked; several may stand side by side."""
    groups = list(_GROUPS.finditer(_ESCAPED.sub("   ", run)))
    made, at, index = "", 0, 0
    while index < len(groups):
        last = _card_from(groups, index)
        if last < 0:
            index += 1
            continue
        made += run[at : groups[index].start()] + HIDDEN
        at, index = groups[last].end(), last + 1
    return made + run[at:]


def _card_from(groups: list[re.Match[str]], first: int) -> int:
    """The last group of the card that begins with this one; -1 if none does."""
    digits = ""
    if groups[first][0][0] not in "23456":
        return -1
    for index in range(first, min(first + _MOST_GROUPS, len(groups))):
        digits += groups[index][0]
        if len(digits) > 19:
            return -1
        if is_card(digits):
            return index
    return -1


def is_card(digits: str) -> bool:
    if len(digits) < 14:
        return False
    fits = any(len(digits) in lengths and issuer.match(digits) for issuer, lengths in _ISSUERS)
    return fits and luhn(digits)


def luhn(digits: str) -> bool:
    total = sum(map(int, digits[-1::-2])) + sum(map(int, digits[-2::-2].translate(_DOUBLED)))
    return total % 10 == 0 and len(set(digits)) > 1


def mask_iban(run: str) -> str:
    """The words that follow an account's number look like its last groups: they are left off one by one."""
    words = run.split(" ")
    for count in range(len(words), 0, -1):
        if is_iban("".join(words[:count])):
            return " ".join(["[iban]", *words[count:]])
    return run


def is_iban(plain: str) -> bool:
    if len(plain) not in _IBAN_LENGTHS:
        return False
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(one, 36)) for one in turned)) % 97 == 1


def is_phone(text: str) -> bool:
    return 8 <= len(_NOT_DIGITS.sub("", text)) <= 15
