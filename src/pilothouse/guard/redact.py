"""Takes secrets out of what is stored, logged or shown: headers, addresses, bodies, and keys by their shape.

Above: the gate (results), the audit log, network and console logs. Below: config. All patterns run on RE2, so no
page can make them slow, and one search over all of them lets a text without secrets pass untouched.
"""

from collections.abc import Mapping
from functools import lru_cache
from re import Pattern
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

from pilothouse.config import HIDDEN

MASK = HIDDEN

_HEADERS = {
    "authorization", "proxy-authorization", "cookie", "set-cookie", "cookie2", "set-cookie2", "x-api-key", "api-key",
    "x-auth-token", "x-access-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token", "x-goog-api-key",
    "x-vault-token", "x-gitlab-token", "private-token", "x-session-token", "www-authenticate", "proxy-authenticate",
    "sec-websocket-protocol",
}  # fmt: skip
# Whole names, in any notation: apiKey, api_key, API-KEY, new_password2. Not `secretary`, not `max_tokens`.
_SECRET_NAME = (
    r"[a-z0-9_.\-]*(?:passw(?:or)?d|passphrase|passcode)[a-z0-9_.\-]{0,16}|"
    r"[a-z0-9_.\-]*(?:secret|credential|(?:api|access|private)[_\-]?key|(?:auth|access|refresh|id|session|csrf)[_\-]?token|"
    r"session[_\-]?id|card[_\-]?number|pin[_\-]?code|cvv|cvc)(?:s|[_\-]?(?:key|value|hash|[0-9]{1,2}))?|"
    r"(?:x[_\-])?token|jwt|otp|pwd|sid|authorization|cookie"
)
# Names that mean a secret in a query only when the value is long: `code=DE` is a country.
_WEAK_NAME = r"code|key|sig|signature|auth|state|nonce|ticket|assertion|hmac|x-amz-signature|x-goog-signature"

# (pattern, replacement); group 1 is kept.
_RULES: list[tuple[str, str]] = [
    (r"(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_|pypi-|dop_v1_|shpat_)[A-Za-z0-9_\-]{16,}", MASK),
    (r"\b(?:sk|rk|pk|whsec)[_\-](?:live_|test_|proj-|ant-)?[A-Za-z0-9_\-]{16,}", MASK),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
    (r"\bxox[a-z]-[A-Za-z0-9\-]{10,}|\bxapp-[A-Za-z0-9\-]{10,}", MASK),
    (r"\bAIza[0-9A-Za-z_\-]{30,}|\bya29\.[0-9A-Za-z_\-]{16,}", MASK),
    (r"\beyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]*", MASK),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?", MASK),
    (r"(?i)\b(bearer\s+)[A-Za-z0-9_\-.~+/=]{20,}", rf"\1{MASK}"),
    (r"(?i)\b(basic\s+)[A-Za-z0-9+/]{6,}={1,2}", rf"\1{MASK}"),
    (r"(?im)^(\s*(?:set-cookie|cookie|(?:proxy-)?authorization|x-api-key)\s*:\s*)[^\r\n]+", rf"\1{MASK}"),
    (r"(?i)(\b[a-z][a-z0-9+.\-]*://[^\s/?#@:\"'<>]*:)[^\s/?#@\"'<>]+@", rf"\1{MASK}@"),
    (rf"(?im)((?:^|[?&#;\s\"'])(?:{_SECRET_NAME})=)[^&#;\s\"'<>]+", rf"\1{MASK}"),
    (rf"(?im)((?:^|[?&#])(?:{_WEAK_NAME})=)[^&#;\s\"'<>]{{16,}}", rf"\1{MASK}"),
    (rf"(?i)([\"'](?:{_SECRET_NAME})[\"']\s*:\s*\")(?:[^\"\\]|\\.)+", rf"\1{MASK}"),
    (rf"(?i)(\\\"(?:{_SECRET_NAME})\\\"\s*:\s*\\\")[^\"\\]+", rf"\1{MASK}"),  # JSON inside JSON
    (rf"(?i)(\bname=\"(?:{_SECRET_NAME})\"\r?\n\r?\n)[^\r\n]+", rf"\1{MASK}"),
]


def _compile(pattern: str) -> Pattern[str]:
    options = re2.Options()
    options.log_errors = False  # RE2 writes to stderr otherwise
    return cast(Pattern[str], re2.compile(pattern, options))  # pyright: ignore[reportUnknownMemberType]


_PATTERNS = [(_compile(pattern), replacement) for pattern, replacement in _RULES]
_ANY = _compile("|".join(f"(?:{pattern})" for pattern, _ in _RULES))
_NAME = _compile(f"(?i)(?:{_SECRET_NAME})")


def redact_text(text: str) -> str:
    """The text with every secret in it masked."""
    if not _suspicious(text):
        return text
    text = text.encode("utf-8", "replace").decode()
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redact_url(url: str) -> str:
    """The address with passwords, tokens and keys masked, in user info, query and fragment."""
    return redact_text(url)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Sensitive headers keep their name, in their own spelling, and lose their value; the rest are read as text."""
    return {name: MASK if _is_secret_header(name) else redact_text(value) for name, value in headers.items()}


def redact_tree(data: Any) -> Any:
    """Plain data with strings redacted, and a string under a secret's name masked whole; the same object if clean.

    All strings are searched at once first: a call of RE2 costs 4 µs, and a result may hold thousands of strings.
    """
    strings: list[str] = []
    if not _gather(data, strings) and not _suspicious("\n".join(strings)):
        return data
    return _redact(data)


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether a field, parameter or header of this name holds a secret."""
    return name.isascii() and _NAME.fullmatch(name) is not None


def _is_secret_header(name: str) -> bool:
    name = name.lower()
    return name in _HEADERS or name.endswith(("-token", "-secret", "-api-key")) or is_secret_name(name)


def _suspicious(text: str) -> bool:
    try:
        return _ANY.search(text) is not None
    except UnicodeEncodeError:  # a lone surrogate, which RE2 cannot read
        return _ANY.search(text.encode("utf-8", "replace").decode()) is not None


def _gather(data: Any, strings: list[str]) -> bool:
    """Collect the strings of plain data; true as soon as one stands under a secret's name."""
    if isinstance(data, str):
        strings.append(data)
        return False
    if isinstance(data, dict):
        items = cast(dict[Any, Any], data).items()
        return any(_holds_secret(key, item) or _gather(item, strings) for key, item in items)
    if isinstance(data, list | tuple):
        return any(_gather(item, strings) for item in cast(list[Any], data))
    return False


def _redact(data: Any) -> Any:
    if isinstance(data, str):
        return redact_text(data)
    if isinstance(data, dict):
        items = cast(dict[Any, Any], data).items()
        return {key: MASK if _holds_secret(key, item) else _redact(item) for key, item in items}
    if isinstance(data, list | tuple):
        return [_redact(item) for item in cast(list[Any], data)]
    return data


def _holds_secret(key: Any, item: Any) -> bool:
    return isinstance(key, str) and isinstance(item, str) and item != "" and is_secret_name(key)
