"""Which browsers of the person's may connect: short codes that pair one, and what is kept of those that are paired.

Above: handshake asks for keys, the person's door makes codes and forgets browsers. Below: written, known, errors. The
secrets lie in a 0600 file, as the keys of agents and of the person do: the daemon must show that it knows them, so a
hash would not do.
"""

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.keys import read_private
from pilothouse.guard.known import known
from pilothouse.written import replace

# Follows from the public key in extension/manifest.json: Chrome gives this id to that folder on every machine.
EXTENSION_ID = "bajnifnhhffbpcfglekalcfiibghlpkj"
ORIGIN = f"chrome-extension://{EXTENSION_ID}"

FILE = "browsers.json"
CODE_S = 300.0
CODE_TRIES = 5
MOST = 20
MAX_BYTES = 256 * 1024
# No letter or digit here is taken for another one.
_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
# A code has 40 bits. A proof that is made with it must not tell it to a fast machine within its five minutes, so the
# key of a proof takes this many rounds (the extension counts as far).
ROUNDS = 210_000
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class Paired(msgspec.Struct, frozen=True):
    """What is kept of a browser. `install` is what its extension called itself when it was first loaded. It looks for
    the daemon at `port` and nowhere else; 0: nobody wrote it down."""

    name: str
    install: str
    paired_at: float
    port: int = 0


class _Kept(msgspec.Struct):
    """`secrets` by install: they are never shown with the rest. `stopping`: installs that a person stopped, and whose
    extension has not said yet that it knows."""

    browsers: list[Paired] = []
    secrets: dict[str, str] = {}
    stopping: list[str] = []


class _Open(msgspec.Struct):
    key: bytes
    salt: str
    until: float
    tries: int = CODE_TRIES


class Pairing:
    """One code is open at a time: the newest. It pairs one browser, within five minutes and five tries."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = home / FILE
        self._clock = clock
        self._open: _Open | None = None
        self._changing = threading.Lock()  # from what was read to what is written
        self._kept = _load(self._path)
        self._mask()

    def browsers(self) -> list[Paired]:
        return list(self._kept.browsers)

    def of(self, install: str) -> Paired | None:
        return next((one for one in self._kept.browsers if one.install == install), None)

    def secret(self, install: str) -> str | None:
        return self._kept.secrets.get(install) if self.of(install) else None

    def new_code(self) -> str:
        """Takes a moment: its key is made to take one."""
        if len(self._kept.browsers) >= MOST:
            hint = "pilothouse extension forget NAME  # of one that is not used any more"
            raise Failure("over_limit", f"{MOST} browsers are paired, the most there may be", suggestions=[hint])
        letters = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        code, salt = f"{letters[:4]}-{letters[4:]}", secrets.token_urlsafe(32)
        self._open = _Open(stretched(code, salt), salt, self._clock() + CODE_S)
        return code

    def code_key(self) -> tuple[bytes, str]:
        """The key of the open code, and its salt; `unauthorized` when none is open."""
        opened = self._opened()
        return opened.key, opened.salt

    def redeem(self, fits: Callable[[bytes], bool]) -> bytes:
        """Use the open code up, and get its key; `unauthorized` when none fits. Wrong ones wear it out."""
        opened = self._opened()
        if fits(opened.key):
            self._open = None
            return opened.key
        opened.tries -= 1
        if opened.tries <= 0:
            self._open = None
            raise _refused("that was not the code, and it is void now: too many wrong tries")
        raise _refused("that is not the code")

    def _opened(self) -> _Open:
        if self._open is None or self._clock() >= self._open.until:
            self._open = None
            raise _refused("no pairing code is open: each is good for one browser and five minutes")
        return self._open

    def add(self, install: str, wish: str, port: int = 0) -> tuple[Paired, str]:
        """A browser that brought a good code, and its secret. One that was paired before keeps its name, unless its
        person wishes another one now."""
        with self._changing:
            before = self.of(install)
            others = [one for one in self._kept.browsers if one is not before]
            stays = before and (not wish.strip() or _is_called(before.name, wish))
            name = before.name if before and stays else _free_name(wish, {one.name for one in others})
            secret = secrets.token_urlsafe(32)
            made = Paired(name, install, time.time(), port)
            self._save(_Kept([*others, made], self._kept.secrets | {install: secret}, self._kept.stopping))
        return made, secret

    def named(self, name: str) -> Paired:
        for one in self._kept.browsers:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self._kept.browsers)
        hint = f"paired: {names}" if names else "no browser is paired"
        raise Failure("not_found", f"no browser {name} is paired", suggestions=[hint])

    def forget(self, name: str) -> None:
        with self._changing:
            self._drop(self.named(name))

    def drop(self, paired: Paired) -> bool:
        """Forget exactly this pairing; False when it was forgotten, or made anew, before."""
        with self._changing:
            if self.of(paired.install) is not paired:
                return False
            self._drop(paired)
            return True

    def _drop(self, gone: Paired) -> None:
        stay = [one for one in self._kept.browsers if one is not gone]
        installs = {one.install for one in stay}
        stopping = [one for one in self._kept.stopping if one in installs]
        self._save(_Kept(stay, {one: self._kept.secrets[one] for one in sorted(installs)}, stopping))

    def owes_stop(self, install: str) -> bool:
        """Whether a person stopped everything there, and the browser has not said yet that it knows."""
        return install in self._kept.stopping

    def owe_stop(self, install: str, owed: bool) -> None:
        """A stop outlives the daemon that was told of it."""
        with self._changing:
            if self.of(install) and self.owes_stop(install) != owed:
                others = [one for one in self._kept.stopping if one != install]
                stopping = [*others, install] if owed else others
                self._save(_Kept(self._kept.browsers, self._kept.secrets, stopping))

    def _save(self, kept: _Kept) -> None:
        try:
            replace(self._path, msgspec.json.format(msgspec.json.encode(kept), indent=1))
        except OSError as error:
            raise Failure("system", f"cannot write {self._path}: {error.strerror}") from None
        self._kept = kept
        self._mask()

    def _mask(self) -> None:
        """Wherever a secret comes up, in an answer or a log, it is not shown."""
        names = {one.install: one.name for one in self._kept.browsers}
        known.know(self._path, {f"secret of {names[install]}": it for install, it in self._kept.secrets.items()})


def kept(home: Path) -> list[Paired]:
    """Which are paired, by the file alone; `Failure` when no daemon would start with it."""
    return _load(home / FILE).browsers


def _load(path: Path) -> _Kept:
    try:
        kept = msgspec.json.decode(read_private(path, MAX_BYTES), type=_Kept)
        if {one.install for one in kept.browsers} == kept.secrets.keys():
            return kept
        raise msgspec.ValidationError("not every browser has its secret")
    except FileNotFoundError:
        return _Kept()
    except (OSError, msgspec.DecodeError) as error:
        raise Failure(
            "system",
            f"the paired browsers in {path} cannot be read: {error}",
            suggestions=[f"rm {path}  # and pair them again"],
        ) from None


def stretched(code: str, salt: str) -> bytes:
    """The key that a code stands for."""
    return hashlib.pbkdf2_hmac("sha256", code.encode(), salt.encode(), ROUNDS)


def _free_name(wish: str, taken: set[str]) -> str:
    """A word that can be typed: `Anna's Chrome` is anna-s-chrome; the second chrome is chrome-2."""
    base = _plain_name(wish)
    return next(name for name in (base, *(f"{base}-{n}" for n in range(2, MOST + 2))) if name not in taken)


def _plain_name(wish: str) -> str:
    return _NOT_IN_NAMES.sub("-", wish.lower()).strip("-")[:24].strip("-") or "chrome"


def _is_called(name: str, wish: str) -> bool:
    """Whether this name was given for that wish; another browser may have had it first."""
    base = _plain_name(wish)
    return name == base or (name.startswith(f"{base}-") and name.removeprefix(f"{base}-").isdigit())


def _refused(why: str) -> Failure:
    return Failure("unauthorized", why, suggestions=["`pilothouse extension pair` makes a new code"])
