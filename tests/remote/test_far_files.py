"""Files between two machines: what is given arrives with its name and bytes, what a page gives comes here."""

import base64
import hashlib
from pathlib import Path

import msgspec
import pytest

from pilothouse.browser import courier, upload
from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("H02", "A22", "A19")

LARGE = bytes(range(256)) * 16_000  # several parts


async def test_a_download_comes_here(guest: Agent, lab: House, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("download.html"))
    await guest.call("click", target="text=Report")
    one = await guest.call("wait_for_download")
    assert (one["name"], one["state"], one["bytes"]) == ("report.bin", "completed", 5000)
    assert Path(one["path"]).is_relative_to(lab.home / "sessions")
    assert Path(one["path"]).read_bytes() == (b"pilothouse " * 455)[:5000]


async def test_a_large_one_that_a_page_made_itself(guest: Agent, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("download.html"))
    script = """const bytes = new Uint8Array(16000 * 256).map((_, at) => at % 256);
        const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob([bytes]));
        a.download = 'large.bin'; a.click(); return 0"""
    await guest.call("evaluate_js", expression=script)
    one = await guest.call("wait_for_download")
    assert one["bytes"] == len(LARGE) > 2 * courier.PART_BYTES
    assert hashlib.sha256(Path(one["path"]).read_bytes()).digest() == hashlib.sha256(LARGE).digest()


async def test_an_empty_one(guest: Agent, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("download.html"))
    script = "const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob([])); a.download = 'none'"
    await guest.call("evaluate_js", expression=f"{script}; a.click(); return 0")
    one = await guest.call("wait_for_download")
    assert (one["state"], one["bytes"]) == ("completed", 0)


async def test_a_large_file_is_given(guest: Agent, lab: House, site: PageServer) -> None:
    (root,) = lab.sessions.terms.upload_roots
    root.mkdir(exist_ok=True)
    (root / "large.bin").write_bytes(LARGE)
    await guest.call("navigate", url=site.url("upload.html"))
    await guest.call("upload_file", target="#one", paths=[str(root / "large.bin")])
    hashed = """const bytes = await one.files[0].arrayBuffer();
        return [one.files[0].name, bytes.byteLength, new Uint8Array(bytes).every((b, at) => b === at % 256)]"""
    assert await guest.js(hashed) == ["large.bin", len(LARGE), True]


async def test_a_page_that_changed_its_own_world_changes_nothing(guest: Agent, site: PageServer) -> None:
    await guest.call("navigate", url=site.url("upload.html"))
    broken = "window.DataTransfer = window.File = window.atob = () => { throw 1 }; window.phGiven = 1; return 0"
    await guest.call("evaluate_js", expression=broken)
    file = {"name": "a.txt", "data": base64.b64encode(b"hello").decode()}
    await guest.call("upload_file", target="#one", files=[file])
    assert await guest.js("one.files[0].name") == "a.txt"


async def test_too_much_is_refused(guest: Agent, lab: House, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MAX_BYTES", 10)
    (root,) = lab.sessions.terms.upload_roots
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_bytes(b"hello, hello")
    await guest.call("navigate", url=site.url("upload.html"))
    await fails(guest, "over_limit", "upload_file", target="#one", paths=[str(root / "a.txt")])


@promise("B08")
async def test_several_at_once_share_the_quota(lab: House, site: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would fit by itself; what does not fit beside the others is told, and leaves nothing."""
    monkeypatch.setattr(lab.sessions, "terms", msgspec.structs.replace(lab.sessions.terms, quota_bytes=5_000_000))
    async with lab.agent() as agent:
        session = (await agent.call("open_session"))["session"]
        await agent.call("navigate", url=site.url("download.html"))
        script = """for (const name of ['one', 'two']) {
            const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob([new Uint8Array(4e6)]));
            a.download = name; a.click() } return 0"""
        await agent.call("evaluate_js", expression=script)
        states = [(await agent.call("wait_for_download"))["state"] for _ in range(2)]
        assert sorted(states) == ["canceled", "completed"]
        kept = [file.stat().st_size for file in (lab.home / "sessions" / session).rglob("*") if file.is_file()]
        assert kept == [4_000_000]
