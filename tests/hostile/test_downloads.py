"""Downloads that never end: the call does, and the disk is not filled."""

import pytest

from tests.hostile.conftest import QUOTA, code, kept, session_of, timed, until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer


@promise("A19", "B08")
@pytest.mark.parametrize("how", ["navigate", "click"])
async def test_an_endless_download_is_cut_off_at_the_quota(thrifty: Agent, site: PageServer, how: str) -> None:
    await thrifty.call("navigate", url=site.url("download.html"))
    if how == "navigate":
        began = await timed(thrifty, "navigate", url=site.url("download-bomb"), limit_s=3)
        assert "download" in began.text
    else:
        assert code(await timed(thrifty, "click", target="text=Endless", limit_s=3)) == "ok"
    session = session_of(thrifty)
    await until(lambda: [one.state for one in session.context.downloads.all()] == ["canceled"], 20)
    told = await thrifty.text("get_page_state")
    assert f'"bomb.bin" canceled' in told  # noqa: F541
    assert str(QUOTA) in told
    assert kept(session.folder) < 50 * QUOTA  # a busy machine hears late how much has come
    assert "Download" in told


@promise("B08")
async def test_what_fits_is_kept(thrifty: Agent, site: PageServer) -> None:
    await thrifty.call("navigate", url=site.url("download.html"))
    await thrifty.call("click", target="text=Report")
    session = session_of(thrifty)
    await until(lambda: [one.state for one in session.context.downloads.all()] == ["completed"])
    assert kept(session.folder) == 5000


@promise("A19")
async def test_a_download_whose_tab_has_closed_is_still_told(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(f"<a href='{site.url('download')}' target=_blank>Get</a>"))
    await agent.call("click", target="text=Get")
    session = session_of(agent)
    await until(lambda: [event for event in session.watch.recent() if "completed" in event.text])


@promise("A19")
async def test_a_flood_of_downloads(agent: Agent, site: PageServer) -> None:
    flood = "for (let n = 0; n < 30; n++) Object.assign(document.createElement('a'), {href: '/download?size=100&n=' + n, download: 'x'}).click()"
    await agent.call("navigate", url=site.inline(f'<button onclick="{flood}">Flood</button>'))
    assert code(await timed(agent, "click", target="button", limit_s=5)) == "ok"
    assert "Flood" in await agent.text("get_page_state")
