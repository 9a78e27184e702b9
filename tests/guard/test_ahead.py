"""What Chrome does around its proxy, seen from outside: UDP, and looking up names. Our launch flags stop both."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.providers import launch
from tests.guard.escapes import ALLOWED, NEVER, Trap, Web
from tests.house import House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D04")

NAMES = (
    "<link rel=dns-prefetch href=http://prefetched.example><link rel=preconnect href=http://connected.example>"
    "<img src=http://picture.example/><script>onload = () => document.title = 'done'</script>"
)
LOOKS_UP = {"DNS_TRANSACTION", "HOST_RESOLVER_SYSTEM_TASK", "HOST_RESOLVER_DNS_TASK", "HOST_RESOLVER_MDNS_TASK"}


async def visited(house: House, url: str, *, profile: str = "") -> None:
    agent = house.agent()
    if profile:
        await agent.call("create_profile", name=profile)
        await agent.call("open_session", profile=profile)
    await agent.call("navigate", url=url)
    await agent.call("wait_for", function="document.title == 'done'")


def without(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    kept = tuple(flag for flag in launch._FLAGS if not any(part in flag for part in parts))
    assert len(kept) == len(launch._FLAGS) - len(parts)
    monkeypatch.setattr(launch, "_FLAGS", kept)


async def test_webrtc_sends_no_datagram(tmp_path: Path, site: PageServer):
    house = House(tmp_path)
    async with Trap() as trap:
        await visited(house, NEVER["STUN"](Web(site, trap)))
        assert trap.caught == []
    await house.close()


async def test_without_our_flag_it_would(tmp_path: Path, site: PageServer, monkeypatch: pytest.MonkeyPatch):
    without(monkeypatch, "--webrtc-ip-handling-policy")
    house = House(tmp_path)
    async with Trap() as trap:
        await house.agent().call("navigate", url=NEVER["STUN"](Web(site, trap)))
        await asyncio.wait_for(trap.arrival.wait(), 20)
        assert trap.caught[0].startswith(b"UDP ")
    await house.close()


@pytest.mark.parametrize("held", [True, False])
async def test_chrome_looks_up_no_name(tmp_path: Path, site: PageServer, monkeypatch: pytest.MonkeyPatch, held: bool):
    """Its own network log is the witness. Without proxy and flag it looks them up."""
    noted = tmp_path / "net.json"
    if not held:
        without(monkeypatch, "--host-resolver-rules")
        monkeypatch.setattr(launch.Launcher, "_flags", _direct(launch.Launcher._flags))
    monkeypatch.setattr(launch, "_FLAGS", (*launch._FLAGS, f"--log-net-log={noted}"))
    house = House(tmp_path, hosts={ALLOWED: "127.0.0.1"})
    async with Trap() as trap:
        await visited(house, Web(site, trap).page(NAMES), profile="names")
    await house.close()
    found = looked_up(noted.read_text())
    assert ("picture.example" in found) is not held
    assert ("prefetched.example" in found) is not held
    assert not held or not found


def _direct(flags: Any) -> Any:
    return lambda self, plan: [*flags(self, plan), "--no-proxy-server"]


def looked_up(text: str) -> str:
    """Everything that the log says about questions to anybody; it may end in the middle."""
    try:
        log = json.loads(text)
    except ValueError:
        log = json.loads(text.rstrip().rstrip(",") + "]}")
    names = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    kinds = {number for number, name in names.items() if any(name.startswith(kind) for kind in LOOKS_UP)}
    assert kinds
    jobs = {event["source"]["id"] for event in log["events"] if event["type"] in kinds}
    return " ".join(json.dumps(event.get("params", {})) for event in log["events"] if event["source"]["id"] in jobs)
