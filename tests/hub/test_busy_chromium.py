"""A busy page arrives complete within the ring: a thousand requests with their bodies, ten thousand lines."""

from pathlib import Path

from pilothouse.hub.rings import is_done
from pilothouse.hub.words import NetworkFilters
from tests.hub.busy import LINES, REQUESTS, Busy
from tests.hub.viewers import staged
from tests.promises import promise

pytestmark = promise("G05", "G06")


async def test_a_busy_page_is_told_completely(home: Path):
    async with staged(home, Busy()) as stage:
        page, tab = await stage.show("/busy")
        await page.js("busy()")
        ring = stage.hub.tab("local", tab.token).entries
        await stage.until(lambda: len(ring) == LINES, "every line is there", 30)
        numbers = sorted(int(line.split(" ")[1]) for line in await stage.lines(tab))
        assert numbers == list(range(LINES))
        asked, ticking = stage.hub.tab("local", tab.token).requests, NetworkFilters(url_pattern="/tick/", limit=10_000)
        done = lambda: sum(is_done(one) for one in asked.chosen(ticking))  # bodies take a way of their own
        await stage.until(lambda: done() == REQUESTS, "every answer is there", 30)
        ticks = await stage.requests(tab, url_pattern="/tick/")
        assert sorted(int(one.url.rpartition("/")[2]) for one in ticks) == list(range(REQUESTS))
        assert all(one.status == 200 and one.duration_ms is not None for one in ticks)
        assert all(one.response_body and '"tags":' in one.response_body for one in ticks)
