"""`python -m bench.debugged`: what it costs a page to be offered for inspection, in one run, by turns.

A busy page (a thousand requests, ten thousand lines of console) through the proxy, in a Chromium with the extension:
once in a cocoon whose pages get tokens, once in one whose pages do not.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from tests.hub.busy import Busy
from tests.hub.viewers import Stage, staged

ROUNDS = 5


async def loads(stage: Stage, cocoon: str) -> float:
    page = await stage.person.chrome.open(stage.url("/busy", cocoon))
    if cocoon == "shop":
        await stage.offered("/busy")
    took: float = await page.js("busy()")
    await stage.person.chrome.close(page)
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone")
    return took


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder), Busy()) as stage:
            stage.here.cocoons.add({"id": "plain", "target": stage.shop.url, "enabled": False})
            times: dict[str, list[float]] = {"plain": [], "shop": []}
            for number in range(ROUNDS + 1):
                for cocoon, list_ in times.items():
                    took = await loads(stage, cocoon)
                    sys.stderr.write(f"{cocoon} {took:.0f} ms\n")
                    if number:  # the first round warms up
                        list_.append(took)
    plain, offered = (statistics.median(times[name]) for name in ("plain", "shop"))
    sys.stdout.write(f"not offered {plain:8.0f} ms   {[round(one) for one in times['plain']]}\n")
    sys.stdout.write(f"offered     {offered:8.0f} ms   {[round(one) for one in times['shop']]}\n")
    sys.stdout.write(f"slower by   {100 * (offered / plain - 1):8.1f} %\n")


if __name__ == "__main__":
    asyncio.run(main())
