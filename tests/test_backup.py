"""`pilothouse backup` and `restore`: everything comes back, the log goes on, and no archive writes where it likes."""

import asyncio
import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.commands import archive
from pilothouse.guard import chain
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.keys import Keys
from pilothouse.guard.policy import Question
from pilothouse.guard.vault import Vault
from pilothouse.tool import Access
from tests.command_line import CommandLine
from tests.processes import Process, kill_daemon
from tests.promises import promise

pytestmark = promise("D14", "E08")

CONFIG = '# mine\n[limits]\nsessions = 7\n[[profiles]]\nid = "work"\n'
POLICY = 'template = "careful"\n'


async def act(log: Audit, times: int) -> None:
    for number in range(times):
        question = Question("default", "s1", "click", Access.WRITE, {"target": f"#b{number}"})
        log.after(await log.before(question), outcome="ok", duration_ms=1)


def furnish(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(CONFIG)
    (home / "policy.toml").write_text(POLICY)
    log = Audit(home, max_bytes=5000)
    asyncio.run(act(log, 40))
    log.close()
    Vault(home).put("shop", b"cookies")
    (home / "secrets.box").write_bytes(b"sealed")
    keys = Keys(home)
    keys.person()
    for name in ("default", "ci"):
        keys.agent(name)
    (home / "daemon.log").write_text("not this")
    (home / "sessions").mkdir()
    (home / "sessions" / "x.png").write_bytes(b"nor this")


@pytest.fixture
def old(tmp_path: Path) -> CommandLine:
    furnish(tmp_path / "old")
    return CommandLine(tmp_path / "old")


@pytest.fixture
def new(tmp_path: Path) -> CommandLine:
    (tmp_path / "new").mkdir(mode=0o700)
    return CommandLine(tmp_path / "new")


def content(home: Path) -> dict[str, bytes]:
    found = (one for one in home.rglob("*") if one.is_file() and not one.name.endswith(".lock"))
    return {one.relative_to(home).as_posix(): one.read_bytes() for one in found}


def test_everything_comes_back_and_the_log_goes_on(old: CommandLine, new: CommandLine, tmp_path: Path):
    file = tmp_path / "b.tar.gz"
    said = old.text("backup", str(file), "--with-keys")
    assert f"the log up to record {chain.last(old.home / NAME).number}" in said
    assert file.stat().st_mode & 0o777 == 0o600
    before = content(old.home)
    new.text("restore", str(file))
    after = content(new.home)
    assert after.keys() == before.keys() - {"daemon.log", "sessions/x.png"}
    assert all(after[name] == before[name] for name in after.keys() - {NAME})
    assert after[NAME].startswith(before[NAME])
    assert all(one.stat().st_mode & 0o077 == 0 for one in new.home.rglob("*"))
    assert Vault(new.home).get("shop") == b"cookies"
    assert Keys(new.home).who(Keys(old.home).agent("ci")) == "agent:ci"
    log = Audit(new.home)
    asyncio.run(act(log, 3))
    log.close()
    report = chain.verify_log(new.home / NAME)
    assert (report.whole, report.first) == (True, 1)
    kinds = [one.get("kind", one["event"]) for one in chain.records(new.home / NAME)]
    assert kinds[-9:] == ["start", "restored", "start", *["before", "after"] * 3]


def test_keys_stay_at_home_unless_asked_for_and_secrets_encrypted(old: CommandLine, new: CommandLine, tmp_path: Path):
    file = tmp_path / "b.tar.gz"
    assert "without keys" in old.text("backup", str(file))
    plain = gzip.decompress(file.read_bytes())
    for secret in (Keys(old.home).agent(), Keys(old.home).person(), (old.home / "state.key").read_text(), "cookies"):
        assert secret.strip().encode() not in plain
    said = new.text("restore", str(file))
    assert "saved states and secrets cannot be opened" in said
    assert "pilothouse secret start-anew" in said
    assert not list(new.home.rglob("*.key"))
    assert (new.home / "states" / "shop.state").read_bytes() == (old.home / "states" / "shop.state").read_bytes()


def test_nothing_is_overwritten_unless_forced_and_then_it_is_kept(old: CommandLine, new: CommandLine, tmp_path: Path):
    file = tmp_path / "b.tar.gz"
    old.text("backup", str(file))
    again = old.run("backup", str(file))
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    old.text("backup", str(file), "--force")
    (new.home / "config.toml").write_text("[limits]\nsessions = 1\n")
    log = Audit(new.home, max_bytes=800)
    asyncio.run(act(log, 5))
    log.close()
    (new.home / "audit-000000000099.jsonl").write_bytes(b"of another chain")
    before = content(new.home)
    refused = new.run("restore", str(file))
    assert (refused.returncode, "--force" in refused.stderr) == (1, True)
    assert content(new.home) == before
    said = new.text("restore", str(file), "--force")
    aside = next(new.home.glob("before-restore-*"))
    assert str(aside) in said
    assert content(aside) == before
    assert (new.home / "config.toml").read_text() == CONFIG
    assert chain.verify_log(new.home / NAME).whole
    told = next(one["told"] for one in chain.records(new.home / NAME) if one.get("kind") == "restored")
    assert (told["replaced_last"], told["replaced_digest"]) == chain.last(aside / NAME)[:2]


def test_refuses_while_a_daemon_runs_and_backup_does_not_mind(old: CommandLine, tmp_path: Path):
    daemon = Process("serve", home=old.home)
    try:
        daemon.read()
        file = tmp_path / "b.tar.gz"
        old.text("backup", str(file))
        refused = old.run("restore", str(file), "--force")
        assert (refused.returncode, "another daemon" in refused.stderr) == (1, True)
    finally:
        daemon.end()
        kill_daemon(old.home)
    old.text("restore", str(file), "--force")
    daemon = Process("serve", home=old.home)
    try:
        daemon.read()
    finally:
        daemon.end()
    assert chain.verify_log(old.home / NAME).whole


def test_a_changed_log_is_refused_unless_that_is_known(old: CommandLine, new: CommandLine, tmp_path: Path):
    path = chain.files(old.home / NAME)[0]
    path.write_bytes(path.read_bytes().replace(b"#b1", b"#c1"))
    file = tmp_path / "b.tar.gz"
    done = old.run("backup", str(file))
    assert (done.returncode, "not whole" in done.stderr) == (0, True)
    refused = new.run("restore", str(file))
    assert refused.returncode == 1
    assert f"{path.name}:4: changed" in refused.stderr
    assert content(new.home) == {}
    new.text("restore", str(file), "--accept-broken-log")
    told = next(one["told"] for one in chain.records(new.home / NAME) if one.get("kind") == "restored")
    assert told["whole"] is False


def test_a_log_that_is_being_written_is_taken_up_to_its_last_line(old: CommandLine, new: CommandLine, tmp_path: Path):
    with (old.home / NAME).open("ab") as file:
        file.write(b'{"n":82,"time":"20')
    old.text("backup", str(tmp_path / "b.tar.gz"))
    new.text("restore", str(tmp_path / "b.tar.gz"))
    assert chain.verify_log(new.home / NAME).torn == 0


# Archives that somebody else made


def packed(path: Path, *entries: tuple[tarfile.TarInfo, bytes], manifest: Any = None) -> Path:
    """An archive with a fitting list of its files, unless told otherwise."""
    listed = [
        {"name": header.name, "size": len(body), "digest": hashlib.sha256(body).hexdigest()} for header, body in entries
    ]
    told = json.dumps({"format": 1, "files": listed} if manifest is None else manifest).encode()
    with tarfile.open(path, "w:gz") as out:
        for header, body in entries:
            out.addfile(header, io.BytesIO(body) if header.isreg() else None)
        out.addfile(entry(archive.MANIFEST, told)[0], io.BytesIO(told))
    return path


def entry(name: str, body: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.size = len(body)
    for field, value in fields.items():
        setattr(header, field, value)
    return header, body


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("../config.toml", {}, "no file of a backup"),
        ("/etc/passwd", {}, "no file of a backup"),
        ("states/../../x.state", {}, "no file of a backup"),
        ("states/.x.state", {}, "no file of a backup"),
        ("keys/../person.key", {}, "no file of a backup"),
        ("keys/ci.key/../../x", {}, "no file of a backup"),
        ("config.toml\n", {}, "no file of a backup"),
        ("./config.toml", {}, "no file of a backup"),
        ("daemon.lock", {}, "no file of a backup"),
        ("profiles/work/Cookies", {}, "no file of a backup"),
        ("config.toml", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "no plain file"),
        ("config.toml", {"type": tarfile.LNKTYPE, "linkname": "person.key"}, "no plain file"),
        ("config.toml", {"type": tarfile.FIFOTYPE}, "no plain file"),
        ("config.toml", {"type": tarfile.CHRTYPE}, "no plain file"),
        ("states", {"type": tarfile.DIRTYPE}, "no plain file"),
    ],
)
def test_names_and_kinds_that_are_none_of_ours_are_refused(
    new: CommandLine, tmp_path: Path, name: str, fields: dict[str, Any], why: str
):
    file = packed(tmp_path / "evil.tar.gz", entry(name, **fields))
    done = new.run("restore", str(file))
    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert content(new.home) == {}
    assert not list(new.home.glob(".restore-*"))


def test_what_is_twice_too_large_too_many_or_not_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def why(file: Path) -> str:
        stage = tmp_path / f"stage-{os.urandom(4).hex()}"
        stage.mkdir()
        with pytest.raises(archive.Unfit) as caught, file.open("rb") as data:
            archive.unpack(data, stage)
        return str(caught.value)

    one, file = entry("config.toml", b"a"), tmp_path / "evil.tar.gz"
    assert "twice" in why(packed(file, one, one))
    assert "list names" in why(packed(file, one, manifest={"format": 1, "files": []}))
    assert "list of files" in why(packed(file, one, manifest=[1]))
    assert "another format" in why(packed(file, one, manifest={"format": 2, "files": []}))
    monkeypatch.setattr(archive, "MAX_SMALL_BYTES", 1000)
    assert "too large" in why(packed(file, entry("config.toml", b"x" * 1001)))
    assert "too long" in why(packed(file, entry("config.toml", pax_headers={"comment": "x" * 100_000})))
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 1000)
    assert "more than" in why(packed(file, entry(NAME, b"x" * 600), entry("config.toml", b"x" * 600)))
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    assert "more than" in why(packed(file, *(entry(f"states/{n}.state") for n in range(5))))


def test_damaged_archives_are_refused(old: CommandLine, new: CommandLine, tmp_path: Path):
    file = tmp_path / "b.tar.gz"
    old.text("backup", str(file))
    whole = file.read_bytes()
    harms: list[Callable[[bytes], bytes]] = [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"not gzip at all",
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: gzip.compress(gzip.decompress(data).replace(b"sessions = 7", b"sessions = 8")),
        lambda data: gzip.compress(b"\0" * 10_000_000),
    ]
    for harm in harms:
        file.write_bytes(harm(whole))
        done = new.run("restore", str(file))
        assert (done.returncode, done.stdout, "nothing was changed" in done.stderr) == (1, "", True), done.stderr
    assert content(new.home) == {}


def test_a_configuration_that_would_not_start_is_refused(new: CommandLine, tmp_path: Path):
    for name, text in (("config.toml", b"[limits]\nsessions = 0\n"), ("policy.toml", b"template = [")):
        done = new.run("restore", str(packed(tmp_path / "b.tar.gz", entry(name, text))))
        assert (done.returncode, f"{name} in it is not right" in done.stderr) == (1, True), done.stderr


def test_there_must_be_something_to_keep(new: CommandLine, tmp_path: Path):
    done = new.run("backup", str(tmp_path / "b.tar.gz"))
    assert (done.returncode, "nothing to keep" in done.stderr) == (1, True)
