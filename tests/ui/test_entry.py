"""F07, E01, D08: who gets into the dashboard, and what its pages may do."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import websockets
from websockets.asyncio.client import connect

import pilothouse
from pilothouse.doors import outbox
from pilothouse.doors.dashboard import read_files
from tests.daemon_here import Here
from tests.own_chrome import EXTENSION, OwnChrome, Page
from tests.promises import promise
from tests.ui.dashboard import new_ticket, open_dashboard

pytestmark = promise("F07", "E01", "D08")

UI = Path(pilothouse.__file__).parent / "ui"


@pytest.fixture
async def anybody(here: Here) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=here.url, timeout=20) as one:
        yield one


async def test_a_link_opens_one_page_once(here: Here, anybody: httpx.AsyncClient):
    ticket = await new_ticket(here)
    first = await anybody.post("/dashboard/enter", json={"ticket": ticket})
    again = await anybody.post("/dashboard/enter", json={"ticket": ticket})
    assert (first.status_code, again.status_code) == (200, 401)
    bearer = {"Authorization": f"Bearer {first.json()['data']['pass']}"}
    assert (await anybody.get("/api/approvals", headers=bearer)).status_code == 200
    assert (await anybody.post("/mcp", json={}, headers=bearer)).status_code == 403  # it is the person's, no agent's


async def test_wrong_tickets_keep_nobody_out(here: Here, anybody: httpx.AsyncClient):
    """Whoever has no key may try as often as they like: a ticket is not guessed, and a good one is not turned away."""
    for _ in range(80):
        assert (await anybody.post("/dashboard/enter", json={"ticket": "guessed"})).status_code == 401
    assert (await anybody.post("/dashboard/enter", json={"ticket": await new_ticket(here)})).status_code == 200


async def test_a_panels_ticket_ends_with_its_pairing(
    here: Here, anybody: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    """A dashboard that was opened from it, and a pass renewed there, open nothing once the browser is forgotten."""
    paired = {"an install"}
    monkeypatch.setattr(here.passes, "_knows", lambda install: install in paired)
    secret = here.passes.new_pass("an install")
    told = await anybody.post("/api/dashboard/ticket", json={}, headers={"Authorization": f"Bearer {secret}"})
    entered = await anybody.post("/dashboard/enter", json={"ticket": told.json()["data"]["ticket"]})
    bearer = {"Authorization": f"Bearer {entered.json()['data']['pass']}"}
    renewed = await anybody.post("/api/dashboard/pass", json={}, headers=bearer)
    again = {"Authorization": f"Bearer {renewed.json()['data']['pass']}"}
    for one in (bearer, again):
        assert (await anybody.get("/api/approvals", headers=one)).status_code == 200
    paired.clear()
    for one in (bearer, again):
        assert (await anybody.get("/api/approvals", headers=one)).status_code == 401


async def test_an_agent_gets_no_link(here: Here, anybody: httpx.AsyncClient):
    agent = {"X-API-Key": here.agent}
    for path in ("/api/dashboard/ticket", "/api/dashboard/pass"):
        assert (await anybody.post(path, json={}, headers=agent)).status_code == 403
        assert (await anybody.post(path, json={})).status_code == 401
    assert (await anybody.get("/api/activity", headers=agent)).status_code == 403
    with pytest.raises(websockets.InvalidStatus, match="403"):
        await connect(f"{here.url.replace('http', 'ws')}/api/live", additional_headers=agent)


@pytest.mark.parametrize("body", [{}, {"ticket": 5}, {"ticket": ""}, {"ticket": "x" * 500}, [], "ticket"])
async def test_what_is_no_ticket_is_refused(anybody: httpx.AsyncClient, body: object):
    assert (await anybody.post("/dashboard/enter", json=body)).status_code in (400, 401)


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])
async def test_no_other_origin_comes_in(here: Here, anybody: httpx.AsyncClient, origin: str):
    ticket = await new_ticket(here)
    answer = await anybody.post("/dashboard/enter", json={"ticket": ticket}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert (await anybody.get("/dashboard", headers={"Origin": origin})).status_code == 403


@pytest.mark.parametrize(
    "path", ["/ui/../person.key", "/ui/%2e%2e/daemon.py", "/ui/..%2f..%2fperson.key", "/ui/", "/ui/no.js"]
)
async def test_only_its_own_files_are_served(anybody: httpx.AsyncClient, path: str):
    assert (await anybody.get(path)).status_code in (401, 404)


async def test_every_file_says_what_its_page_may_do(anybody: httpx.AsyncClient):
    for name, (data, kind) in read_files().items():
        answer = await anybody.get(f"/ui/{name}")
        assert (answer.content, answer.headers["content-type"].split(";")[0]) == (data, kind)
        rules = answer.headers["content-security-policy"]
        assert "default-src 'none'" in rules
        assert "script-src 'self';" in rules
        assert "require-trusted-types-for 'script'" in rules
        assert "frame-ancestors 'none'" in rules
        assert not re.search(r"unsafe|https?:|\*", rules)
    assert (await anybody.get("/")).headers["location"] == "/dashboard"


def test_no_module_reads_text_as_html():
    """The page's own rules would stop it; nobody should even try."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|setHTML|DOMParser"
    )
    found = [path.name for path in UI.glob("*.js") if forbidden.search(path.read_text())]
    assert not found
    page = (UI / "dashboard.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=", page)


def test_the_extension_has_the_same_modules():
    assert (EXTENSION / "ui").resolve() == (EXTENSION.parent / "src" / "pilothouse" / "ui").resolve()


async def test_the_pass_stays_in_its_tab(here: Here, chrome: OwnChrome):
    dashboard = await open_dashboard(here, chrome)
    assert await dashboard.page.js("location.hash") == ""
    assert await dashboard.page.js("document.cookie") == ""
    kept = await dashboard.page.js("sessionStorage.getItem('pilothouse.pass')")
    assert kept.startswith("pass.")
    await chrome.go(dashboard.page, f"{here.url}/dashboard")  # loaded again, without a link
    await dashboard.page.until("document.querySelector('.connection')?.dataset.state === 'live'")
    other = await chrome.open(f"{here.url}/dashboard")
    await other.until("document.body.innerText.includes('pilothouse dashboard')")
    assert await other.js("document.querySelector('nav')") is None
    await chrome.close(other)
    await chrome.close(dashboard.page)


async def test_trusted_types_hold(here: Here, chrome: OwnChrome):
    dashboard = await open_dashboard(here, chrome)
    tried = (
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (error) { return error.name } })()"
    )
    assert await dashboard.page.js(tried) == "TypeError"
    await chrome.close(dashboard.page)


async def sent_away(here: Here, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line breaks, and it looks whether its pass still holds; more is written in the log meanwhile."""
    checks = "asked.filter((one) => one.includes('/api/grants')).length"
    before = await page.js(checks)
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "MAX_UNREAD", 0)  # everybody is too slow now
        here.gate._audit.note("the_break", name="sends it away")
        await page.until(f"{checks} > {before}")
        here.gate._audit.note("the_break", name="in the dark")


async def test_a_new_link_opens_a_locked_page(here: Here, chrome: OwnChrome, monkeypatch: pytest.MonkeyPatch):
    """Pasted into its own tab: only what is behind the # changes. A page whose pass has ended asks for nothing more."""
    dashboard = await open_dashboard(here, chrome)
    page = dashboard.page
    # What it reads when its line is back fails, and is tried again and again.
    await page.js("""{ const real = fetch; globalThis.asked = []; globalThis.fetch = (url, ...more) => {
        asked.push(url);
        return String(url).includes('/api/activity') ? Promise.reject(new Error('away')) : real(url, ...more);
    }; }""")
    await sent_away(here, page, monkeypatch)
    await page.until("asked.filter((one) => one.includes('/api/activity')).length > 1", 20)
    monkeypatch.setattr(here.passes, "_life", "another")  # as after a restart
    await sent_away(here, page, monkeypatch)
    await page.until("document.body.innerText.includes('pass has ended') && document.querySelector('.gate')", 30)
    lines: list[str] = []
    page.channel.on("Network.webSocketCreated", lambda told: lines.append(told["url"]))
    await page.channel.send("Network.enable")
    # Longer than the pauses between two tries; one that had begun may still end.
    await page.js("new Promise((done) => setTimeout(() => ((asked.length = 0), setTimeout(done, 1500)), 100))")
    assert await page.js("asked") == []
    assert not lines
    await page.js(f"location.hash = '#ticket={await new_ticket(here)}'")
    await page.until("document.querySelector('.connection')?.dataset.state === 'live'")
    assert await page.js("location.hash") == ""
    await chrome.close(page)
