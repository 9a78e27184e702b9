"""`python -m tests.ui.pictures`: takes the pictures of every view for the docs, light and dark, from a real daemon."""

import asyncio
import tempfile
from pathlib import Path

import httpx

from pilothouse.options import Config, Network
from tests.daemon_here import Here, daemon_here
from tests.own_chrome import OwnChrome, own_chrome
from tests.server import PageServer
from tests.ui.dashboard import Dashboard, open_dashboard
from tests.ui.side import open_panel, paired

IMAGES = Path(__file__).parents[2] / "docs" / "images"
VIEWS = {
    "sessions": "",
    "activity": "activity",
    "policy": "policy",
    "browsers": "browsers",
    "secrets": "secrets",
    "health": "health",
}
RULES = """template = "sandbox"

[[rules]]
host = "*.example.com"
write = true

[[rules]]
host = "bakery.test"
write = true
approval = true
max_steps_per_hour = 100
"""
SHOP = """<!doctype html><meta name=viewport content="width=device-width"><title>Your cart · The Bakery</title>
<style>body{font:18px/1.6 system-ui;max-width:44rem;margin:3rem auto;color:#333}h1{font-size:2rem}table{width:100%;border-collapse:collapse}
td{padding:.6rem 0;border-bottom:1px solid #ddd}td:last-child{text-align:right}button{font:inherit;background:#7a3e12;color:#fff;border:0;border-radius:8px;padding:.7rem 1.6rem;margin-top:1.5rem}</style>
<h1>Your cart</h1><table><tr><td>2 × Sourdough loaf<td>$13.00<tr><td>6 × Poppy seed roll<td>$7.20<tr><td><b>Together</b><td><b>$20.20</b></table>
<button>Pay now</button><script>history.replaceState(null, '', '/cart'); console.log('cart ready'); console.warn('the coupon field is gone')</script>"""


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, PageServer() as site:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        (home / "policy.toml").write_text(RULES)
        settings = Config(network=Network(hosts={"bakery.test": "127.0.0.1"}))
        async with daemon_here(home, settings) as here, own_chrome() as chrome:
            await _take(here, chrome, site)


async def _take(here: Here, chrome: OwnChrome, site: PageServer) -> None:
    here.decide = lambda question: None  # the policy itself
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.agent}, timeout=60) as agent:
        one = await _session(agent, site.inline(SHOP).replace("127.0.0.1", "bakery.test"))
        other = await _session(agent, site.url("todo.html"))
        await _session(agent, site.url("gallery.html"))
        for tool, args in (("find", {"text": "Pay"}), ("scroll", {"to": "bottom"}), ("get_page_text", {})):
            await agent.post(f"/api/browser/{one}/{tool}", json=args)
        dashboard = await open_dashboard(here, chrome)
        await agent.post(f"/api/browser/{other}/click", json={"target": "#nowhere"})
        await agent.post(f"/api/browser/{other}/evaluate_js", json={"expression": "document.title"})
        await _secret(here)
        for dark in (False, True):
            await _views(dashboard, one, dark)
            await _question(here, dashboard, agent, one, dark)
        await _panel(here, chrome, site, agent, one)


async def _session(agent: httpx.AsyncClient, url: str) -> str:
    told = (await agent.post("/api/tools/open_session", json={})).json()["data"]["session"]
    await agent.post(f"/api/browser/{told}/navigate", json={"url": url})
    return told


async def _secret(here: Here) -> None:
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        await person.put("/api/secrets/bakery_password", json={"value": "not this one", "domains": ["bakery.test"]})


async def _views(dashboard: Dashboard, session: str, dark: bool) -> None:
    await dashboard.resize(1280, 800, dark=dark)
    for name, place in [*VIEWS.items(), ("session", f"session/{session}")]:
        await dashboard.go(place)
        await dashboard.page.until("document.querySelector('.view h1')")
        if name in ("sessions", "session"):
            await dashboard.page.until(
                "[...document.querySelectorAll('canvas')].every((one) => one.dataset.frames > 0)"
            )
        if name == "activity":
            await dashboard.press("evaluate_js", ".event")
            await dashboard.page.until("document.querySelector('.detail canvas')")
        if name == "health":
            await dashboard.page.until("document.querySelectorAll('.spark .stroke').length > 6", 30)
        await asyncio.sleep(0.7)
        await dashboard.shot(_path(name, dark))
    if not dark:
        await dashboard.resize(390, 780)
        await dashboard.go("")
        await dashboard.page.until("document.querySelector('.tile canvas')?.dataset.frames > 0")
        await dashboard.shot(_path("phone", dark))
        await dashboard.resize(1280, 800)


async def _question(here: Here, dashboard: Dashboard, agent: httpx.AsyncClient, session: str, dark: bool) -> None:
    await dashboard.go("approvals")
    call = asyncio.create_task(
        agent.post(f"/api/browser/{session}/click", json={"target": "role=button[name='Pay now']"})
    )
    await dashboard.page.until("document.querySelector('.question canvas')")
    await asyncio.sleep(0.3)
    await dashboard.shot(_path("approvals", dark))
    await here.gate.approvals.answer(here.gate.approvals.pending()[0]["id"], "deny")
    here.gate.approvals._denials.clear()
    await call


async def _panel(here: Here, chrome: OwnChrome, site: PageServer, agent: httpx.AsyncClient, session: str) -> None:
    """The side panel, as a tab of its size, beside a page of the person's."""
    await paired(here, chrome, "mine")
    page = await open_panel(chrome)
    front = await chrome.open(site.url("gallery.html"))
    await front.channel.send("Page.bringToFront")
    call = asyncio.create_task(
        agent.post(f"/api/browser/{session}/click", json={"target": "role=button[name='Pay now']"})
    )
    await page.page.until("document.querySelector('.question canvas')")
    await page.sees(site.origin.removeprefix("http://"), "[aria-label='This page']")
    for dark in (False, True):
        await page.resize(400, 1100, dark=dark)
        await asyncio.sleep(0.5)
        await page.shot(IMAGES / f"panel{'-dark' if dark else ''}.png")
    await here.gate.approvals.answer(here.gate.approvals.pending()[0]["id"], "deny")
    await call


def _path(name: str, dark: bool) -> Path:
    return IMAGES / f"dashboard-{name}{'-dark' if dark else ''}.png"


if __name__ == "__main__":
    asyncio.run(main())
