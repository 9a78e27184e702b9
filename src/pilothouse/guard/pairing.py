"""Which browsers of the person's may connect: short codes that pair one, and what is kept of those that are paired.

Above: the bridge's door asks, the person's door makes codes and forgets browsers. Below: written, errors. Of a secret
only its hash is kept, in a 0600 file; it has 256 random bits, so a plain hash is enough.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.errors import Failure
from pilothouse.written import replace

# Follows from the public key in extension/manifest.json: Chrome gives this id to that folder on every machine.
EXTENSION_ID = "bajnifnhhffbpcfglekalcfiibghlpkj"
ORIGIN = f"chrome-extension://{EXTENSION_ID}"

FILE = "browsers.json"
CODE_S = 300.0
CODE_TRIES = 5
MOST = 20
# No letter or digit here is taken for another one.
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_CODE = re.compile(rf"([{_ALPHABET}]{{4}})-?([{_ALPHABET}]{{4}})")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class Paired(msgspec.Struct, frozen=True):
    """What is kept of a browser. `install` is what its extension called itself when it was first loaded."""

    name: str
    install: str
    secret_hash: str
    paired_at: float


class _Kept(msgspec.Struct):
    browsers: list[Paired] = []


class _Open(msgspec.Struct):
    code: str
    until: float
    tries: int = CODE_TRIES


class Pairing:
    """One code is open at a time: the newest. It pairs one browser, within five minutes and five tries."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = home / FILE
        self._clock = clock
        self._open: _Open | None = None
        self._browsers = self._load()

    def browsers(self) -> list[Paired]:
        return list(self._browsers)

    def new_code(self) -> str:
        if len(self._browsers) >= MOST:
            hint = "pilothouse extension forget NAME  # of one that is not used any more"
            raise Failure("over_limit", f"{MOST} browsers are paired, the most there may be", suggestions=[hint])
        code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        self._open = _Open(code, self._clock() + CODE_S)
        return f"{code[:4]}-{code[4:]}"

    def redeem(self, given: str) -> None:
        """Use the open code up; `unauthorized` when it is another, none, or too old. Wrong ones wear it out."""
        found = _CODE.fullmatch(given.upper())
        text = "".join(found.groups()) if found else ""
        opened = self._open
        if opened is None or self._clock() >= opened.until:
            self._open = None
            raise _refused("no pairing code is open: each is good for one browser and five minutes")
        if hmac.compare_digest(text.encode(), opened.code.encode()):
            self._open = None
            return
        opened.tries -= 1
        if opened.tries <= 0:
            self._open = None
            raise _refused("that was not the code, and it is void now: too many wrong tries")
        raise _refused("that is not the code")

    def add(self, install: str, wish: str) -> tuple[Paired, str]:
        """A browser that brought a good code, and its secret. One that was paired before keeps its name."""
        before = next((one for one in self._browsers if one.install == install), None)
        others = [one for one in self._browsers if one is not before]
        name = before.name if before else _free_name(wish, {one.name for one in others})
        secret = secrets.token_urlsafe(32)
        made = Paired(name, install, _hash(secret), time.time())
        self._save([*others, made])
        return made, secret

    def who(self, secret: str) -> Paired | None:
        """Every browser is compared, so time tells nothing about which one came near."""
        given, found = _hash(secret), None
        for one in self._browsers:
            if hmac.compare_digest(given, one.secret_hash):
                found = one
        return found

    def named(self, name: str) -> Paired:
        for one in self._browsers:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self._browsers)
        hint = f"paired: {known}" if known else "no browser is paired"
        raise Failure("not_found", f"no browser {name} is paired", suggestions=[hint])

    def forget(self, name: str) -> None:
        gone = self.named(name)
        self._save([one for one in self._browsers if one is not gone])

    def _load(self) -> list[Paired]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept).browsers
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise Failure(
                "system",
                f"the paired browsers in {self._path} cannot be read: {error}",
                suggestions=[f"rm {self._path}  # and pair them again"],
            ) from None

    def _save(self, browsers: list[Paired]) -> None:
        try:
            replace(self._path, msgspec.json.format(msgspec.json.encode(_Kept(browsers)), indent=1))
        except OSError as error:
            raise Failure("system", f"cannot write {self._path}: {error.strerror}") from None
        self._browsers = browsers


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _free_name(wish: str, taken: set[str]) -> str:
    """A word that can be typed: `Anna's Chrome` is anna-s-chrome; the second chrome is chrome-2."""
    base = _NOT_IN_NAMES.sub("-", wish.lower()).strip("-")[:24].strip("-") or "chrome"
    return next(name for name in (base, *(f"{base}-{n}" for n in range(2, MOST + 2))) if name not in taken)


def _refused(why: str) -> Failure:
    return Failure("unauthorized", why, suggestions=["`pilothouse extension pair` makes a new code"])
