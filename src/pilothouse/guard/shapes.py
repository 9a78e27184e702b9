"""What a secret looks like: keys by their shape, addresses, headers and bodies by the name a value stands under.

Above: redact puts these lists together. Below: numbers. Every pattern runs on RE2. What it finds is masked if `really`
says so; of a pattern with groups only group 2. Groups cost RE2 its fastest engine, so most shapes have none.
"""

from collections.abc import Callable
from typing import NamedTuple

from pilothouse.guard import numbers
from pilothouse.options import HIDDEN

MASK = HIDDEN


class Rule(NamedTuple):
    pattern: str
    really: Callable[[str], bool] | None = None
    mask: str = MASK
    within: Callable[[str], str] | None = None  # masks parts of the value instead of all of it
    number: bool = False  # digits of its own, not those after a decimal point


HEADERS = frozenset({
    "authorization", "proxy-authorization", "cookie", "set-cookie", "cookie2", "set-cookie2", "x-api-key", "api-key",
    "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key",
    "x-vault-token", "x-gitlab-token", "private-token", "x-session-token", "www-authenticate", "proxy-authenticate",
    "sec-websocket-protocol", "sec-websocket-key", "authentication-info", "x-forwarded-client-cert", "x-functions-key",
})  # fmt: skip
_HEADER = rf"(?:{'|'.join(sorted(HEADERS))}|[a-z0-9\-]{{1,40}}-(?:token|secret|api-?key))"

# Whole names, in any notation: apiKey, api_key, API-KEY, new_password2, user[password]. Not `secretary`, not
# `max_tokens`.
_PREFIX = r"(?:[a-z0-9_.\-\[\]]|%5b|%5d)*"
_SUFFIX = r"(?:s|[_\-]?(?:key|value|hash|[0-9]{1,2}))?(?:\]|%5d)?"
SECRET_NAME = (
    rf"{_PREFIX}(?:passw(?:or)?d|passphrase|passcode|passwort|kennwort)[a-z0-9_.\-]{{0,16}}(?:\]|%5d)?|"
    rf"{_PREFIX}(?:secret|credential|(?:api|access|private|encryption|signing)[_\-]?key|"
    r"(?:auth|access|refresh|id|session|csrf|xsrf|bearer|security|oauth)[_\-]?token|"
    r"sess(?:ion)?[_\-]?id|csrfmiddlewaretoken|card[_\-]?(?:number|no)|cc[_\-]?num(?:ber)?|pin[_\-]?code|cvv2?|cvc2?|"
    rf"security[_\-]?code|one[_\-]?time[_\-]?(?:code|password)){_SUFFIX}|"
    r"(?:x[_\-])?token|jwt|otp|totp|pwd|pass|user[_\-]?pass|sid|connect\.sid|authorization|cookie"
)
# Names that mean a secret in a query only when the value is long: `code=DE` is a country.
_WEAK_NAME = (
    r"code|key|sig|signature|auth|state|nonce|ticket|assertion|hmac|session|samlresponse|samlrequest|"
    r"x-amz-signature|x-amz-credential|x-goog-signature|x-goog-credential"
)


def _has_digit(value: str) -> bool:
    """A word like `sk-folding-cube-wrapper` is the name of a style; a key of that length has a digit."""
    return any(one.isdigit() for one in value)


def _is_no_word(value: str) -> bool:
    """`token: expired` is said in words; what has a digit in it, or is longer than words are, is the thing itself."""
    return len(value) >= 20 or _has_digit(value)


def _is_no_sign(value: str) -> bool:
    """`Unexpected token: '}'` is about a sign."""
    return len(value) > 2


# What is a secret wherever it stands, in the middle of a page's text too.
KEYS: list[Rule] = [
    Rule(
        rf"(?:{numbers.AFTER}|_)(?:"
        r"gh[pousr]_[A-Za-z0-9_\-]{16,}|github_pat_[A-Za-z0-9_\-]{16,}|gl(?:pat|ptt|dt|rt|soat|sa)[_\-][A-Za-z0-9_\-]{16,}|"
        r"npm_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|pypi-[A-Za-z0-9_\-]{16,}|do[opr]_v1_[A-Za-z0-9]{16,}|"
        r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}|lin_api_[A-Za-z0-9]{16,}|ntn_[A-Za-z0-9]{16,}|sbp_[a-f0-9]{16,}|"
        r"sntry[su]_[A-Za-z0-9_+/=\-]{16,}|ph[xc]_[A-Za-z0-9]{16,}|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}|"
        r"dapi[0-9a-f]{32}|ATATT3[A-Za-z0-9_=\-]{16,}|sq0(?:atp|csp)-[A-Za-z0-9_\-]{16,}|GOCSPX-[A-Za-z0-9_\-]{16,}|"
        r"(?:AKIA|ASIA)[0-9A-Z]{16}|xox[a-z]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}|"
        r"AIza[0-9A-Za-z_\-]{30,}|ya29\.[0-9A-Za-z_\-]{16,}|hv[sbr]\.[A-Za-z0-9_\-]{16,}|dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9]{16,}|"
        r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}|AGE-SECRET-KEY-1[0-9A-Z]{16,}|"
        r"eyJ[A-Za-z0-9_\-]{6,}\.(?:[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_.\-]*|eyJ[A-Za-z0-9_\-]{6,}))"  # also cut off
    ),
    Rule(
        rf"{numbers.AFTER}(?:sk|rk|pk|whsec|key|secret)[_\-](?:live_|test_|proj-|ant-)?[A-Za-z0-9_\-]{{16,}}",
        _has_digit,
    ),
    Rule(r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}"),  # a Telegram bot
    Rule(r"(\bhooks\.slack\.com/(?:services|workflows)/)([A-Za-z0-9/_\-]{20,})"),
    Rule(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----)?"),
]

CARDS: list[Rule] = [Rule(numbers.CARD_RUN, within=numbers.mask_cards, number=True)]

# Addresses, wherever they stand.
ADDRESSES: list[Rule] = [
    Rule(r"(?i)(\b[a-z][a-z0-9+.\-]{1,20}://[^\s/?#@:\"'<>]*:)([^\s/?#@\"'<>]+)(@)"),
    Rule(r"(?i)(\b[a-z][a-z0-9+.\-]{1,20}://)([^\s/?#@:\"'<>]{16,})(@)"),
    Rule(rf"(?i)([?&#](?:amp;)?(?:{SECRET_NAME})=)([^&#;\s\"'<>]+)"),
    Rule(rf"(?i)([?&#](?:amp;)?(?:{_WEAK_NAME})=)([^&#;\s\"'<>]{{16,}})"),
]

# Headers, bodies, what programs print.
NAMED: list[Rule] = [
    Rule(r"(?i)(\bbearer\s+)([A-Za-z0-9_\-.~+/=]{20,})"),
    Rule(r"(?i)(\bbasic\s+)([A-Za-z0-9+/]{6,}={1,2})"),
    Rule(rf"(?im)(^\s*(?:[<>*]\s+)?{_HEADER}\s*:[ \t]*)([^\s][^\r\n]*)"),
    Rule(rf"(?i)([\"']{_HEADER}\s*:[ \t]*)([^\s\"'][^\"'\r\n]*)"),  # curl -H 'Cookie: …'
    Rule(rf"(?im)((?:^|[;\s\"'{{,(]|\\[nrt])(?:{SECRET_NAME})=)([^&#;\s\"'<>]+)"),
    Rule(rf"(?im)(^(?:{_WEAK_NAME})=)([^&#;\s\"'<>]{{16,}})"),
    Rule(rf"(?i)([\"'](?:{SECRET_NAME})[\"']\s*:\s*\")((?:[^\"\\]|\\.)+)"),
    Rule(rf"(?i)([\"'](?:{SECRET_NAME})[\"']\s*:\s*')((?:[^'\\]|\\.)+)"),
    Rule(rf"(?i)(\b(?:{SECRET_NAME})\s*[:=]\s*\")((?:[^\"\\]|\\.)+)", _is_no_sign),
    Rule(rf"(?i)(\b(?:{SECRET_NAME})\s*[:=]\s*')((?:[^'\\]|\\.)+)", _is_no_sign),
    Rule(rf"(?i)([\"'](?:{SECRET_NAME})[\"']\s*:\s*)([0-9][0-9.]{{2,}})", mask=f'"{MASK}"'),
    Rule(rf"(?i)(\\+\"(?:{SECRET_NAME})\\+\"\s*:\s*\\+\")((?:[^\"\\]|\\\\\\?.)+)"),  # JSON inside JSON
    Rule(rf"(?i)(\b(?:{SECRET_NAME}):\s+)([^\s\"'<>,;)\]}}\[]{{4,}})", _is_no_word),
    Rule(rf"(?i)(\bname=\"?(?:{SECRET_NAME})\"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n){{0,4}}\r?\n)([^\r\n]+)"),  # multipart
    Rule(rf"(?i)(\bname=\\+\"(?:{SECRET_NAME})\\+\"(?:\\+r)?\\+n(?:\\+r)?\\+n)([^\\\"]+)"),  # the same inside JSON
    Rule(rf"(?i)(<(?:[a-z0-9]{{1,20}}:)?(?:{SECRET_NAME})(?:\s[^<>]*)?>)([^<]+)"),
    Rule(r"(?i)(<input\b[^<>]*\btype=[\"']?password\b[^<>]*\bvalue=[\"']?)([^\"'<>\s]+)"),
    Rule(r"(?i)(<input\b[^<>]*\bvalue=[\"']?)([^\"'<>\s]+)([\"']?\s[^<>]*\btype=[\"']?password\b)"),
    Rule(
        rf"(?i)(<(?:input|meta)\b[^<>]*\bname=[\"']?(?:{SECRET_NAME})[\"']?\s[^<>]*\b(?:value|content)=[\"']?)"
        r"([^\"'<>\s]+)"
    ),
    Rule(
        r"(?i)(<(?:input|meta)\b[^<>]*\b(?:value|content)=[\"']?)([^\"'<>\s]+)"
        rf"([\"']?\s[^<>]*\bname=[\"']?(?:{SECRET_NAME})\b)"
    ),
]

# Who a person is: kept out of logs, left in what an agent reads, which often is about just that.
PERSONAL: list[Rule] = [
    Rule(r"\b[A-Za-z0-9._%+\-]{1,64}(?:@|%40)[A-Za-z0-9][A-Za-z0-9.\-]{0,200}\.[A-Za-z]{2,24}\b", mask="[email]"),
    Rule(numbers.IBAN_RUN, within=numbers.mask_iban),
    Rule(numbers.PHONE_RUN, numbers.is_phone, mask="[phone]", number=True),
]
