"""The network log as a file: every field that HAR 1.2 asks for, none that it does not know, and no secret in it."""

import base64
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import fails
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A17")

# The objects of HAR 1.2: each field with its type, and a question mark if it may be missing.
HAR: dict[str, dict[str, Any]] = {
    "log": {"version": str, "creator": "creator", "browser?": "creator", "pages?": ["page"], "entries": ["entry"],
            "comment?": str},
    "creator": {"name": str, "version": str, "comment?": str},
    "page": {"startedDateTime": "moment", "id": str, "title": str, "pageTimings": "pageTimings", "comment?": str},
    "pageTimings": {"onContentLoad?": float, "onLoad?": float, "comment?": str},
    "entry": {"pageref?": str, "startedDateTime": "moment", "time": float, "request": "request",
              "response": "response", "cache": "cache", "timings": "timings", "serverIPAddress?": str,
              "connection?": str, "comment?": str},
    "request": {"method": str, "url": str, "httpVersion": str, "cookies": ["cookie"], "headers": ["pair"],
                "queryString": ["pair"], "postData?": "postData", "headersSize": int, "bodySize": int, "comment?": str},
    "response": {"status": int, "statusText": str, "httpVersion": str, "cookies": ["cookie"], "headers": ["pair"],
                 "content": "content", "redirectURL": str, "headersSize": int, "bodySize": int, "comment?": str},
    "cookie": {"name": str, "value": str, "path?": str, "domain?": str, "expires?": "moment", "httpOnly?": bool,
               "secure?": bool, "comment?": str},
    "pair": {"name": str, "value": str, "comment?": str},
    "postData": {"mimeType": str, "params?": ["param"], "text?": str, "comment?": str},
    "param": {"name": str, "value?": str, "fileName?": str, "contentType?": str, "comment?": str},
    "content": {"size": int, "compression?": int, "mimeType": str, "text?": str, "encoding?": str, "comment?": str},
    "cache": {"beforeRequest?": dict, "afterRequest?": dict, "comment?": str},
    "timings": {"blocked?": float, "dns?": float, "connect?": float, "send": float, "wait": float, "receive": float,
                "ssl?": float, "comment?": str},
}  # fmt: skip


def check(kind: Any, value: Any, place: str) -> None:
    if isinstance(kind, list):
        assert isinstance(value, list), place
        for n, item in enumerate(value):
            check(kind[0], item, f"{place}[{n}]")
    elif kind == "moment":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), f"{place}: {value}"
        assert datetime.fromisoformat(value.replace("Z", "+00:00")).year >= 1970
    elif isinstance(kind, str):
        check_object(HAR[kind], value, place)
    elif kind is float:
        assert isinstance(value, int | float), f"{place}: {value!r}"
    else:
        assert type(value) is kind, f"{place}: {value!r}"


def check_object(fields: dict[str, Any], value: Any, place: str) -> None:
    assert isinstance(value, dict), place
    known = {name.rstrip("?") for name in fields}
    unknown = {name for name in value if name not in known and not name.startswith("_")}
    assert not unknown, f"{place} has {unknown}"
    for name, kind in fields.items():
        plain = name.rstrip("?")
        if plain in value:
            check(kind, value[plain], f"{place}.{plain}")
        else:
            assert name.endswith("?"), f"{place} has no {plain}"


def read(path: str) -> dict[str, Any]:
    whole = json.loads(Path(path).read_text("utf-8"))
    assert list(whole) == ["log"]
    log = whole["log"]
    check("log", log, "log")
    assert log["version"] == "1.2"
    pages = {page["id"] for page in log["pages"]}
    for entry in log["entries"]:
        assert entry["pageref"] in pages
        timings = entry["timings"]
        assert min(timings["send"], timings["wait"], timings["receive"]) >= 0
        assert all(value == -1 or value >= 0 for value in timings.values())
        counted = sum(value for name, value in timings.items() if name != "ssl" and value > 0)
        assert entry["time"] == pytest.approx(counted, abs=0.1)
    assert [one["startedDateTime"] for one in log["entries"]] == sorted(e["startedDateTime"] for e in log["entries"])
    return log


async def exported(agent: Agent, **options: Any) -> dict[str, Any]:
    saved = await agent.call("export_har", **options)
    log = read(saved["path"])
    assert saved["requests"] == len(log["entries"])
    assert saved["size_bytes"] == Path(saved["path"]).stat().st_size
    return log


def entry(log: dict[str, Any], part: str) -> dict[str, Any]:
    (found,) = [one for one in log["entries"] if part in one["request"]["url"]]
    return found


async def fetched(agent: Agent, *calls: str) -> None:
    await agent.js(f"await Promise.all([{', '.join(f'fetch({call}).then(r => r.text(), () => 0)' for call in calls)}])")


async def test_what_was_sent_and_what_came_back(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fetched(
        agent,
        "'/echo?a=1&b=%C3%BC&empty=', {method: 'POST', headers: {'X-Test': 'yes'}, body: JSON.stringify({hello: 1})}",
        "'/redirect?to=/status/204'",
        f"'{site.dead_origin}/'",
    )
    log = await exported(agent, bodies=True)
    assert [page["title"] for page in log["pages"]] == [await agent.js("document.title")]
    document = entry(log, "small.html")
    assert document["response"]["content"]["mimeType"] == "text/html"
    assert "<h1" in document["response"]["content"]["text"]
    assert document["_resourceType"] == "document"
    posted = entry(log, "/echo")
    assert posted["request"]["method"] == "POST"
    assert posted["request"]["queryString"] == [
        {"name": "a", "value": "1"}, {"name": "b", "value": "ü"}, {"name": "empty", "value": ""},
    ]  # fmt: skip
    assert {"name": "X-Test", "value": "yes"} in posted["request"]["headers"]
    assert posted["request"]["postData"]["text"] == '{"hello":1}'
    assert posted["request"]["bodySize"] == 11
    assert json.loads(posted["response"]["content"]["text"])["body"] == '{"hello":1}'
    assert posted["response"]["httpVersion"] == "HTTP/1.1"
    assert posted["timings"]["wait"] > 0
    hop = entry(log, "/redirect")
    assert (hop["response"]["status"], hop["response"]["redirectURL"]) == (302, "/status/204")
    failed = entry(log, site.dead_origin)
    assert failed["response"]["status"] == 0
    assert "refused" in failed["_error"]


async def test_a_script_that_was_not_found_is_no_error_of_the_network(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("const s = document.createElement('script'); s.src = '/status/404'; document.head.append(s)")
    await agent.call("wait_for", idle=True)
    found = entry(await exported(agent), "/status/404")
    assert (found["response"]["status"], found["_resourceType"], "_error" in found) == (404, "script", False)


async def test_bodies_only_when_asked_for(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await fetched(agent, "'/echo', {method: 'POST', body: 'sent'}")
    log = await exported(agent)
    posted = entry(log, "/echo")
    assert "postData" not in posted["request"]
    assert "text" not in posted["response"]["content"]
    assert posted["response"]["content"]["size"] > 0


async def test_no_secret_is_written(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("set-cookie?sid=c00kiesecret"))
    await fetched(
        agent,
        "'/echo?token=q00erysecret', {method: 'POST', body: 'password=b00dysecret&user=ada', "
        "headers: {'Authorization': 'Bearer h00dersecret', 'Content-Type': 'application/x-www-form-urlencoded'}}",
    )
    code = "return await new Promise(done => {const s = new WebSocket(`ws://${location.host}/ws`); \
        s.onopen = () => s.send(JSON.stringify({password: 's00cketsecret'})); s.onmessage = () => done(1)})"
    await agent.js(code)
    saved = await agent.call("export_har", bodies=True)
    text = Path(saved["path"]).read_text("utf-8")
    assert re.findall(r"\w00\w+secret", text) == []
    log = read(saved["path"])
    posted = entry(log, "/echo")
    assert posted["request"]["postData"]["text"].endswith("&user=ada")
    assert posted["request"]["cookies"] == [{"name": "sid", "value": "[redacted]"}]
    given = entry(log, "/set-cookie")["response"]["cookies"]
    assert given == [{"name": "sid", "value": "[redacted]", "path": "/", "httpOnly": False, "secure": False}]


async def test_bytes_and_cuts(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    raw = bytes(range(256)) * 500
    data = base64.b64encode(raw).decode()
    await agent.call("mock_url", pattern="/raw", body_base64=data, content_type="image/png")
    await fetched(agent, "'/raw'", "'/big.json?kb=300'")
    log = await exported(agent, bodies=True)
    content = entry(log, "/raw")["response"]["content"]
    assert content["encoding"] == "base64"
    assert base64.b64decode(content["text"]) == raw[:102_400]
    assert (content["size"], content["comment"]) == (128_000, "cut: 128000 bytes in all")
    assert entry(log, "/raw")["_mocked"] == "mocked by m1 (/raw)"
    big = entry(log, "/big.json")["response"]["content"]
    assert len(big["text"]) == 102_400
    assert big["size"] > 300_000
    assert "bytes in all" in big["comment"]


async def test_messages(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("network.html"))
    await agent.call("click", target="text=WebSocket")
    await agent.call("wait_for", text="ws tick")
    await agent.call("click", target="text=Event stream")
    await agent.call("wait_for", function="window.source?.readyState === 2 || source.readyState === 2")
    log = await exported(agent)
    messages = entry(log, "/ws")["_webSocketMessages"]
    assert {tuple(sorted(one)) for one in messages} == {("data", "opcode", "time", "type")}
    sent = [(one["opcode"], one["data"]) for one in messages if one["type"] == "send"]
    assert sent == [(1, "hello"), (2, base64.b64encode(b"\x01\x02\x03").decode())]
    assert (1, "echo hello") in [(one["opcode"], one["data"]) for one in messages if one["type"] == "receive"]
    assert entry(log, "/ws")["response"]["status"] == 101
    events = entry(log, "/sse")["_eventSourceMessages"]
    assert [json.loads(one["data"])["n"] for one in events] == [1, 2, 3, 4, 5]


async def test_one_tab_or_all(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.call("new_tab", url=site.url("form.html"))
    both = await exported(agent)
    assert [page["id"] for page in both["pages"]] == ["t1", "t2"]
    assert {one["pageref"] for one in both["entries"]} == {"t1", "t2"}
    first = await exported(agent, tab="t1")  # the one that is not in front
    assert {one["pageref"] for one in first["entries"]} == {"t1"}
    await fails(agent, "not_found", "export_har", tab="t9")


async def test_nothing_to_tell_is_an_archive_too(agent: Agent) -> None:
    log = await exported(agent)
    assert log["entries"] == []


async def test_files_lie_in_the_sessions_folder_and_do_not_replace_each_other(agent: Agent, house: House) -> None:
    one, two = await agent.call("export_har"), await agent.call("export_har")
    session = house.sessions.of((agent.caller.key, agent.caller.connection))[0]
    assert one["path"] != two["path"]
    assert Path(one["path"]).parent == session.folder
    assert Path(one["path"]).stat().st_mode & 0o777 == 0o600


async def test_what_is_under_way_does_not_hold_it_up(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("fetch('/hang'); return 0")
    assert entry(await exported(agent, bodies=True), "/hang")["comment"] == "it was still under way"


async def test_the_log_can_be_cleared(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    await agent.js("fetch('/hang'); return 0")
    assert (await agent.call("clear_network_log"))["cleared"] >= 1
    left = (await agent.call("get_network_log"))["requests"]
    assert [one["url"] for one in left] == [site.url("hang")]
