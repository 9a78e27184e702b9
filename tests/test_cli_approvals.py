"""D07: a person sees in a terminal exactly what would happen, and answers there."""

import asyncio
import json
import os
import select
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.commands.approvals import described
from pilothouse.commands.person import plain
from pilothouse.guard.policy import Aim, Decision, Question
from pilothouse.tool import Access
from tests.command_line import CommandLine
from tests.daemon_here import Here, daemon_here
from tests.processes import PILOTHOUSE
from tests.promises import promise

pytestmark = promise("D07", "D08")

DECISION = Decision(verdict="ask", rule="rule of the test", risk="medium", why="it buys")
NASTY = "Pay\x1b[2J\x1b]0;title\x07\u202e\nid 1"


def question(**changed: Any) -> Question:
    given: dict[str, Any] = {
        "caller": "default",
        "session": "s1",
        "tool": "click",
        "access": Access.WRITE,
        "args": {"target": "e1", "note": "token=abcdefghijklmnop"},
        "urls": ("https://shop.test/cart",),
        "tab": "t1",
        "document": "L1",
        "aims": (Aim(role="button", name="Buy"),),
        **changed,
    }
    return Question(**given)


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    async with daemon_here(tmp_path_factory.mktemp("here")) as one:
        yield one


@pytest.fixture
async def line(here: Here) -> AsyncIterator[CommandLine]:
    yield CommandLine(here.home)
    here.gate.approvals.session_closed("s1")


async def run(line: CommandLine, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(line.run, "approvals", *arguments)


async def waiting(here: Here, decision: Decision = DECISION, **changed: Any) -> "tuple[asyncio.Task[bool], str]":
    call = asyncio.create_task(here.gate.approvals.ask(question(**changed), decision))
    await asyncio.sleep(0)
    return call, here.gate.approvals.pending()[-1]["id"]


async def test_nothing_waits(line: CommandLine):
    assert (await run(line)).stdout == "nothing waits for you\n"
    assert (await run(line, "grants")).stdout == "nothing is allowed beyond single calls\n"


async def test_what_would_happen_is_shown(here: Here, line: CommandLine):
    call, ident = await waiting(here)
    shown = (await run(line)).stdout
    for part in (
        ident,
        "click",
        "risk medium",
        "rule of the test",
        "it buys",
        'button "Buy"',
        '"https://shop.test/cart"',
    ):
        assert part in shown
    assert '"e1"' in shown
    more = ", also sending, deleting and passwords; not payments"
    session, domain = f"click on all sites{more}", f"changes on shop.test{more}, not scripts"
    ends = "until the session ends"
    assert f"allow    this call, once; --session: {session}, {ends}; --domain: {domain}, {ends}" in shown
    assert "abcdefghijklmnop" not in shown
    assert json.loads((await run(line, "--json")).stdout)["pending"][0]["id"] == ident
    call.cancel()


async def test_why_it_is_asked_stands_before_what_is_not_held(here: Here, line: CommandLine):
    call, _ = await waiting(here, browser="extension")
    rows = [row.split()[0] for row in (await run(line)).stdout.splitlines()]
    assert rows.index("why") < rows.index("page") < rows.index("limits") < rows.index("allow")
    call.cancel()


async def test_page_text_is_data(here: Here, line: CommandLine):
    call, _ = await waiting(here, aims=(Aim(role="button", name=NASTY),), args={"target": NASTY})
    shown = (await run(line)).stdout
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert not any(row.startswith("id 1") for row in shown.splitlines())
    call.cancel()


def test_plain_spells_out_what_cannot_be_seen():
    assert plain("a\x1b[2J\u202eb\n\u200b é") == "a\\x1b[2J\\u202eb\\n\\u200b é"


def test_a_daemon_of_another_make_is_not_believed_either():
    """What is printed is escaped here too, whoever sent it."""
    told = {
        "id": "a1", "tool": NASTY, "risk": "high", "rule": NASTY, "why": NASTY, "aims": [{"role": NASTY, "name": NASTY}],
        "urls": [NASTY], "args": {NASTY: NASTY}, "caller": NASTY, "session": NASTY, "browser": NASTY,
    }  # fmt: skip
    assert all(one.isprintable() or one == "\n" for one in described(told))
    assert "id 1" not in [row[:4] for row in described(told).splitlines()]


async def test_allow_and_deny(here: Here, line: CommandLine):
    call, ident = await waiting(here)
    done = await run(line, "allow", ident)
    assert (done.returncode, done.stdout) == (0, f"{ident} click allowed: this call, once, by person\n")
    assert await call
    call, ident = await waiting(here)
    assert (await run(line, "deny", ident)).returncode == 0
    assert "a person said no" in str((await asyncio.gather(call, return_exceptions=True))[0])
    late = await run(line, "allow", ident)
    assert late.returncode == 1
    assert "denied by person" in late.stderr


async def test_scopes_grants_and_revoke(here: Here, line: CommandLine):
    call, ident = await waiting(here)
    assert "click on all sites, also" in (await run(line, "allow", ident, "--session")).stdout
    assert await call
    (grant,) = json.loads((await run(line, "grants", "--json")).stdout)
    assert f"{grant['id']}  click on all sites, also sending, deleting" in (await run(line, "grants")).stdout
    assert (await run(line, "revoke", grant["id"])).returncode == 0
    assert (await run(line, "revoke", grant["id"])).returncode == 1
    call, ident = await waiting(here)
    assert "changes on shop.test, also sending" in (await run(line, "allow", ident, "--domain")).stdout
    assert await call


async def test_what_cannot_be_allowed_for_longer(here: Here, line: CommandLine):
    call, ident = await waiting(here, Decision(verdict="ask", rule="r", risk="high"))
    refused = await run(line, "allow", ident, "--session")
    assert refused.returncode == 2
    assert "can be allowed for: once" in refused.stderr
    call.cancel()


async def test_without_a_daemon(tmp_path: Path):
    for arguments in ((), ("--watch",), ("allow", "a1"), ("grants",)):
        done = await run(CommandLine(tmp_path), *arguments)
        assert done.returncode == 1
        assert "no daemon is running" in done.stderr


def watching(line: CommandLine) -> "subprocess.Popen[str]":
    command = [PILOTHOUSE, "approvals", "--watch", "--json"]
    pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=line.environment, **pipes)


async def test_watch_as_lines_for_programs(here: Here, line: CommandLine):
    child = watching(line)
    assert child.stdout
    try:
        assert json.loads(await asyncio.to_thread(child.stdout.readline))["kind"] == "state"
        call, ident = await waiting(here)
        told = json.loads(await asyncio.to_thread(child.stdout.readline))
        assert (told["kind"], told["approval"]["id"]) == ("pending", ident)
        await here.gate.approvals.answer(ident, "allow")
        assert json.loads(await asyncio.to_thread(child.stdout.readline))["approval"]["outcome"] == "allowed"
        assert await call
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


class Terminal:
    """`pilothouse approvals --watch` with a terminal of its own."""

    def __init__(self, line: CommandLine) -> None:
        self._screen, inner = os.openpty()
        self._child = subprocess.Popen(
            [PILOTHOUSE, "approvals", "--watch"], env=line.environment, stdin=inner, stdout=inner, stderr=inner
        )
        os.close(inner)
        self.shown = ""

    def until(self, text: str, timeout_s: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.shown:
            assert select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))[0], self.shown
            self.shown += os.read(self._screen, 65536).decode()

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._screen)


@pytest.fixture
async def terminal(line: CommandLine) -> AsyncIterator[Terminal]:
    made = Terminal(line)
    await asyncio.to_thread(made.until, "waiting for questions")
    yield made
    made.end()


async def pressed_when_read(terminal: Terminal, key: str) -> None:
    await asyncio.to_thread(terminal.until, "[n] deny")
    await asyncio.sleep(1.0)  # a person reads
    terminal.press(key)


@pytest.mark.parametrize(("key", "scope"), [("a", "once"), ("s", "session"), ("O", "domain")])
async def test_a_key_says_yes(here: Here, terminal: Terminal, key: str, scope: str):
    call, ident = await waiting(here)
    await pressed_when_read(terminal, key)
    assert await asyncio.wait_for(call, 10)
    assert here.gate.approvals.recent()[0]["scope"] == scope
    await asyncio.to_thread(terminal.until, f"{ident} click allowed")


@pytest.mark.parametrize("key", ["n", "d", "D"])
async def test_a_key_says_no(here: Here, terminal: Terminal, key: str):
    call, _ = await waiting(here)
    await pressed_when_read(terminal, key)
    assert "a person said no" in str((await asyncio.gather(call, return_exceptions=True))[0])


async def test_keys_pressed_before_a_question_answer_nothing(here: Here, terminal: Terminal):
    terminal.press("aaaa")
    call, ident = await waiting(here)
    await asyncio.to_thread(terminal.until, "[n] deny")
    terminal.press("a")  # at the very moment it is shown
    terminal.press("aa")
    assert here.gate.approvals.find(ident)
    await asyncio.sleep(1.2)
    assert not call.done()
    terminal.press("x")
    await asyncio.sleep(0.5)
    terminal.press("n")
    assert "a person said no" in str((await asyncio.gather(call, return_exceptions=True))[0])


async def test_an_answer_elsewhere_ends_the_question_in_the_terminal(here: Here, terminal: Terminal):
    call, ident = await waiting(here)
    await asyncio.to_thread(terminal.until, "[n] deny")
    await here.gate.approvals.answer(ident, "deny", by="panel")
    await asyncio.to_thread(terminal.until, "denied by panel")
    await asyncio.gather(call, return_exceptions=True)
