"""Debug tokens: `base64url({c, p, n, t, s})`, signed by the proxy, verified by the hub, each good for one announcement.

Above: the proxy mints, the hub verifies. Below: errors. A token has exactly one spelling: what is read is encoded again
and must be the same bytes. The signature covers a JSON array with purpose and version, so that no character can move
from one field to the next, under a key derived from `HIVE_SECRET`.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure

HEADER = "x-adi-debug-token"
GOOD_FOR_S = 120
SKEW_S = 30
MAX_BYTES = 2048
MAX_PATH = 1024
MIN_SECRET_BYTES = 32
MAX_SPENT = 100_000
_PURPOSE = "pilothouse debug token"
_RETURN = "pilothouse debug return"
_HANDLE = "pilothouse debug handle"
_VERSION = 1
_NONCE_BYTES = 16


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a token says: the cocoon, the path of the page, a nonce, the time (epoch ms), the signature."""

    c: Annotated[str, Meta(pattern="^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")]
    p: Annotated[str, Meta(pattern="^/[!-~]*$", max_length=MAX_PATH)]
    n: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{22}$")]
    t: Annotated[int, Meta(ge=0, le=1 << 53)]
    s: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{43}$")]


class Signer:
    """Signs with the first secret and accepts all: while one is replaced, both hold."""

    def __init__(self, hive_secrets: Sequence[str], clock: Callable[[], float] = time.time) -> None:
        if not hive_secrets:
            raise _refused("HIVE_SECRET is not set")
        self._secrets = [_long_enough(one) for one in hive_secrets]
        self._clock = clock
        self.on_foreign: Callable[[], None] = lambda: None  # a token came that another secret has signed

    @cached_property
    def _keys(self) -> list[bytes]:
        return [_derived(one) for one in self._secrets]

    def mint(self, cocoon: str, path: str) -> str | None:
        """A token for one page; None for a path too long to be named in one."""
        nonce, now = _text(secrets.token_bytes(_NONCE_BYTES)), int(self._clock() * 1000)
        signature = _signature(self._keys[0], cocoon, path, nonce, now)
        try:
            claim = msgspec.convert({"c": cocoon, "p": path, "n": nonce, "t": now, "s": signature}, Claim)
        except msgspec.ValidationError:
            return None
        token = _text(msgspec.json.encode(claim))
        return token if len(token) <= MAX_BYTES else None

    def verify(self, token: str) -> Claim:
        """What a genuine token of now says; `denied` for everything else, with no hint at what was wrong."""
        claim = self._genuine(token)
        age_s = self._clock() - claim.t / 1000
        if not -SKEW_S <= age_s <= GOOD_FOR_S + SKEW_S:
            raise not_valid()
        return claim

    def ticket(self, token: str, user: str, browser: str) -> str:
        """With it one browser of one user can come back with a token that was good once."""
        return _ticket(self._keys[0], token, user, browser)

    def handle(self, token: str, user: str, browser: str) -> bytes:
        """What clients may know a tab by: the same after a new start, and no way back to its token."""
        return _bound(self._signed_by(_read(token)) or self._keys[0], _HANDLE, token, user, browser)

    def returned(self, token: str, ticket: str, user: str, browser: str) -> Claim:
        """As `verify`, whatever the time, for whoever holds the ticket."""
        claim = self._genuine(token)
        given = ticket.encode("utf-8", "surrogatepass")
        right = [hmac.compare_digest(given, _ticket(key, token, user, browser).encode()) for key in self._keys]
        if not any(right):
            raise not_valid()
        return claim

    def _genuine(self, token: str) -> Claim:
        claim = _read(token)
        if self._signed_by(claim) is None:
            self.on_foreign()
            raise not_valid()
        return claim

    def _signed_by(self, claim: Claim) -> bytes | None:
        """Every key is tried, so time tells nothing about which one came near."""
        right = [
            key
            for key in self._keys
            if hmac.compare_digest(claim.s, _signature(key, claim.c, claim.p, claim.n, claim.t))
        ]
        return right[0] if right else None


class Spent:
    """Nonces that were used, kept until their tokens have expired. When there is no room for more, none is taken."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._until: dict[str, float] = {}
        self._clock = clock

    def use(self, claim: Claim) -> None:
        now = self._clock()
        if len(self._until) >= MAX_SPENT:
            self._until = {nonce: until for nonce, until in self._until.items() if until > now}
        if len(self._until) >= MAX_SPENT:
            hint = f"try again in {GOOD_FOR_S} seconds"
            raise Failure("over_limit", "too many pages were announced at once", suggestions=[hint])
        if claim.n in self._until:
            raise not_valid()
        # A nonce must outlive its token on any clock that may have signed it.
        self._until[claim.n] = claim.t / 1000 + GOOD_FOR_S + 2 * SKEW_S


def _read(token: str) -> Claim:
    if not token.isascii() or len(token) > MAX_BYTES:
        raise not_valid()
    try:
        raw = _bytes(token)
        claim = msgspec.json.decode(raw, type=Claim)
    except (ValueError, msgspec.DecodeError):
        raise not_valid() from None
    if _text(msgspec.json.encode(claim)) != token:
        raise not_valid()
    return claim


def _signature(key: bytes, cocoon: str, path: str, nonce: str, at_ms: int) -> str:
    signed = msgspec.json.encode([_PURPOSE, _VERSION, cocoon, path, nonce, at_ms])
    return _text(hmac.digest(key, signed, "sha256"))


def _ticket(key: bytes, token: str, user: str, browser: str) -> str:
    return _text(_bound(key, _RETURN, token, user, browser))


def _bound(key: bytes, purpose: str, token: str, user: str, browser: str) -> bytes:
    return hmac.digest(key, msgspec.json.encode([purpose, _VERSION, token, user, browser]), "sha256")


def _long_enough(secret: str) -> bytes:
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < MIN_SECRET_BYTES:
        raise _refused(f"HIVE_SECRET has {len(raw)} bytes and needs {MIN_SECRET_BYTES} or more")
    return raw


def _derived(raw: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # M: 6 MB that few daemons ever need
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=None, info=f"{_PURPOSE} {_VERSION}".encode()).derive(raw)


def _refused(why: str) -> Failure:
    make = "export HIVE_SECRET=\"$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')\""
    return Failure("bad_request", why, suggestions=[make, "give proxy and hub the same one"])


def not_valid() -> Failure:
    hints = ["reload the page", "if that does not help: do proxy and hub have the same HIVE_SECRET, and the same time?"]
    return Failure("denied", "the debug token is not valid (any more)", suggestions=hints)


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    """Strict where the library is not: it skips what is no letter of the alphabet."""
    raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _text(raw) != text:
        raise ValueError("not base64url")
    return raw
