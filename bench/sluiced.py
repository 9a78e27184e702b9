"""What the sluice alone, with a policy in force, adds to the time that a page takes to load; Fetch is no part of it.

Two plain Chromes beside each other, told of every request: one goes straight to the server, the other through the
product's own sluice, in a process of its own as the daemon is. They load in turn, page by page: the machine's moods
are the same for both.
"""

import asyncio
import multiprocessing
import statistics
import time
from multiprocessing.queues import Queue

import uvloop

from bench.bare import BareCdp
from bench.driver import POLICY, Driver
from pilothouse.guard.policy import Policy
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sluice import Sluice

PAGES = 60
THINK_S = 0.05
PICTURES = 40
_LOADED = (
    "(() => { const [page] = performance.getEntriesByType('navigation');"
    " return [page.loadEventStart - page.startTime, [...document.images].filter(i => i.naturalWidth).length] })()"
)


def added(chrome: str, url: str) -> float:
    """In percent."""
    ports: Queue[int] = multiprocessing.Queue()
    sluice = multiprocessing.Process(target=_serve, args=(ports,), daemon=True)
    sluice.start()
    both = (BareCdp(chrome), BareCdp(chrome, f"socks5://127.0.0.1:{ports.get(timeout=20)}"))
    try:
        for one in both:
            one.start()
            one.watch_network()
        taken = [[load(one, f"{url}?{number}") for one in both] for number in range(PAGES)]
    finally:
        for one in both:
            one.close()
        sluice.kill()
    direct, through = (statistics.median(times) for times in zip(*taken, strict=True))
    return max((through / direct - 1) * 100, 0.01)


def load(driver: Driver, url: str) -> float:
    """By the page's own clock, so that only the network between browser and server differs."""
    time.sleep(THINK_S)
    driver.navigate(url)
    took, pictures = driver.evaluate(_LOADED)
    if pictures != PICTURES:
        raise RuntimeError(f"{pictures} pictures came, not {PICTURES}")
    return took


def _serve(ports: "Queue[int]") -> None:
    async def serve() -> None:
        view = Policy(read_rules(POLICY)).view("isolated", "auto")
        ports.put((await Sluice({}, set()).open(view)).port)
        await asyncio.Event().wait()

    uvloop.run(serve())
