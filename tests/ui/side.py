"""The side panel of the person's own Chrome: pairing it, and its page."""

import httpx

from pilothouse.guard.pairing import ORIGIN
from tests.daemon_here import Here
from tests.own_chrome import OwnChrome, Page
from tests.ui.dashboard import HELPERS, Dashboard


async def paired(here: Here, chrome: OwnChrome, name: str) -> Page:
    """The popup of a browser that is paired and shares all its tabs."""
    popup = await chrome.popup()
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        told = (await person.post("/api/extension/pair", json={})).json()["data"]
    await chrome.tell(popup, "pair", code=f"{told['port']}-{told['code']}", name=name)
    await chrome.tell(popup, "share", mode="all")
    return popup


async def open_panel(chrome: OwnChrome) -> Dashboard:
    """The panel's page, as a tab: Chrome shows the same page at the side of a window."""
    page = await chrome.open("about:blank")
    await page.channel.send("Page.enable")
    await page.channel.send("Page.addScriptToEvaluateOnNewDocument", source=HELPERS)
    await page.channel.send("Emulation.setFocusEmulationEnabled", enabled=True)  # as a panel at the side, it is seen
    await chrome.go(page, f"{ORIGIN}/panel.html")
    one = Dashboard(page)
    await one.resize(400, 900)
    await one.sees("live", "[aria-label=Connection]")
    return one
