"""A backup as a file: which files of a home are in it, how they are packed, and how a stranger's archive is read.

Above: backup, restore. Below: the standard library. Only names from the list below exist; what else an archive holds,
links, paths that lead elsewhere, members without end, is refused before anything is written.
"""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

MANIFEST = "backup.json"
FORMAT = 1
MAX_FILES = 20_000
MAX_FILE_BYTES = 2_000_000_000
MAX_SMALL_BYTES = 70_000_000  # everything but the log
MAX_TOTAL_BYTES = 20_000_000_000
_CHUNK = 1 << 20

_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
LOG = re.compile(r"audit(?:-\d{12})?\.jsonl")
# Profiles are defined in config.toml; saved states and secrets are encrypted files.
PLAIN = re.compile(rf"config\.toml|policy\.toml|{LOG.pattern}|states/{_NAME}\.state|secrets\.box")
KEYS = re.compile(r"agent\.key|person\.key|state\.key|keys/[a-z0-9][a-z0-9_-]{0,31}\.key")


class Unfit(Exception):
    """No backup of ours, or a damaged one."""


class Source(NamedTuple):
    """A file that was opened before anything was packed, so that it is one moment of all of them."""

    name: str
    file: IO[bytes]
    size: int


class Member(NamedTuple):
    name: str
    size: int
    digest: str
    changed: float


def names(home: Path, *, with_keys: bool) -> list[str]:
    """The files of a home that belong into a backup."""
    folders = [home, home / "states", home / "keys"]
    found = [one for folder in folders if folder.is_dir() for one in folder.iterdir() if one.is_file()]
    relative = sorted(one.relative_to(home).as_posix() for one in found if not one.is_symlink())
    return [one for one in relative if PLAIN.fullmatch(one) or (with_keys and KEYS.fullmatch(one))]


def pack(out: IO[bytes], sources: list[Source], about: dict[str, Any]) -> None:
    """The files, then a list of them with their hashes."""
    members: list[Member] = []
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for one in sources:
            status = os.fstat(one.file.fileno())
            reader = _Hashed(one.file, one.size)
            archive.addfile(_header(one.name, one.size, status.st_mtime), reader)
            members.append(Member(one.name, one.size, reader.digest, status.st_mtime))
        told = {"format": FORMAT, "made": time.time(), **about, "files": [one._asdict() for one in members]}
        data = json.dumps(told, indent=1).encode()
        archive.addfile(_header(MANIFEST, len(data), time.time()), io.BytesIO(data))


def unpack(file: IO[bytes], folder: Path) -> tuple[list[Member], dict[str, Any]]:
    """Everything into an empty folder of ours, if all of it is what a backup may hold."""
    try:
        with _Bounded(fileobj=file, mode="rb") as plain, tarfile.open(fileobj=plain, mode="r:") as archive:
            found, manifest = _unpacked(archive, folder)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError, RecursionError) as error:
        raise Unfit(f"it cannot be read: {error}") from None
    about = _read_manifest(manifest)
    told = {(one["name"], one["size"], one["digest"]) for one in about["files"]}
    if told != {(one.name, one.size, one.digest) for one in found}:
        raise Unfit("its files are not those that its list names")
    return found, about


def _unpacked(archive: tarfile.TarFile, folder: Path) -> tuple[list[Member], bytes]:
    found: dict[str, Member] = {}
    manifest, total = b"", 0
    for header in archive:
        total += _checked_size(header, found)
        if total > MAX_TOTAL_BYTES or len(found) >= MAX_FILES:
            raise Unfit("it holds more than a backup may")
        body = archive.extractfile(header)
        assert body  # it is a plain file
        if header.name == MANIFEST:
            manifest = body.read(MAX_SMALL_BYTES)
        else:
            found[header.name] = _extracted(header, body, folder)
    return list(found.values()), manifest


def _checked_size(header: tarfile.TarInfo, found: dict[str, Member]) -> int:
    name = header.name
    if not header.isreg() or header.issparse():
        raise Unfit(f"{name[:80]!r} is no plain file")
    if name != MANIFEST and not PLAIN.fullmatch(name) and not KEYS.fullmatch(name):
        raise Unfit(f"{name[:80]!r} is no file of a backup")
    if name in found:
        raise Unfit(f"{name} is in it twice")
    if header.size > (MAX_FILE_BYTES if LOG.fullmatch(name) else MAX_SMALL_BYTES):
        raise Unfit(f"{name} is too large")
    return header.size


def _extracted(header: tarfile.TarInfo, body: IO[bytes], folder: Path) -> Member:
    path = folder / header.name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    reader = _Hashed(body, header.size)
    with open(os.open(path, flags, 0o600), "wb") as out:
        for chunk in reader.chunks():
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    now = time.time()
    changed = header.mtime if 0 <= header.mtime <= now else now  # which day a log file is of; anything may stand here
    os.utime(path, (now, changed))
    return Member(header.name, header.size, reader.digest, changed)


def _read_manifest(data: bytes) -> dict[str, Any]:
    try:
        about = json.loads(data)
        files = [(str(one["name"]), int(one["size"]), str(one["digest"])) for one in about["files"]]
        if about["format"] != FORMAT:
            raise Unfit(f"it is of another format ({str(about['format'])[:20]}), this version reads {FORMAT}")
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unfit("its list of files is missing or damaged") from None
    return {**about, "files": [dict(zip(("name", "size", "digest"), one, strict=True)) for one in files]}


def _header(name: str, size: int, changed: float) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.mtime = size, 0o600, int(changed)
    return header


class _Bounded(gzip.GzipFile):
    """Headers say how long they are, too: none of them may fill the memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= MAX_SMALL_BYTES:
            raise Unfit("it has a header that is too long")
        return super().read(size)


class _Hashed(io.RawIOBase):
    """Reads so many bytes of a file, which may have grown since, and hashes them on the way."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        self._hash.update(data)
        return data

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.read(_CHUNK):
            yield chunk
