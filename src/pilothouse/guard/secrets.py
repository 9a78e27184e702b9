"""Secrets that a person registered: typed by name into their own domains, masked everywhere else, shown to nobody.

Above: the person's doors set and list them, sessions type them, redaction knows their values. Below: vault (they lie
encrypted in one 0600 file), domains, known, errors. An agent writes `secret:NAME` where the value goes; what it may
learn is the names that the page before it could be given.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from pilothouse.errors import Failure
from pilothouse.guard.address import authority, is_local_name, is_loopback, literal
from pilothouse.guard.domains import Domains, read_domains
from pilothouse.guard.known import known
from pilothouse.guard.vault import BOX, Vault

FILE = BOX
MOST = 200
MAX_DOMAINS = 50
MIN_CHARS, MAX_CHARS = 4, 2000
MAX_NOTE = 300
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_REFERENCE = re.compile(rf"secret:({_NAME.pattern})")
_ORIGIN = re.compile(r"https?://[^/]+")
_EXAMPLE = "write github.com, *.github.com for every host below it, or localhost:3000"


_log = logging.getLogger(__name__)


class Secret(msgspec.Struct, frozen=True):
    """`any_field`: also where it can be read on the screen; otherwise only in password fields."""

    name: str
    value: str
    domains: tuple[str, ...]
    note: str = ""
    any_field: bool = False
    set_at: float = 0.0


class Entry(msgspec.Struct, frozen=True):
    """What may be told of a secret."""

    name: str
    domains: tuple[str, ...]
    note: str
    any_field: bool
    set_at: float


def named(text: str) -> str:
    """The name in `secret:NAME`; empty for any other text."""
    found = _REFERENCE.fullmatch(text)
    return found[1] if found else ""


class Secrets:
    def __init__(self, home: Path, vault: Vault) -> None:
        self._path = home / FILE
        self._vault = vault
        self._kept: dict[str, Secret] | None = None
        self._changing = threading.Lock()  # a person's doors work in threads

    def prepare(self) -> None:
        """Know them before the first word is said. A keyring that is locked now may be open when one is needed."""
        try:
            self._loaded()
        except Failure as failure:
            _log.warning("the registered secrets are neither typed nor masked: %s", failure)

    def named(self, text: str) -> str:
        return named(text)

    def entries(self) -> list[Entry]:
        """All of them, without their values."""
        return [Entry(one.name, one.domains, one.note, one.any_field, one.set_at) for one in self._loaded().values()]

    def known(self) -> dict[str, str]:
        """Their values by name, for redaction; the process knows them from here on."""
        return {one.name: one.value for one in self._loaded().values()}

    def set(self, name: str, value: str, domains: Iterable[str], *, note: str = "", any_field: bool = False) -> Entry:
        """Keep a secret, in the place of an older one of that name."""
        secret = Secret(name, value, tuple(domains), note, any_field, time.time())
        secret = msgspec.structs.replace(secret, domains=_checked(secret))
        self._change(lambda kept: {**kept, name: secret})
        return Entry(name, secret.domains, note, any_field, secret.set_at)

    def remove(self, name: str) -> None:
        if name not in self._loaded():
            raise Failure("not_found", f"there is no secret {name[:64]!r}", suggestions=["`secret list` names them"])
        self._change(lambda kept: {key: one for key, one in kept.items() if key != name})

    def start_anew(self) -> Path:
        """Without those that cannot be opened any more: their file is put aside, in case its key is found again."""
        with self._changing:
            try:
                self._loaded()
            except Failure as failure:
                if failure.retryable:
                    raise
                aside = self._path.with_name(f"{FILE}.unreadable-{time.time_ns()}")
                self._path.rename(aside)
                self._take({})
                return aside
        hint = "`secret remove` forgets one"
        raise Failure("bad_request", "the secrets can be opened: there is no need to start anew", suggestions=[hint])

    def some(self) -> bool:
        """Whether there is any: then a page is searched as it is shown, for to find more could be to guess one."""
        return bool(self._kept)

    def reveal(self, name: str, origin: str) -> tuple[str, bool]:
        """The value for a document of that origin, and whether any field may hold it; `denied` if it may not."""
        kept = self._loaded()
        secret = kept.get(name)
        if secret is None:
            here = [one.name for one in kept.values() if not _refusal(one, origin)]
            raise _unknown(name, here)
        if why := _refusal(secret, origin):
            raise Failure(
                "denied",
                f"the secret {name} is not typed here: {why}",
                details={"rule": f"secret {name}", "domains": list(secret.domains), "origin": origin[:300]},
                suggestions=["go to a page of its own domains", f"or a person adds this one: {_to_set(secret)}"],
            )
        return secret.value, secret.any_field

    def written_out(self, text: str, origin: str) -> str:
        """What a person wrote into the configuration, with the value in the place of each `secret:NAME`."""
        return _REFERENCE.sub(lambda found: self.reveal(found[1], origin)[0], text)

    def _loaded(self) -> dict[str, Secret]:
        if self._kept is None:
            sealed = self._sealed()
            try:
                kept = msgspec.json.decode(sealed, type=list[Secret]) if sealed else []
            except msgspec.MsgspecError:
                raise Failure("system", f"{self._path} is of another version") from None
            self._take({one.name: one for one in kept})
        return self._kept or {}

    def _sealed(self) -> bytes:
        try:
            return self._vault.open(self._path)
        except Failure as failure:
            if failure.retryable:  # a keyring that is locked now
                raise
            hints = [*failure.suggestions, "a person can begin without them: pilothouse secret start-anew"]
            why = f"the registered secrets cannot be opened: {failure.message}"
            raise Failure("system", why, suggestions=hints) from None

    def _change(self, change: Callable[[dict[str, Secret]], dict[str, Secret]]) -> None:
        with self._changing:
            kept = dict(sorted(change(self._loaded()).items()))
            if len(kept) > MOST:
                raise Failure("over_limit", f"{MOST} secrets are the most that are kept")
            self._vault.keep(self._path, msgspec.json.encode(list(kept.values())))
            self._take(kept)

    def _take(self, kept: dict[str, Secret]) -> None:
        self._kept = kept
        known.know(self._path, {one.name: one.value for one in kept.values()})


def _checked(secret: Secret) -> tuple[str, ...]:
    """The domains in one spelling; `bad_request` for what cannot be kept, which never repeats the value."""
    if not _NAME.fullmatch(secret.name):
        hint = "use letters, digits, _ and, not at the start, - and dots; at most 64"
        raise Failure("bad_request", f"{secret.name[:64]!r} cannot be the name of a secret", suggestions=[hint])
    if not MIN_CHARS <= len(secret.value) <= MAX_CHARS:
        raise Failure("bad_request", f"a secret has {MIN_CHARS} to {MAX_CHARS} characters")
    if secret.value.strip() != secret.value or not secret.value.isprintable():
        raise Failure("bad_request", "a secret is one line, without blanks around it")
    if secret.value == secret.name:
        raise Failure("bad_request", "a secret cannot be its own name")
    if len(secret.note) > MAX_NOTE:
        raise Failure("bad_request", f"a note has at most {MAX_NOTE} characters")
    if not 1 <= len(secret.domains) <= MAX_DOMAINS:
        raise Failure("bad_request", f"a secret has 1 to {MAX_DOMAINS} domains", suggestions=[_EXAMPLE])
    return tuple(_domain(one) for one in secret.domains)


def _domain(pattern: str) -> str:
    plain = pattern.strip().removeprefix("https://").rstrip("/").lower()
    try:
        found = read_domains([plain])
    except Failure:
        found = Domains()
    if found.open or any("." not in host for host, _ in found.below if host != "localhost"):
        raise Failure(
            "bad_request", f"{pattern[:100]!r} is not a domain of whom a secret can be", suggestions=[_EXAMPLE]
        )
    return plain


def _refusal(secret: Secret, origin: str) -> str:
    """Why a document of that origin may not have it; empty if it may."""
    if not _ORIGIN.fullmatch(origin):
        return "this document belongs to no site (it is sandboxed, a file, or data)"
    host, port = authority(origin)
    if not read_domains(secret.domains).admit(host, port):
        return f"it belongs to {', '.join(secret.domains)}, and this document to {origin[:200]}"
    if origin.startswith("http:") and not _is_own(host):
        return f"{origin[:200]} is not encrypted"
    return ""


def _is_own(host: str) -> bool:
    address = literal(host)
    return is_local_name(host) or (address is not None and is_loopback(address))


def _to_set(secret: Secret) -> str:
    """The command that would keep it for one more host; the value is asked for again."""
    domains = " ".join(f"--domain '{one}'" for one in secret.domains)
    any_field = " --any-field" if secret.any_field else ""
    return f"pilothouse secret set {secret.name} {domains} --domain HOST{any_field}"


def _unknown(name: str, here: list[str]) -> Failure:
    given = f"this page can be given: {', '.join(here[:20])}"
    hint = given if here else f"a person registers one: pilothouse secret set {name} --domain HOST"
    literally = "to type these very letters, type `secret:` first and the rest with clear=false"
    message, details = f"there is no secret {name!r}", {"names": here[:20]}
    return Failure("not_found", message, details=details, suggestions=[hint, literally])
