"""What is wrong with an HTTP request beside its message: each is refused with a word, and with its id where it has one."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.promises import promise

from .conftest import SECRET
from .test_malformed import ECHO, HEADERS, enveloped, handshake, named
from .wires import MODERN

pytestmark = promise("E02", "E03")

OLD = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": ECHO}).encode()
NEW = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": enveloped(ECHO, MODERN)}).encode()
NOTHING = object()

# The generation, headers that differ (a list is several of one name), the status, the code, and a part of what is told.
CASES: dict[str, tuple[str, dict[str, Any], int, int, str]] = {
    "old, two sessions": ("old", {"mcp-session-id": ["a", "b"]}, 400, -32600, "mcp-session-id is given more than once"),
    "old, two versions": ("old", {"mcp-protocol-version": ["2025-11-25", MODERN]}, 400, -32600, "more than once"),
    "new, two versions": ("new", {"mcp-protocol-version": ["2025-11-25", MODERN]}, 400, -32600, "more than once"),
    "new, two methods": ("new", {"mcp-method": ["tools/call", "tools/list"]}, 400, -32600, "mcp-method is given more"),
    "old, unspoken": ("old", {"mcp-protocol-version": "1999-01-01"}, 400, -32022, "not spoken here: '1999-01-01'"),
    "new, unspoken": ("new", {"mcp-protocol-version": "2099-01-01"}, 400, -32022, "not spoken here: '2099-01-01'"),
    "new, no version": ("new", {"mcp-protocol-version": NOTHING}, 400, -32020, "mcp-protocol-version is missing"),
    "new, no method": ("new", {"mcp-method": NOTHING}, 400, -32020, "mcp-method"),
    "new, another method": ("new", {"mcp-method": "tools/list"}, 400, -32020, "mcp-method"),
    "new, no name": ("new", {"mcp-name": NOTHING}, 400, -32020, "mcp-name"),
    "old, no session": ("old", {"mcp-session-id": NOTHING}, 400, -32600, "Missing session ID"),
    "old, no such session": ("old", {"mcp-session-id": "nobody's"}, 404, -32600, "Session not found"),
    "old, accepts pages": ("old", {"accept": "text/html"}, 406, -32600, "must accept both"),
    "new, accepts pages": ("new", {"accept": "text/html"}, 406, -32600, "must accept both"),
    "new, accepts JSON": ("new", {"accept": "application/json"}, 406, -32600, "must accept both"),
}


@pytest.mark.parametrize("case", CASES)
async def test_headers_that_do_not_fit_are_told(url: str, case: str) -> None:
    era, differs, status, code, told = CASES[case]
    async with httpx2.AsyncClient(headers=HEADERS, timeout=10) as http:
        usual = await handshake(http, url) if era == "old" else named(NEW)
        given = {**{name.lower(): value for name, value in HEADERS.items()}, **usual, **differs}
    pairs = [
        (name, one) for name, values in given.items() for one in (values if isinstance(values, list) else [values])
    ]
    async with httpx2.AsyncClient(timeout=10) as http:
        sent = [(name, value) for name, value in pairs if value is not NOTHING]
        reply = await http.post(f"{url}/mcp", content=OLD if era == "old" else NEW, headers=sent)
    assert reply.status_code == status
    error = reply.json()
    assert (error["error"]["code"], error["id"]) == (code, 7)
    assert told in error["error"]["message"]


async def test_a_key_that_is_given_twice_is_none(url: str) -> None:
    for name in ("Authorization", "X-API-Key"):
        async with httpx2.AsyncClient(headers=[(name, f"Bearer {SECRET}"), (name, "Bearer other")]) as http:
            reply = await http.get(f"{url}/mcp")
            assert (reply.status_code, reply.json()["error"]["message"]) == (400, "the key is given more than once")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_the_newer_generation_does_not_have_is_refused_with_a_word(url: str, method: str) -> None:
    async with httpx2.AsyncClient(headers={**HEADERS, "mcp-protocol-version": MODERN}) as http:
        reply = await http.request(method, f"{url}/mcp")
        assert reply.status_code == 405
        assert "POST only" in reply.json()["error"]["message"]


@pytest.mark.parametrize("part", ["head", "body", "chunks"])
async def test_a_request_that_is_cut_off_is_answered(url: str, part: str) -> None:
    """Whoever stops in the middle may still listen."""
    where = urlsplit(url)
    head = f"POST /mcp HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\nX-API-Key: {SECRET}\r\n"
    rest = {
        "head": "Accept",
        "body": "Content-Length: 500\r\n\r\n{",
        "chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    }
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write((head + rest[part]).encode())
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"the request ended early" in answer
