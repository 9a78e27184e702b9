"""`python -m bench.debugged`: what it costs a page to be offered for inspection, in one run, by turns.

A busy page (a thousand requests, ten thousand lines of console) through the proxy, in a Chromium with the extension:
once in a cocoon whose pages get tokens, once in one whose pages do not. Twice: at the pace of a page that rests a tenth
of a second between what it asks (about 45 requests and 450 lines a second), and as fast as the machine lets it.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from tests.hub.busy import Busy
from tests.hub.viewers import Stage, staged

ROUNDS = 3
PACES = {"at a busy page's pace": 100, "as fast as it can": 0}  # ms between two requests, six at a time


async def loads(stage: Stage, cocoon: str, pause: int) -> float:
    page = await stage.person.chrome.open(stage.url("/busy", cocoon))
    if cocoon == "shop":
        await stage.offered("/busy")
    took: float = await page.js(f"busy({pause})")
    await stage.person.chrome.close(page)
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone")
    return took


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder), Busy()) as stage:
            stage.here.cocoons.add({"id": "plain", "target": stage.shop.url, "enabled": False})
            await loads(stage, "shop", 0)  # warms up
            for pace, pause in PACES.items():
                tell(pace, await measured(stage, pause))


async def measured(stage: Stage, pause: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"plain": [], "shop": []}
    for _ in range(ROUNDS):
        for cocoon, list_ in times.items():
            list_.append(await loads(stage, cocoon, pause))
    return times


def tell(pace: str, times: dict[str, list[float]]) -> None:
    plain, offered = (statistics.median(times[name]) for name in ("plain", "shop"))
    sys.stdout.write(f"{pace}:\n")
    sys.stdout.write(f"  not offered {plain:8.0f} ms   {[round(one) for one in times['plain']]}\n")
    sys.stdout.write(f"  offered     {offered:8.0f} ms   {[round(one) for one in times['shop']]}\n")
    sys.stdout.write(f"  slower by   {100 * (offered / plain - 1):8.1f} %\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
