"""Launching: no port, no process left, no directory left, and a clear word when it does not work."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from pilothouse.errors import Failure
from pilothouse.options import Browser, Profile
from pilothouse.providers import launch
from pilothouse.providers.launch import Chrome, Launcher
from tests.guard.escapes import Trap
from tests.promises import promise

LAUNCHED = Path(__file__).with_name("launched.py")


def family(folder: Path) -> set[int]:
    """Every process that works in this data directory."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(folder).encode() in command and state != "Z" and b"launched.py" not in command:
                found.add(int(entry.name))
    return found


def listening_sockets() -> set[str]:
    """Inodes of all listening TCP sockets of this machine."""
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == "0A"}


def sockets_of(pid: int) -> set[str]:
    links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()]
    return {link.removeprefix("socket:[").rstrip("]") for link in links if link.startswith("socket:")}


def until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@promise("A02")
async def test_chrome_listens_on_no_port_and_leaves_nothing(tmp_path: Path) -> None:
    chrome = await Launcher(Browser(), tmp_path).start()
    pids = family(tmp_path)
    assert len(pids) > 2
    assert not {socket for pid in pids for socket in sockets_of(pid)} & listening_sockets()
    await chrome.close()
    assert until(lambda: not family(tmp_path), 2)
    assert list((tmp_path / "browsers").iterdir()) == []


async def said_off(chrome: Chrome) -> str:
    command = Path(f"/proc/{chrome.pid}/cmdline").read_text().split("\0")
    await chrome.close()
    (said,) = [one for one in command if one.startswith("--disable-features=")]  # Chrome would take the last one alone
    return said


@promise("D04")
async def test_what_is_outside_all_contexts_reaches_nobody(tmp_path: Path) -> None:
    """Sessions have contexts with a way to the network; whatever ends up beside them has none."""
    chrome = await Launcher(Browser(), tmp_path).start()
    root = chrome.connection.root
    async with Trap() as trap:
        target = await root.send("Target.createTarget", url="about:blank")
        session = await root.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = root.child(session["sessionId"])
        ended = await page.send("Page.navigate", url=f"http://127.0.0.1:{trap.port}/")
        assert (trap.caught, ended.get("errorText")) == ([], "net::ERR_PROXY_CONNECTION_FAILED")
    await chrome.close()


@promise("A02")
@pytest.mark.parametrize(
    ("root", "sandbox", "has_one"),
    [(True, "auto", False), (True, True, True), (False, "auto", True), (False, False, False)],
)
def test_without_its_sandbox_only_where_it_must_be_and_not_in_silence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    root: bool,
    sandbox: Literal["auto"] | bool,
    has_one: bool,
) -> None:
    monkeypatch.setattr(launch, "_is_root", lambda: root)
    flags = Launcher(Browser(sandbox=sandbox), tmp_path)._flags(launch._Plan(tmp_path, 9, headless=True))
    assert ("--no-sandbox" not in flags) == has_one
    assert ("without its sandbox" not in caplog.text) == has_one


@promise("B10", "B12")
async def test_only_where_sessions_take_turns_no_renderer_is_kept_in_reserve(tmp_path: Path) -> None:
    launcher = Launcher(Browser(), tmp_path)
    assert "SpareRendererForSitePerProcess" in await said_off(await launcher.start())
    profile = await launcher.start_profile(Profile("work", "Work"), tmp_path / "work", port=9, headless=True)
    assert "SpareRendererForSitePerProcess" not in await said_off(profile)


@promise("A02")
def test_chrome_is_gone_after_its_owner_was_killed_and_its_directory_at_the_next_start(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, LAUNCHED, tmp_path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    assert int(owner.stdout.readline())
    assert family(tmp_path)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert until(lambda: not family(tmp_path), 2)
    left = list((tmp_path / "browsers").iterdir())
    assert len(left) == 1

    async def start_again() -> None:
        chrome = await Launcher(Browser(), tmp_path).start()
        assert not left[0].exists()
        await chrome.close()

    asyncio.run(start_again())


@promise("A02")
async def test_its_death_is_known_at_once(tmp_path: Path) -> None:
    chrome = await Launcher(Browser(), tmp_path).start()
    os.killpg(chrome.pid, signal.SIGKILL)
    await asyncio.wait_for(asyncio.shield(chrome.connection.closed), 2)
    await chrome.close()


@promise("A02")
async def test_a_wrong_path_says_so(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no browser at /nowhere"):
        await Launcher(Browser(path="/nowhere"), tmp_path).start()


@promise("A02")
async def test_what_cannot_be_run_says_so(tmp_path: Path) -> None:
    odd = script(tmp_path / "odd", "\x00\x01 no program at all")
    with pytest.raises(Failure, match="cannot be run") as wrong:
        await Launcher(Browser(path=odd), tmp_path).start()
    assert wrong.value.code == "system"
    assert list((tmp_path / "browsers").iterdir()) == []


@promise("A02")
async def test_a_browser_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    odd = script(tmp_path / "odd", "#!/bin/sh\necho 'a library is missing' >&2\nexit 3\n")
    with pytest.raises(Failure, match="did not start") as wrong:
        await Launcher(Browser(path=odd), tmp_path).start()
    assert "a library is missing" in wrong.value.details["stderr"]


@promise("A02")
async def test_a_browser_that_never_answers_is_ended(tmp_path: Path) -> None:
    odd = script(tmp_path / "odd", f"#!/bin/sh\nexec sleep 60 # {tmp_path}\n")
    with pytest.raises(Failure, match="did not start"):
        await Launcher(Browser(path=odd), tmp_path, start_timeout_s=0.3).start()
    assert until(lambda: not family(tmp_path), 2)
