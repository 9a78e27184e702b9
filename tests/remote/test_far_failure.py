"""When a browser elsewhere dies or the wire to it is cut: callers are told in time, and the next call works again."""

import asyncio
import time
from pathlib import Path

import pytest

from pilothouse.browser import remote
from pilothouse.cdp import socket
from pilothouse.errors import Failure
from pilothouse.options import Endpoint, Grid
from tests.browser.looking import fails
from tests.promises import promise
from tests.remote.afar import Afar, chromium, furnished
from tests.remote.wire import wire
from tests.server import PageServer

pytestmark = promise("H02", "A05", "A06")


async def test_a_browser_that_dies(tmp_path: Path, site: PageServer) -> None:
    with chromium(tmp_path / "one") as first, chromium(tmp_path / "two") as second:
        house = furnished(tmp_path, Endpoint("lab", first.url))
        async with house.agent() as agent:
            await agent.call("navigate", url=site.url("small.html"))
            waiting = asyncio.create_task(agent.call("wait_for", text="never"))
            await asyncio.wait([waiting], timeout=0.1)
            first.kill()
            with pytest.raises(Failure) as gone:
                await waiting
            assert gone.value.code == "browser_gone"
            failure = await fails(agent, "browser_gone", "navigate", url=site.url("small.html"))
            assert "lab" in failure.message
            house.elsewhere.configure([Endpoint("lab", second.url)], Grid())
            answer = await agent.ask("navigate", url=site.url("small.html"))
            assert not answer.failed
            assert "tabs and cookies are gone" in answer.text
        await house.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As ever, in a tenth of the time, until it is undone."""
    for name in ("PULSE_S", "OVERDUE_S", "SILENCE_S"):
        monkeypatch.setattr(remote, name, getattr(remote, name) / 10)
    monkeypatch.setattr(socket, "CLOSE_S", socket.CLOSE_S / 10)
    return monkeypatch


def test_a_browser_that_is_silent_is_given_up_in_time() -> None:
    """Its call may have begun just after a look; the calls of most clients take up to half a minute."""
    assert 2 * remote.PULSE_S + remote.SILENCE_S < 25
    assert remote.PULSE_S + remote.OVERDUE_S < 7  # who waits for no longer than that hears the truth too


async def test_a_wire_that_is_cut_without_a_word(
    tmp_path: Path, afar: Afar, site: PageServer, impatient: pytest.MonkeyPatch
) -> None:
    async with wire(afar.port) as line:
        house = furnished(tmp_path, Endpoint("lab", f"http://127.0.0.1:{line.port}"))
        async with house.agent() as agent:
            await agent.call("navigate", url=site.url("small.html"))
            waiting = asyncio.create_task(agent.call("wait_for", text="never"))
            await asyncio.wait([waiting], timeout=0.1)
            line.cut, began = True, time.monotonic()
            with pytest.raises(Failure) as gone:
                await waiting
            assert gone.value.code == "browser_gone"
            assert "heard of" in gone.value.message
            assert time.monotonic() - began < 8
            line.cut = False
            impatient.undo()
            assert not (await agent.ask("navigate", url=site.url("small.html"))).failed
        await house.close()
        assert time.monotonic() - began < 8, "somebody waited for the goodbye of what is not there"


async def test_a_wire_that_is_closed_in_one_direction(tmp_path: Path, afar: Afar, site: PageServer) -> None:
    """Told at once; and what had begun when it happened is not begun again by whoever comes back."""
    came: list[bytes] = []
    arrived = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(await reader.readline())
        arrived.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    there = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/pay"
    async with wire(afar.port) as line:
        house = furnished(tmp_path, Endpoint("lab", f"http://127.0.0.1:{line.port}"))
        async with house.agent() as agent:
            await agent.call("navigate", url=site.url("small.html"))
            script = "return await fetch(args[0], {mode: 'no-cors', method: 'POST'})"
            paying = asyncio.create_task(agent.call("evaluate_js", expression=script, args=[there]))
            await arrived.wait()
            line.half_close()
            began = time.monotonic()
            with pytest.raises(Failure) as gone:
                await paying
            assert gone.value.code == "browser_gone"
            assert "look before you repeat it" in gone.value.suggestions[0]
            assert time.monotonic() - began < 2
            answer = await agent.ask("navigate", url=site.url("small.html"))
            assert "tabs and cookies are gone" in answer.text
            assert came == [b"POST /pay HTTP/1.1\r\n"]
        await house.close()
    server.close()


@pytest.mark.usefixtures("impatient")
async def test_a_short_deadline_tells_the_truth_too(tmp_path: Path, afar: Afar, site: PageServer) -> None:
    async with wire(afar.port) as line:
        house = furnished(tmp_path, Endpoint("lab", f"http://127.0.0.1:{line.port}"))
        async with house.agent() as agent:
            await agent.call("navigate", url=site.url("small.html"))
            line.cut = True
            failure = await fails(agent, "browser_gone", "evaluate_js", expression="1", timeout_ms=700)
            assert "has been heard of the browser at lab" in failure.message
            line.cut = False  # so that its end is quick
        await house.close()
