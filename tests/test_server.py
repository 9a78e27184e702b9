"""The test web itself: what each misbehaving route promises to the tests that browse it."""

import base64
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.promises import promise
from tests.server import PAGES, PageServer

pytestmark = promise("A08")


@pytest.fixture(scope="module")
def site() -> Iterator[PageServer]:
    with PageServer() as server:
        yield server


@pytest.fixture
def web(site: PageServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.origin, trust_env=False, timeout=5) as client:
        yield client


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.html")))
def test_pages_are_served_fresh_and_small(web: httpx.Client, page: str) -> None:
    answer = web.get(page)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert len(answer.text) < 6000


def test_both_names_reach_it(site: PageServer) -> None:
    with httpx.Client(trust_env=False) as client:
        assert client.get(site.url("small.html", other=True)).text == client.get(site.url("small.html")).text


def test_redirects(web: httpx.Client) -> None:
    answer = web.get("/redirect?to=/echo&times=3", follow_redirects=True)
    assert len(answer.history) == 3
    assert answer.url.path == "/echo"
    with pytest.raises(httpx.TooManyRedirects):
        web.get("/redirect-loop", follow_redirects=True)


def test_log_in_and_out(web: httpx.Client) -> None:
    assert web.get("/account").headers["location"] == "/login"
    assert web.post("/login", data={"user": "ada", "password": "x"}).status_code == 403
    inside = web.post("/login", data={"user": "ada", "password": "lovelace"}, follow_redirects=True)
    assert "Account of ada" in inside.text
    assert "Log in" in web.get("/logout", follow_redirects=True).text


def test_echo_and_errors(web: httpx.Client) -> None:
    said = web.post("/echo?a=1", content="body", headers={"X-Test": "yes"}).json()
    assert (said["method"], said["query"], said["body"], said["headers"]["x-test"]) == ("POST", "a=1", "body", "yes")
    assert web.get("/status/503").status_code == 503
    assert web.get("/basic-auth").status_code == 401
    key = base64.b64encode(b"ada:lovelace").decode()
    assert web.get("/basic-auth", headers={"Authorization": f"Basic {key}"}).status_code == 200
    assert len(web.get("/big.json?kb=50").content) >= 50 * 1024
    assert web.get("/set-cookie?a=b").cookies["a"] == "b"


def test_streams_and_attachments(web: httpx.Client) -> None:
    assert web.get("/sse?count=3&ms=1").text.count("event: tick") == 3
    attachment = web.get("/download?size=5000&name=a.bin")
    assert len(attachment.content) == 5000
    assert "a.bin" in attachment.headers["content-disposition"]
    with web.stream("GET", "/download-bomb") as bomb:
        assert sum(len(part) for part, _ in zip(bomb.iter_bytes(65536), range(5), strict=False)) == 5 * 65536


def test_what_never_answers_does_not_keep_the_server_alive() -> None:
    server = PageServer().start()
    with socket.create_connection(("127.0.0.1", server.port)) as waiting:
        waiting.sendall(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(0.1)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 3
