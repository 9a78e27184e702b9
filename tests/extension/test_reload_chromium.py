"""F01: `pilothouse extension dev` has the extension reloaded; it connects again by itself, as the browser it was."""

from pathlib import Path

from tests.daemon_here import daemon_here
from tests.own_chrome import own_chrome
from tests.promises import promise

from .conftest import Desk

pytestmark = promise("F01", "F08")


async def test_a_reloaded_extension_is_the_same_browser(home: Path):
    async with daemon_here(home) as here, own_chrome() as chrome:
        desk = Desk(chrome, await chrome.popup(), here)
        assert await desk.pair(await desk.code(), "work") == ""
        link, boot = desk.link, desk.link.boot
        await desk.person("POST", "/api/extension/browsers/work/reload")
        await desk.until(lambda: link.connected and link.boot != boot, "the extension after its reload")
        assert desk.link is link
        made = await desk.verb("open", url="about:blank")
        await desk.verb("attach", tabId=made["tabId"])
        assert await desk.number(made["tabId"]) == 42
