"""Who gets a debug token: a page that a person opens in a tab, and nobody else."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from pilothouse.guard.token import HEADER
from tests.promises import promise
from tests.proxy.apps import App
from tests.proxy.conftest import NAVIGATES, ProxyHere, proxy_here

pytestmark = promise("G02", "G04")


def token_of(answer: httpx.Response) -> str | None:
    """The one token of an answer, which is never the app's own."""
    found = answer.headers.get_list(HEADER)
    assert len(found) <= 1
    assert "forged" not in found
    return found[0] if found else None


async def test_a_page_opened_in_a_tab_gets_one(proxy: ProxyHere):
    async with proxy.client() as client:
        answer = await client.get("/page?secret=1", headers=NAVIGATES)
        token = token_of(answer)
        assert token
        claim = proxy.signer.verify(token)
        assert (claim.c, claim.p) == ("shop", "/page")
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert "etag" not in answer.headers
        assert token_of(await client.post("/page", headers=NAVIGATES)) != token


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"sec-fetch-mode": "navigate"},
        {"sec-fetch-dest": "document"},
        {**NAVIGATES, "sec-fetch-dest": "iframe"},
        {**NAVIGATES, "sec-fetch-dest": "empty"},
        {**NAVIGATES, "sec-fetch-mode": "cors"},
        {**NAVIGATES, "sec-fetch-mode": "same-origin"},
        {**NAVIGATES, "sec-purpose": "prefetch"},
        {**NAVIGATES, "service-worker-navigation-preload": "true"},
        {**NAVIGATES, "service-worker-navigation-preload": ""},
    ],
)
async def test_nothing_else_gets_one(proxy: ProxyHere, sent: dict[str, str]):
    async with proxy.client() as client:
        answer = await client.get("/page", headers=sent)
    assert token_of(answer) is None
    assert answer.headers["cache-control"] == "max-age=100"


@pytest.mark.parametrize("path", ["/data", "/file", "/status/302", "/status/204", "/near", "/health/deep"])
async def test_what_is_no_page_gets_none(proxy: ProxyHere, path: str):
    async with proxy.client() as client:
        assert token_of(await client.get(path, headers=NAVIGATES)) is None


@pytest.mark.parametrize("path", ["/healthy", "/status/500", "/status/404", "/gzip"])
async def test_a_page_that_failed_is_a_page(proxy: ProxyHere, path: str):
    async with proxy.client() as client:
        assert token_of(await client.get(path, headers=NAVIGATES))


async def test_the_apps_own_words_about_caching_cannot_bring_an_old_page(proxy: ProxyHere):
    sent = {**NAVIGATES, "if-none-match": '"1"', "if-modified-since": "Thu, 01 Jan 2026 00:00:00 GMT"}
    async with proxy.client() as client:
        seen = dict((await client.get("/echo", headers=sent)).json()["headers"])
        kept = dict((await client.get("/echo", headers={"if-none-match": '"1"'})).json()["headers"])
    assert not {"if-none-match", "if-modified-since"} & set(seen)
    assert kept["if-none-match"] == '"1"'


@pytest.mark.parametrize(
    ("own", "path", "gets"),
    [
        ({"enabled": False}, "/page", False),
        ({"content_types": ["application/json"]}, "/page", False),
        ({"content_types": ["application/json"]}, "/data", True),
        ({"exclude_paths": ["/page"]}, "/page", False),
        ({"exclude_paths": ["/page"]}, "/health/deep", True),
    ],
)
async def test_a_cocoon_has_the_last_word(tmp_path: Path, app: App, own: dict[str, Any], path: str, gets: bool):
    async with proxy_here(tmp_path, {"shop": {"target": app.url, **own}}) as proxy, proxy.client() as client:
        assert bool(token_of(await client.get(path, headers=NAVIGATES))) is gets


async def test_a_served_path_is_the_path_that_the_browser_sees(tmp_path: Path, app: App):
    served = {"shop": {"target": app.url, "exclude_paths": ["/healthy"]}}
    async with proxy_here(tmp_path, served, path_mode="serve") as proxy, proxy.client("") as client:
        token = token_of(await client.get("/proxy/shop/page", headers=NAVIGATES))
        assert token
        assert proxy.signer.verify(token).p == "/proxy/shop/page"
        assert token_of(await client.get("/proxy/shop/healthy", headers=NAVIGATES)) is None


async def test_a_path_that_is_too_long_gets_none_and_the_page_is_served(proxy: ProxyHere):
    async with proxy.client() as client:
        answer = await client.get("/page/" + "x" * 2000, headers=NAVIGATES)
    assert answer.status_code == 404
    assert token_of(answer) is None
