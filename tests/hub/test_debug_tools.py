"""The three debug tools, from a browser's announcement to what an agent reads."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from pilothouse.errors import Failure
from pilothouse.guard.policy import Decision
from pilothouse.guard.rules import read_rules
from pilothouse.hub import own
from tests.daemon_here import ALLOW
from tests.hub.test_signaling import ANN, Hubbed, announce, hubbed
from tests.promises import promise

__all__ = ["hubbed"]

pytestmark = promise("C03", "G07")


async def call(hubbed: Hubbed, tool: str, **args: Any) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {hubbed.here.agent}"}
    async with httpx.AsyncClient(base_url=hubbed.here.url, headers=headers, timeout=20) as client:
        return (await client.post(f"/api/tools/{tool}", json=args)).json()


async def test_an_agent_finds_the_failing_request(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    assert "no tab is offered" in (await call(hubbed, "browser_debug_list_tabs"))["metadata"]["text"]
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        for number, status in enumerate((200, 500)):
            shared = {"request_id": str(number), "timestamp": 5}
            for event, data in (
                ("request", {"method": "GET", "url": f"http://x.test/{number}"}),
                ("response", {"status": status}),
            ):
                said = {
                    "type": "browser_debug_network_event",
                    "token": token,
                    "event": event,
                    "data": {**shared, **data},
                }
                await browser.send(json.dumps(said))
        entry = {"timestamp": 6, "level": "error", "message": "password=hunter2-hunter2 is wrong"}
        await browser.send(json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}))
        await browser.send('{"type":"alive"}')
        await browser.recv()

        (tab,) = (await call(hubbed, "browser_debug_list_tabs"))["data"]["tabs"]
        assert tab["cocoon_name"] == "mine"
        told = await call(hubbed, "browser_debug_get_network", token=tab["token"], status_min=400)
        assert [one["url"] for one in told["data"]["requests"]] == ["http://x.test/1"]
        assert "GET 500 http://x.test/1" in told["metadata"]["text"]
        told = await call(
            hubbed, "browser_debug_get_console", token=tab["token"], level=["error"], message_pattern="wrong"
        )
        assert len(told["data"]["entries"]) == 1
        assert "hunter2" not in json.dumps(told)
        assert told["data"]["entries"][0]["message"].endswith("is wrong")
        bad = await call(hubbed, "browser_debug_get_network", token=tab["token"], url_pattern="(")
        assert bad["error"]["code"] == "bad_request"


async def test_another_users_tab_is_not_there(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with hubbed.browser(ANN) as browser, hubbed.client(ANN) as anns:
        await announce(browser, hubbed, "anns")
        assert (await call(hubbed, "browser_debug_list_tabs"))["data"]["tabs"] == []
        await anns.send('{"type": "browser_debug_list_tabs"}')
        handle = json.loads(await anns.recv())["tabs"][0]["token"]
        for tool in ("browser_debug_get_network", "browser_debug_get_console"):
            assert (await call(hubbed, tool, token=handle))["error"]["code"] == "not_found"


@pytest.mark.parametrize("rules", ['[[rules]]\nhost = "*.localhost"\nread = false\n', 'template = "locked"\n'])
async def test_what_the_policy_forbids_is_not_told(hubbed: Hubbed, rules: str):
    hubbed.here.decide = lambda question: ALLOW if question.tool == "browser_debug_list_tabs" else None
    async with hubbed.browser() as browser:
        await announce(browser, hubbed, "mine")
        handle = (await call(hubbed, "browser_debug_list_tabs"))["data"]["tabs"][0]["token"]
        hubbed.here.gate._policy.replace(read_rules(rules))
        told = await call(hubbed, "browser_debug_list_tabs")
        assert told["data"]["tabs"] == []
        assert told["metadata"]["text"] == "0 tabs; the policy forbids to read 1 more"
        for tool in ("browser_debug_get_network", "browser_debug_get_console"):
            assert (await call(hubbed, tool, token=handle))["error"]["code"] == "denied"


async def test_requests_to_a_host_that_may_not_be_read_are_left_out(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        urls = (
            "http://x.test/",
            "https://bank.test/a?b",
            "wss://bank.test/",
            "blob:http://bank.test/1",
            "HTTP://bank.test",
        )
        for number, url in enumerate(urls):
            data = {"request_id": str(number), "timestamp": number, "method": "GET", "url": url}
            said = {"type": "browser_debug_network_event", "token": token, "event": "request", "data": data}
            await browser.send(json.dumps(said))
        await browser.send('{"type":"alive"}')
        await browser.recv()
        handle = (await call(hubbed, "browser_debug_list_tabs"))["data"]["tabs"][0]["token"]
        assert len((await call(hubbed, "browser_debug_get_network", token=handle))["data"]["requests"]) == 5
        hubbed.here.gate._policy.replace(read_rules('[[rules]]\nhost = "bank.test"\nread = false\n'))
        told = await call(hubbed, "browser_debug_get_network", token=handle)
        assert [one["url"] for one in told["data"]["requests"]] == ["http://x.test/", "blob:http://bank.test/1"]
        # They take nothing of the limit: whoever asks for two gets two, where there are two that may be told.
        told = await call(hubbed, "browser_debug_get_network", token=handle, limit=2)
        assert [one["url"] for one in told["data"]["requests"]] == ["http://x.test/", "blob:http://bank.test/1"]
        assert not told["data"]["more"]


async def test_what_the_limit_leaves_out_is_told(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        for number in range(3):
            data = {"request_id": str(number), "timestamp": number, "method": "GET", "url": f"http://x.test/{number}"}
            said = {"type": "browser_debug_network_event", "token": token, "event": "request", "data": data}
            entry = {"timestamp": number, "level": "log", "message": f"line {number}"}
            await browser.send(json.dumps(said))
            await browser.send(json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}))
        await browser.send('{"type":"alive"}')
        await browser.recv()
        handle = (await call(hubbed, "browser_debug_list_tabs"))["data"]["tabs"][0]["token"]
        for tool, what in (("browser_debug_get_network", "requests"), ("browser_debug_get_console", "entries")):
            told = await call(hubbed, tool, token=handle, limit=2)
            assert [one["timestamp"] for one in told["data"][what]] == [1, 2]
            assert told["data"]["more"]
            assert "; there are older ones: raise limit" in told["metadata"]["text"]
            told = await call(hubbed, tool, token=handle, limit=3)
            assert len(told["data"][what]) == 3
            assert not told["data"]["more"]
            assert "older" not in told["metadata"]["text"]


async def test_who_follows_is_judged_again(hubbed: Hubbed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own, "RECHECK_S", 0)
    async with hubbed.browser() as browser:
        token = await announce(browser, hubbed, "mine")
        debug = hubbed.here.gate.offered()
        followed = debug.followed((await debug.tabs())[0][0].token)
        first = asyncio.create_task(anext(followed))
        await asyncio.sleep(0)
        for at in (1, 2):
            entry = {"timestamp": at, "level": "log", "message": "x"}
            await browser.send(json.dumps({"type": "browser_debug_console_event", "token": token, "entry": entry}))
            if at == 1:
                await asyncio.wait_for(first, 10)
                rules = '[[rules]]\nhost = "*.localhost"\nread = false\n'
                hubbed.here.gate._policy.replace(read_rules(rules))
        with pytest.raises(Failure, match="the policy forbids"):
            await asyncio.wait_for(anext(followed), 10)


async def test_every_call_stands_in_the_log(hubbed: Hubbed):
    hubbed.here.decide = lambda question: ALLOW
    await call(hubbed, "browser_debug_list_tabs")
    assert any(one.get("tool") == "browser_debug_list_tabs" for one in hubbed.here.records())
    hubbed.here.decide = lambda question: Decision(verdict="deny", rule="test", why="no")
    assert (await call(hubbed, "browser_debug_list_tabs"))["error"]["code"] == "denied"
