"""A person at their dashboard: a daemon in this process, a Chromium of the person's with the page open, agents beside.

The person's hands are CDP over a port of that Chromium.
"""

import base64
import json
from pathlib import Path
from typing import Any

import httpx

from tests.daemon_here import Here
from tests.own_chrome import OwnChrome, Page

HELPERS = """
globalThis.find = (selector, text) => [...document.querySelectorAll(selector)].find((one) => one.textContent.includes(text));
globalThis.text = (selector) => document.querySelector(selector)?.innerText ?? '';
"""

WHEN_SEEN = """new Promise((done) => new MutationObserver((_, watcher) => {
    if (!document.querySelector('.question')) return;
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(Date.now())));
}).observe(document.body, {subtree: true, childList: true}))"""


class Dashboard:
    def __init__(self, page: Page) -> None:
        self.page = page

    async def go(self, place: str) -> None:
        await self.page.js(f"location.hash = '#/{place}'")
        await self.page.until(f"location.hash === '#/{place}'")

    async def sees(self, text: str, where: str = "body", seconds: float = 10) -> None:
        await self.page.until(f"text({json.dumps(where)}).includes({json.dumps(text)})", seconds)

    async def press(self, text: str, where: str = "button") -> None:
        """By a real press of the mouse, in the middle of it."""
        find = f"find({json.dumps(where)}, {json.dumps(text)})"
        await self.page.until(f"{find} && !{find}.disabled && !{find}.closest('[hidden]')")
        await self.click(find)

    async def click(self, element: str, at: tuple[float, float] = (0.5, 0.5)) -> None:
        """On an element that an expression finds; `at` is a part of its width and height."""
        await self.page.js(f"{element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = await self.page.js(f"JSON.parse(JSON.stringify({element}.getBoundingClientRect()))")
        x, y = box["left"] + box["width"] * at[0], box["top"] + box["height"] * at[1]
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            options: dict[str, Any] = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self.page.channel.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    async def key(self, key: str, code: str = "", number: int = 0) -> None:
        text: dict[str, Any] = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            await self.page.channel.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number,
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    async def type(self, element: str, text: str) -> None:
        await self.page.js(f"{element}.focus(), {element}.select?.()")
        await self.page.channel.send("Input.insertText", text=text)

    async def shot(self, path: Path) -> None:
        told = await self.page.channel.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(told["data"]))

    async def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        await self.page.channel.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.page.channel.send("Emulation.setEmulatedMedia", features=[scheme])


async def new_ticket(here: Here) -> str:
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        answer = await person.post("/api/dashboard/ticket", json={})
        return answer.json()["data"]["ticket"]


async def open_dashboard(here: Here, chrome: OwnChrome, place: str = "") -> Dashboard:
    page = await chrome.open("about:blank")
    await page.channel.send("Page.enable")
    await page.channel.send("Page.addScriptToEvaluateOnNewDocument", source=HELPERS)
    await page.channel.send("Emulation.setFocusEmulationEnabled", enabled=True)  # a tab behind others draws nothing (M)
    await chrome.go(page, f"{here.url}/dashboard#ticket={await new_ticket(here)}")
    await page.until("document.querySelector('.connection')?.dataset.state === 'live'")
    one = Dashboard(page)
    if place:
        await one.go(place)
    return one
