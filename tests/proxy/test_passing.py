"""What goes through the proxy comes out unchanged, in pieces and both ways; what cannot is told plainly."""

import asyncio
import contextlib
import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pilothouse.doors import proxy as proxy_door
from pilothouse.errors import Failure
from pilothouse.options import Proxy
from pilothouse.proxy import lines, tunnel
from tests.promises import promise
from tests.proxy.apps import BIG, App, raw_app, says
from tests.proxy.conftest import ProxyHere, behind, proxy_here

pytestmark = promise("G01")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_every_method_passes(proxy: ProxyHere, method: str):
    async with proxy.client() as client:
        content = b"some body" if method in ("POST", "PUT", "PATCH") else None
        told = (await client.request(method, "/echo?a=1&b=%20", content=content)).json()
    assert (told["method"], told["path"], told["query"]) == (method, "/echo", "a=1&b=%20")
    assert told["body"] == ("some body" if content else "")


async def test_the_target_is_asked_as_itself_and_told_the_rest(proxy: ProxyHere, app: App):
    sent = {
        "origin": proxy.origin("shop"),
        "referer": f"{proxy.origin('shop')}/page?x=1",
        "x-forwarded-for": "1.2.3.4",
        "x-forwarded-host": "evil.test",
        "forwarded": "for=1.2.3.4",
        "x-adi-debug-token": "mine",
        "proxy-authorization": "Basic x",
        "te": "trailers",
        "connection": "keep-alive, x-hop",
        "x-hop": "1",
        "x-kept": "1",
    }
    async with proxy.client() as client:
        pairs = (await client.get("/echo", headers=sent)).json()["headers"]
    names = [name for name, _ in pairs]
    told = dict(pairs)
    assert told["host"] == app.url.removeprefix("http://")
    assert told["origin"] == app.url
    assert told["referer"] == f"{app.url}/page?x=1"
    assert told["x-forwarded-for"] == "127.0.0.1"
    assert told["x-forwarded-host"] == f"shop.localhost:{proxy.port}"
    assert told["x-forwarded-proto"] == "http"
    assert told["x-kept"] == "1"
    assert not {"forwarded", "x-adi-debug-token", "proxy-authorization", "te", "x-hop", "connection"} & set(names)
    assert len(names) == len(set(names))


async def test_a_foreign_origin_stays_what_it_is(proxy: ProxyHere):
    async with proxy.client() as client:
        for origin in ("https://evil.test", f"{proxy.origin('shop')}.evil.test", "null"):
            told = dict((await client.get("/echo", headers={"origin": origin})).json()["headers"])
            assert told["origin"] == origin


async def test_a_large_body_comes_back_whole_and_by_ranges(proxy: ProxyHere):
    async with proxy.client() as client:
        answer = await client.get("/big")
        assert answer.content == BIG
        assert answer.headers["content-length"] == str(len(BIG))
        part = await client.get("/big", headers={"range": "bytes=100-299"})
    assert part.status_code == 206
    assert part.content == BIG[100:300]
    assert part.headers["content-range"] == f"bytes 100-299/{len(BIG)}"


async def test_head_has_a_length_and_no_body(proxy: ProxyHere):
    async with proxy.client() as client:
        for _ in range(3):
            answer = await client.head("/big")
            assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, str(len(BIG)), b"")
        assert (await client.get("/data")).json() == {"a": 1}


async def test_compression_is_not_touched(proxy: ProxyHere):
    async with proxy.client() as client, client.stream("GET", "/gzip") as answer:
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == b"<p>small"


async def test_cookies_are_not_joined(proxy: ProxyHere):
    async with proxy.client() as client:
        answer = await client.get("/page")
    assert len(answer.headers.get_list("set-cookie")) == 2


async def test_a_cookie_is_the_cocoons_own(proxy: ProxyHere):
    async with proxy.client() as client:
        answer = await client.get("/cookies")
    assert answer.headers.get_list("set-cookie") == ["a=1; Path=/", "b=domain=x;Secure", "c=3"]


async def test_no_connection_header_takes_the_length_of_a_body_along(proxy: ProxyHere):
    sent = [("connection", "x-hop"), ("connection", "content-length, host, x-other"), ("x-hop", "1"), ("x-other", "1")]
    async with proxy.client() as client:
        told = (await client.post("/echo", headers=sent, content=b"GET /data HTTP/1.1\r\n\r\n")).json()
    assert told["body"] == "GET /data HTTP/1.1\r\n\r\n"
    names = [name for name, _ in told["headers"]]
    assert not {"x-hop", "x-other"} & set(names)
    assert names.count("host") == 1


async def test_a_coding_that_is_not_passed_on_is_refused(proxy: ProxyHere):
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    head = f"POST /echo HTTP/1.1\r\nHost: shop.localhost:{proxy.port}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    writer.write(head.encode() + b"0\r\n\r\n")
    assert (await asyncio.wait_for(reader.readline(), 10)).split()[1] == b"400"
    writer.close()


async def test_a_large_upload_goes_up_in_pieces(proxy: ProxyHere):
    size = 64 * 1024 * 1024
    piece = BIG

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece

    digest = hashlib.sha256()
    for _ in range(size // len(piece)):
        digest.update(piece)
    async with proxy.client() as client:
        told = (await client.post("/hash", content=pieces())).json()
        assert told == {"size": size, "sha256": digest.hexdigest()}
        told = (await client.post("/hash", content=piece)).json()
    assert told["size"] == len(piece)


async def test_an_upload_arrives_while_it_is_still_sent(proxy: ProxyHere, app: App):
    first_arrived = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        assert await asyncio.wait_for(app.uploaded.get(), 10) == b"first"
        first_arrived.set()
        yield b"second"

    async with proxy.client() as client:
        assert (await client.post("/trickle", content=pieces())).text == "ok"
    assert first_arrived.is_set()
    assert app.uploaded.get_nowait() == b"second"


async def test_server_sent_events_arrive_as_they_are_said(proxy: ProxyHere, app: App):
    async with proxy.client() as client:
        app.events.put_nowait("first")
        async with client.stream("GET", "/events") as answer:
            chunks = answer.aiter_raw()
            assert await anext(chunks) == b"data: first\n\n"
            for number in range(20):
                app.events.put_nowait(str(number))
                assert await anext(chunks) == f"data: {number}\n\n".encode()
            await answer.aclose()
    app.events.put_nowait("into the void")
    await asyncio.wait_for(app.left.wait(), 10)


async def test_redirects_stay_with_the_proxy(proxy: ProxyHere):
    async with proxy.client() as client:
        assert (await client.get("/away")).headers["location"] == f"{proxy.origin('shop')}/page?x=1"
        assert (await client.get("/near")).headers["location"] == "/page"


# WebSockets


def to(proxy: ProxyHere, cocoon: str, path: str, **more: Any) -> connect:
    return connect(f"ws://{cocoon}.localhost:{proxy.port}{path}", host="127.0.0.1", port=proxy.port, **more)


async def test_a_websocket_passes_both_ways(proxy: ProxyHere, app: App):
    headers = {"Origin": proxy.origin("shop")}
    async with to(proxy, "shop", "/ws", additional_headers=headers, subprotocols=["chat"], max_size=None) as line:
        seen = json.loads(await line.recv())
        assert (seen["host"], seen["origin"]) == (app.url.removeprefix("http://"), app.url)
        assert line.subprotocol == "chat"
        for text in ("hello", "x" * 300_000, "ü"):
            await line.send(text)
            assert await line.recv() == text
        await line.send(BIG)
        assert await line.recv() == BIG
        await line.send("bye")
        with pytest.raises(ConnectionClosed) as closed:
            await line.recv()
    assert closed.value.rcvd
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "as you wish")


async def test_the_target_learns_that_a_browser_left_its_websocket(proxy: ProxyHere, app: App):
    async with to(proxy, "shop", "/ws") as line:
        await line.recv()
        line.transport.abort()
    await asyncio.wait_for(app.left.wait(), 10)


async def test_a_refused_websocket_is_refused_with_the_targets_words(proxy: ProxyHere):
    for cocoon, status, text in (("shop", 418, "not here"), ("x", 404, "there is no cocoon")):
        with pytest.raises(InvalidStatus) as caught:
            await to(proxy, cocoon, "/no-ws")
        assert caught.value.response.status_code == status
        assert text in (caught.value.response.body or b"").decode()


async def test_a_target_that_does_not_answer_a_handshake_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tunnel, "HANDSHAKE_S", 0.1)
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        left.set()

    async with raw_app(silent) as url, proxy_here(tmp_path, {"shop": {"target": url}}) as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await to(proxy, "shop", "/ws")
        assert caught.value.response.status_code == 502
        await asyncio.wait_for(left.wait(), 10)


async def test_websockets_count_as_connections(tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proxy_door, "MAX_CONNECTIONS", 3)
    async with proxy_here(tmp_path, {"shop": {"target": app.url}}) as proxy, contextlib.AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(to(proxy, "shop", "/ws")) for _ in range(3)]
        assert proxy.door.connections == 3
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert (await asyncio.wait_for(reader.readline(), 10)).split()[1] == b"503"
        writer.close()
        await lines[0].close()
        async with asyncio.timeout(10):
            while proxy.door.connections == 3:
                await asyncio.sleep(0.01)
        async with to(proxy, "shop", "/ws") as line:
            await line.recv()


# Where it leads


async def test_each_cocoon_has_an_origin_of_its_own(tmp_path: Path, app: App):
    async with (
        raw_app(says(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother")) as other,
        proxy_here(tmp_path, {"shop": {"target": app.url}, "other": {"target": other}}) as proxy,
        proxy.client("shop") as shop,
        proxy.client("other") as second,
    ):
        assert (await shop.get("/data")).json() == {"a": 1}
        assert (await second.get("/data")).text == "other"


async def test_below_proxy_leads_to_the_cocoons_own_origin(proxy: ProxyHere):
    async with proxy.client("") as client:
        answer = await client.post("/proxy/shop/a/b?x=%2F", content=b"x")
        assert (answer.status_code, answer.headers["location"]) == (307, f"{proxy.origin('shop')}/a/b?x=%2F")
        assert (await client.get("/proxy/shop")).headers["location"] == f"{proxy.origin('shop')}/"
        assert (await client.get("/proxy/none/")).status_code == 404
        assert (await client.get("/")).status_code == 404


async def test_below_proxy_serves_if_asked_to_and_all_have_one_owner(tmp_path: Path, app: App):
    async with (
        proxy_here(tmp_path, {"shop": {"target": app.url}}, path_mode="serve") as proxy,
        proxy.client("") as client,
    ):
        told = (await client.get("/proxy/shop/echo?a=1")).json()
        assert (told["path"], told["query"], dict(told["headers"])["x-forwarded-prefix"]) == (
            "/echo",
            "a=1",
            "/proxy/shop",
        )
        near = (await client.get("/proxy/shop/near")).headers["location"]
        assert near == "/proxy/shop/page"
        away = (await client.get("/proxy/shop/away")).headers["location"]
        assert away == f"http://localhost:{proxy.port}/proxy/shop/page?x=1"
        proxy.cocoons.add({"id": "bens", "target": app.url, "owner": "ben"})
        assert (await client.get("/proxy/shop/echo")).status_code == 307


@pytest.mark.parametrize(
    "host", ["evil.test", "shop.localhost", "shop.localhost:1", "a.shop.localhost:PORT", "shop.evil.test:PORT", ""]
)
async def test_other_hosts_are_refused(proxy: ProxyHere, host: str):
    async with proxy.client() as client:
        answer = await client.get("/data", headers={"host": host.replace("PORT", str(proxy.port))})
    assert answer.status_code in (404, 421)
    assert answer.json()["error"]["suggestions"]


async def test_a_cocoon_that_is_added_or_removed_counts_at_once(proxy: ProxyHere, app: App):
    async with proxy.client("new") as client:
        assert (await client.get("/data")).status_code == 404
        proxy.cocoons.add({"id": "new", "target": app.url})
        assert (await client.get("/data")).status_code == 200
        proxy.cocoons.remove("new")
        assert (await client.get("/data")).status_code == 404


# When it goes wrong


async def test_a_target_that_is_down_is_told_to_people_and_programs(tmp_path: Path):
    async with proxy_here(tmp_path, {"shop": {"target": "http://127.0.0.1:1"}}) as proxy, proxy.client() as client:
        page = await client.get("/<script>", headers={"accept": "text/html"})
        told = await client.get("/", headers={"accept": "application/json"})
    assert (page.status_code, told.status_code) == (502, 502)
    assert "The app does not answer" in page.text
    assert "<script>" not in page.text
    error = told.json()["error"]
    assert error["code"] == "navigation_failed"
    assert error["suggestions"]


@pytest.mark.parametrize("target", ["http://meta.test", "http://meta.test:8080"])
async def test_metadata_addresses_are_never_reached(tmp_path: Path, target: str):
    async with proxy_here(tmp_path, {"shop": {"target": target}}) as proxy, proxy.client() as client:
        answer = await client.get("/latest/meta-data")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "denied"


async def test_it_does_not_lead_to_itself_or_the_daemon_by_another_name(tmp_path: Path):
    async with proxy_here(tmp_path, {}) as proxy:
        for host in ("127.0.0.1", "localhost", "[::1]", "x.localhost", "0.0.0.0", "0x7f.1"):
            for port in (proxy.port, 8777):
                with pytest.raises(Exception, match="Pilothouse itself"):
                    proxy.cocoons.add({"id": "loop", "target": f"http://{host}:{port}"})
        proxy.file.write_text(f'[[cocoons]]\nid = "loop"\ntarget = "http://127.0.0.1:{proxy.port}"\n')
        async with proxy.client("loop") as client:
            assert (await client.get("/")).status_code == 404


async def test_an_answer_that_breaks_off_breaks_off_here_too(tmp_path: Path):
    for answer in (
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ):
        async with behind(tmp_path, says(answer)) as client:
            with pytest.raises(Exception, match=r"without sending complete|incomplete"):
                await client.get("/")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 300_000,
    ],
)  # fmt: skip
async def test_what_is_no_answer_is_a_bad_gateway(tmp_path: Path, answer: bytes):
    async with behind(tmp_path, says(answer)) as client:
        assert (await client.get("/")).status_code == 502


async def test_an_answer_may_end_with_its_connection_and_begin_with_others(tmp_path: Path):
    answer = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end"
    async with behind(tmp_path, says(answer)) as client:
        got = await client.get("/")
    assert (got.status_code, got.text) == (200, "until the end")
    assert "link" not in got.headers


async def test_a_target_that_never_answers_is_given_up(tmp_path: Path):
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with behind(tmp_path, silent, timeout_s=0.2) as client:
        answer = await client.get("/", headers={"accept": "text/html"})
    assert answer.status_code == 504
    assert "takes too long" in answer.text


async def test_a_kept_connection_that_died_is_replaced(tmp_path: Path):
    """Each connection answers once, says that it stays open, and closes."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    async with behind(tmp_path, says(answer)) as client:
        for _ in range(50):
            assert (await client.get("/")).text == "ok"


async def test_a_connection_that_nobody_uses_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "IDLE_S", 0.1)
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        left.set()

    async with behind(tmp_path, serve) as client:
        assert (await client.get("/")).text == "ok"
        await asyncio.wait_for(left.wait(), 10)


async def test_fifty_at_once(proxy: ProxyHere):
    async with proxy.client() as client:
        answers = await asyncio.gather(*(client.get("/big") for _ in range(50)))
    assert all(answer.content == BIG for answer in answers)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "dev.example.com"])
def test_apps_are_not_opened_to_the_network_without_tls(host: str):
    with pytest.raises(Failure, match="without TLS"):
        proxy_door.bound(Proxy(enabled=True, host=host, port=0))


def test_behind_tls_it_may_listen_anywhere():
    listener, settings = proxy_door.bound(Proxy(enabled=True, host="0.0.0.0", port=0, https=True))
    with listener:
        assert settings.port == listener.getsockname()[1]
