"""The audit log: what is written, what happens when it cannot be, and what verify sees."""

import asyncio
import base64
import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard import chain, syncing
from pilothouse.guard.audit import NAME, Audit
from pilothouse.guard.policy import Question
from pilothouse.tool import Access
from tests.promises import promise

pytestmark = promise("D13")


def question(access: Access = Access.WRITE, name: str = "fill", /, **args: Any) -> Question:
    urls = ("http://localhost/?token=abc",)
    return Question(caller="default", session="s1", tool=name, access=access, args=args, urls=urls)


def check(home: Path) -> chain.Report:
    return chain.verify(chain.files(home / NAME))


async def act(log: Audit, times: int = 1, /, **args: Any) -> None:
    for _ in range(times):
        log.after(await log.before(question(**args)), outcome="ok", duration_ms=1.25)


@pytest.fixture
async def log(tmp_path: Path):
    one = Audit(tmp_path)
    yield one
    one.close()


async def test_one_line_before_and_one_after(log: Audit, tmp_path: Path):
    number = await log.before(question(target="#name", value="Eve"))
    log.after(number, outcome="ok", duration_ms=12.34)
    before, after = log.tail(2)
    assert (before["event"], before["tool"], before["access"], before["n"]) == ("before", "fill", "write", number)
    assert before["args"] == {"target": "#name", "value": "(3 characters)"}
    assert (after["event"], after["of"], after["outcome"], after["ms"]) == ("after", number, "ok", 12.3)
    assert after["prev"] == before["hash"]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    report = check(tmp_path)
    assert (report.whole, report.records, report.last, report.unfinished) == (True, 3, 3, [])


async def test_arguments_are_redacted_and_short(log: Audit):
    fields = [{"target": "#card-number", "value": "4111"}, {"target": "#note", "value": "hello"}]
    await act(log, password="hunter2", expression="x" * 5000, fields=fields, many=list(range(100)))
    await act(log, target="input[name=password]", text="hunter2")
    await act(log, deep={"a" * 200: [["z" * 299] * 20] * 20}, odd="\ud800", huge=1 << 70)
    one, _, two, _, three, _ = log.tail(6)
    assert one["args"]["password"] == "[redacted]"
    assert one["args"]["fields"][0] == {"target": "#card-number", "value": "(4 characters)"}
    assert len(one["args"]["expression"]) < 400
    assert len(one["args"]["many"]) == 21
    assert two["args"]["text"] == "(7 characters)"
    assert three["args"]["cut"] == ["deep", "odd", "huge"]
    assert one["urls"] == ["http://localhost/?token=[redacted]"]


async def test_what_goes_into_a_page_is_never_written(log: Audit, tmp_path: Path):
    steps = [{"tool": "type_text", "args": {"selector": "#pw", "text": "hunter2"}}, {"tool": "press_key"}]
    write, sensitive = Access.WRITE, Access.SENSITIVE
    for one in (
        question(write, "batch", steps=steps, session="s1"),
        question(write, "handle_dialog", accept=True, text="hunter2"),
        question(sensitive, "upload_file", files=[{"name": "a.txt", "data": "hunter2"}]),
        question(sensitive, "evaluate_js", expression="(a) => a", args=["hunter2", {"x": "hunter2"}]),
        question(write, "odd", a=[{"b": {"selector": "#pw", "value": ["hunter2"]}}]),
    ):
        await log.before(one)
    batch, dialog, upload, script, odd = (record["args"] for record in log.tail(5))
    assert batch == {"steps": ["type_text", "press_key"], "session": "s1"}
    assert dialog == {"accept": True, "text": "(7 characters)"}
    assert upload == {"files": [{"name": "a.txt", "data": "(7 characters)"}]}
    assert script == {"expression": "(a) => a", "args": "(2 items)"}
    assert odd == {"a": [{"b": {"selector": "#pw", "value": "(11 characters)"}}]}
    assert b"hunter2" not in (tmp_path / NAME).read_bytes()


async def test_what_is_looked_for_is_written(log: Audit):
    await log.before(question(Access.READ, "find", text="Sign in", target="main"))
    assert log.tail(1)[0]["args"] == {"text": "Sign in", "target": "main"}


async def test_actions_are_on_the_disk_first_and_reads_do_not_wait(log: Audit, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    monkeypatch.setattr(syncing, "to_disk", synced.append)
    await log.before(question(Access.READ))
    await log.before(question(Access.VISIT))
    assert not synced
    await log.before(question(Access.WRITE))
    await log.before(question(Access.SENSITIVE))
    assert len(synced) == 2


async def test_actions_that_come_together_share_a_sync(log: Audit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    synced: list[int] = []
    monkeypatch.setattr(syncing, "to_disk", synced.append)
    numbers = await asyncio.gather(*(log.before(question()) for _ in range(20)))
    assert sorted(numbers) == numbers
    assert len(synced) < 5
    assert check(tmp_path).unfinished == numbers


async def test_what_cannot_be_recorded_is_refused(log: Audit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    number = await log.before(question())
    write = os.write

    def full(file: int, line: bytes) -> int:
        return write(file, line[:10]) if os.fstat(file).st_ino == (tmp_path / NAME).stat().st_ino else write(file, line)

    monkeypatch.setattr(os, "write", full)
    log.after(number, outcome="ok", duration_ms=1)
    with pytest.raises(Failure, match="No space left on device") as caught:
        await log.before(question())
    assert caught.value.code == "system"
    monkeypatch.undo()
    await act(log)
    report = check(tmp_path)
    assert (report.whole, report.torn, report.unfinished) == (True, 0, [])
    assert [record["event"] for record in log.tail(4)] == ["before", "after", "before", "after"]


async def test_failing_sync_refuses_the_action(log: Audit, monkeypatch: pytest.MonkeyPatch):
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(syncing, "to_disk", fail)
    with pytest.raises(Failure, match="Input/output error"):
        await log.before(question())


async def test_a_log_that_is_closed_touches_no_file_that_has_its_number_now(tmp_path: Path):
    log = Audit(tmp_path)
    number = log._file
    log.close()
    (tmp_path / "other").touch()
    other = os.open(tmp_path / "other", os.O_RDONLY)
    assert other == number  # the system gives the lowest that is free
    log.note("late")
    with pytest.raises(Failure, match="cannot be written"):
        await log.before(question())
    os.fstat(other)
    os.close(other)


async def test_unwritable_home_is_said_at_the_start(tmp_path: Path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(Failure, match="cannot be written"):
        Audit(tmp_path)


async def test_chain_goes_on_across_files_and_restarts(tmp_path: Path):
    for _ in range(3):
        log = Audit(tmp_path, max_bytes=3000)
        await act(log, 10)
        assert len(log.tail(1000)) == check(tmp_path).records
        log.close()
    files = chain.files(tmp_path / NAME)
    assert len(files) > 5
    assert all(path.stat().st_size <= 3000 for path in files)
    report = chain.verify(files)
    assert (report.whole, report.first, report.records, report.last) == (True, 1, 63, 63)
    assert not chain.verify(files[:2] + files[3:]).whole


@promise("F07")
@pytest.mark.parametrize("look", [lambda log: log.after_number(2, 100), lambda log: log.before_number(0, 100)[2:]])
async def test_a_log_that_rotates_while_it_is_read_has_no_gap(
    log: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[Audit], list[dict[str, Any]]]
):
    """Whoever missed something asks for what follows, and takes what comes for all of it."""
    await act(log, 5)
    listed = chain.files

    def rotated_then(path: Path) -> list[Path]:
        monkeypatch.setattr(chain, "files", listed)
        found = listed(path)
        path.rename(chain.rotated_name(path, 11))
        lines = chain.rotated_name(path, 11).read_bytes().splitlines(keepends=True)
        path.write_bytes(chain.seal({"n": 12, "event": "note", "time": ""}, chain.unseal(lines[-1])["hash"])[0])  # type: ignore[index]
        return found

    monkeypatch.setattr(chain, "files", rotated_then)
    assert [one["n"] for one in look(log)] == list(range(3, 13))


async def test_half_a_line_after_a_crash_is_named_and_passed(tmp_path: Path):
    log = Audit(tmp_path)
    await act(log)
    log.close()
    (tmp_path / NAME).write_bytes((tmp_path / NAME).read_bytes() + b'{"n":4,"time":"2026')
    assert (check(tmp_path).whole, check(tmp_path).torn) == (True, 1)
    log = Audit(tmp_path)
    await act(log)
    torn, start = log.tail(4)[:2]
    log.close()
    assert (torn["event"], torn["bytes"], start["event"]) == ("torn", 19, "start")
    assert (check(tmp_path).whole, check(tmp_path).torn, check(tmp_path).last) == (True, 1, 7)


async def test_half_a_first_line_of_a_new_file_keeps_the_count(tmp_path: Path):
    log = Audit(tmp_path)
    await act(log)
    log.close()
    (tmp_path / NAME).rename(chain.rotated_name(tmp_path / NAME, 3))
    (tmp_path / NAME).write_bytes(b'{"n":4')
    log = Audit(tmp_path)
    await act(log)
    log.close()
    assert (check(tmp_path).whole, check(tmp_path).last) == (True, 7)


@pytest.mark.parametrize("forge", ["change", "remove", "insert", "swap", "head"])
async def test_verify_sees_every_forgery(log: Audit, tmp_path: Path, forge: str):
    await act(log, 5)
    path = tmp_path / NAME
    lines = path.read_bytes().splitlines(keepends=True)
    if forge == "change":
        lines[3] = lines[3].replace(b'"fill"', b'"kill"')
    elif forge == "remove":
        del lines[4]
    elif forge == "insert":
        lines.insert(4, chain.seal({"n": 5, "event": "after", "of": 4}, "1" * 64)[0])
    elif forge == "swap":
        lines[4], lines[5] = lines[5], lines[4]
    else:
        del lines[:2]
    path.write_bytes(b"".join(lines))
    report = check(tmp_path)
    assert not report.whole
    assert report.faults


async def test_log_deleted_under_our_hands_is_begun_again_and_seen(log: Audit, tmp_path: Path):
    await act(log)
    (tmp_path / NAME).unlink()
    await act(log)
    assert check(tmp_path).records == 2
    assert not check(tmp_path).whole


async def test_old_files_go_and_the_rest_still_proves_itself(tmp_path: Path):
    log = Audit(tmp_path, max_bytes=3000, retention_days=1)
    await act(log, 20)
    old = chain.files(tmp_path / NAME)[:2]
    for path in old:
        os.utime(path, (0, time.time() - 90_000))
    await act(log, 10)
    log.close()
    assert not any(path.exists() for path in old)
    report = check(tmp_path)
    assert report.whole, report.faults
    assert report.first > 1
    chain.files(tmp_path / NAME)[0].unlink()
    assert not check(tmp_path).whole


@pytest.mark.parametrize("size", [400, 20_000])
async def test_a_token_longer_than_the_line_is_redacted_before_it_is_cut(log: Audit, size: int):
    claims = base64.urlsafe_b64encode(json.dumps({"who": "ada", "pad": "x" * size}).encode()).decode().rstrip("=")
    token = f"eyJhbGciOiJIUzI1NiJ9.{claims}.abcdefghijklmnop"
    await log.before(question(target=f"see {token}"))
    (line,) = log.tail(1)
    assert claims[:20] not in json.dumps(line)
    assert "characters)" in line["args"]["target"]


async def test_keys_that_write_are_not_in_the_log(log: Audit) -> None:
    """A password typed key by key could be read there."""
    for key in ("h", "Shift+H", "Enter", "Control+a", "Shift+Tab"):
        await log.before(question(Access.WRITE, "press_key", key=key))
    told = [one["args"]["key"] for one in log.tail(5)]
    assert told == ["(1 character)", "(1 character)", "Enter", "Control+a", "Shift+Tab"]
