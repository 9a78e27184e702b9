"""Secrets at rest: named boxes of bytes, encrypted, in files that only this user can open.

Above: the daemon hands it to the sessions, which keep log-ins in it; secrets keeps its file with it. Below:
cryptography, keyring if there is one, known (the key is masked wherever it comes up).
The key lies in the system's keyring; where that is missing or does not work, in a 0600 file beside the boxes, and then
the boxes are as safe as the home directory.
"""

import base64
import contextlib
import importlib
import logging
import os
import re
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pilothouse.errors import Failure
from pilothouse.guard.known import known
from pilothouse.written import create, replace

MAX_BYTES = 64_000_000
BOX = "secrets.box"  # the registered secrets
_MAGIC = b"pilothouse-state-1\n"
_NONCE = 12
_KEY_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_SERVICE = "pilothouse"
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_log = logging.getLogger(__name__)


class Vault:
    """`keyring` brings the module of that name, or None; it is asked when the first key is needed."""

    def __init__(self, home: Path, keyring: Callable[[], Any] = lambda: None) -> None:
        self._home = home
        self._folder = home / "states"
        self._find_keyring = keyring
        self._key = b""
        self._finding = threading.Lock()  # states are saved from several threads

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.state"))

    def put(self, name: str, data: bytes) -> Path:
        """Encrypt and keep; an older box of that name is replaced in one step."""
        path = self._path(name)
        if len(data) > MAX_BYTES:
            raise Failure("over_limit", f"{len(data)} bytes are too many to keep: at most {MAX_BYTES}")
        sealed = self._sealed(name, data)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        _put(path, sealed, replace)
        return path

    def get(self, name: str) -> bytes:
        sealed = _read(self._path(name), MAX_BYTES + 1000)
        if sealed is None:
            known = self.names()
            hint = f"saved are: {', '.join(known[:20])}" if known else "save_state saves one"
            raise Failure("not_found", f"there is no saved state {name!r}", suggestions=[hint])
        return self._opened(name, sealed)

    def keep(self, path: Path, data: bytes) -> None:
        """Like `put`, for a file of the home that is none of the states: no state can have a name like its own."""
        _put(path, self._sealed(f"/{path.name}", data), replace)

    def open(self, path: Path) -> bytes:
        """What `keep` kept; empty if there is no such file."""
        sealed = _read(path, MAX_BYTES + 1000)
        return b"" if sealed is None else self._opened(f"/{path.name}", sealed)

    def problem(self) -> str:
        """Why what is kept here cannot be opened; empty if it can be, or if there is nothing."""
        box = self._home / BOX
        try:
            if box.exists():
                self.open(box)
            elif self.names():
                self._cipher(making=False)
        except Failure as failure:
            return failure.message
        return ""

    def _sealed(self, name: str, data: bytes) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return _MAGIC + nonce + self._cipher(making=True).encrypt(nonce, data, _bound_to(name))

    def _opened(self, name: str, sealed: bytes) -> bytes:
        head, nonce = sealed[: len(_MAGIC)], sealed[len(_MAGIC) : len(_MAGIC) + _NONCE]
        if head != _MAGIC or len(nonce) < _NONCE:
            raise _unreadable(name, "it is damaged, or not ours")
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher(making=False).decrypt(nonce, sealed[len(_MAGIC) + _NONCE :], _bound_to(name))
        except InvalidTag:
            raise _unreadable(name, "it was changed, or sealed with another key") from None

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise Failure(
                "bad_request",
                f"{name[:40]!r} cannot be the name of a state",
                suggestions=["use letters, digits, -, _ and dots inside, at most 100"],
            )
        return self._folder / f"{name}.state"

    # The key

    def _cipher(self, *, making: bool) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # M: 60 ms that few daemons ever need

        with self._finding:
            if not self._key:
                self._key = self._found_or_made(making=making)
        return AESGCM(self._key)

    def _found_or_made(self, *, making: bool) -> bytes:
        """A file wins: it is there because the keyring did not work when the first state was saved."""
        if (kept := _read(self._file, 1000)) is not None:
            return self._decoded(kept)
        keyring = self._find_keyring()
        try:
            kept = keyring.get_password(_SERVICE, self._account) if keyring else None
        except Exception as error:  # keyrings fail in many ways: no backend, locked, no session bus
            if self.names() or (self._home / BOX).exists():
                raise _locked(error) from None  # a new key would shut the old states for ever
            keyring, kept = None, None
            _log.warning("the system's keyring does not work (%s): the key is kept in a file", type(error).__name__)
        if kept is not None:
            return self._decoded(str(kept).encode())
        if making:
            return self._made(keyring)
        raise Failure(
            "system",
            "the key of the saved states and secrets is gone",
            suggestions=["put state.key back: a backup made with --with-keys has it", "or save the states again"],
        )

    def _decoded(self, text: bytes) -> bytes:
        with contextlib.suppress(ValueError):
            key = base64.b64decode(text.strip(), altchars=b"-_", validate=True)
            if len(key) == _KEY_BYTES:
                known.know(self._file, {"key of the saved states": text.decode().strip()})
                return key
        raise Failure("system", f"the key of the saved states cannot be read: {self._file} or the system's keyring")

    def _made(self, keyring: Any) -> bytes:
        key = secrets.token_bytes(_KEY_BYTES)
        text = base64.urlsafe_b64encode(key).decode()
        if keyring and self._lies_in(keyring, text):
            return key
        _put(self._file, f"{text}\n".encode(), create)
        return self._decoded(_read(self._file, 1000) or b"")  # another daemon of this home may have been first

    def _lies_in(self, keyring: Any, text: str) -> bool:
        try:
            keyring.set_password(_SERVICE, self._account, text)
            return keyring.get_password(_SERVICE, self._account) == text
        except Exception as error:
            _log.warning("the system's keyring keeps nothing (%s): the key is kept in a file", type(error).__name__)
            return False

    @property
    def _file(self) -> Path:
        return self._home / "state.key"

    @property
    def _account(self) -> str:
        return f"states of {self._home}"


def system_keyring() -> Any:
    """The optional package, when it is there."""
    try:
        return importlib.import_module("keyring")
    except Exception:  # a package that breaks at import is as good as none
        return None


def _bound_to(name: str) -> bytes:
    """A box moved to another name does not open."""
    return _MAGIC + name.encode()


def _locked(error: Exception) -> Failure:
    return Failure(
        "system",
        f"the system's keyring, which has the key of the saved states, does not answer ({type(error).__name__})",
        suggestions=["unlock the keyring and try again"],
        retryable=True,
    )


def _unreadable(name: str, why: str) -> Failure:
    what = f"the file {name[1:]}" if name.startswith("/") else f"the state {name!r}"
    hint = "put back its key, state.key, or the file as it was" if name.startswith("/") else "save it again"
    return Failure("system", f"{what} cannot be opened: {why}", suggestions=[hint])


def _read(path: Path, most: int) -> bytes | None:
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failure("system", f"cannot read {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if os.name != "nt" and (not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077):
            raise Failure(
                "system", f"{path} can be read by other users, or is no plain file", suggestions=[f"chmod 600 {path}"]
            )
        return file.read(most)


def _put(path: Path, data: bytes, put: Callable[[Path, bytes], bool]) -> None:
    try:
        put(path, data)
    except OSError as error:
        raise Failure("system", f"cannot write {path}: {error.strerror}") from None
