"""The rows: what is done, how often, how its effect is checked, and the bar it must reach.

A row is a series of samples, so that everybody's can be taken in turn. One whose effect did not happen is not a fast
sample: it raises, and the cell says so.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench import afar, relayed, sluiced
from bench.bare import BareCdp
from bench.driver import ASKING, POLICY, Cannot, Driver, Ours, Spot
from bench.tokens import count_tokens

Url = Callable[[str], str]
Samples = Iterator[float]
Measure = Callable[[Driver, Url], Samples]

GO = Spot("#go", "button", "Go")
NAME = Spot("#name", "textbox", "Name")
SEARCH = Spot("#search", "searchbox", "Search")
TEN = [
    Spot("#text", "textbox", "Text"),
    Spot("#password", "textbox", "Password"),
    Spot("#email", "textbox", "Email"),
    SEARCH,
    Spot("#tel", "textbox", "Telephone"),
    Spot("#url", "textbox", "Address"),
    Spot("#notes", "textbox", "Notes"),
    Spot("#controlled", "textbox", "Controlled"),
    Spot("#upper", "textbox", "Upper case"),
    Spot("#controlled-notes", "textbox", "Controlled notes"),
]
# Longer than any server's settling, so that the text comes while the wait is under way.
LATE_MS = 1500
THINK_S = 0.15


def single(number: Callable[[Driver, Url], float]) -> Measure:
    """A row whose one sample says it all."""

    def measure(driver: Driver, url: Url) -> Samples:
        yield number(driver, url)

    return measure


class Row(NamedTuple):
    name: str
    measure: Measure
    unit: str = "ms"
    ratio: float | None = None
    """At most so many times bare CDP; at least, where more is better."""
    limit: float | None = None
    """The absolute bar of the design, judged where there is no ratio."""
    more_is_better: bool = False
    once: bool = False
    """Does not drift, or costs too much to repeat."""


class NotDone(Exception):
    pass


def check(done: bool, what: str) -> None:
    if not done:
        raise NotDone(what)


def timed(work: Callable[[], object]) -> float:
    """After a pause, for everyone alike: a model thinks between calls, and nobody's lazy work may spill into the next
    sample. What calls without a pause cost is the business of the rows `click + snapshot` and `batch`."""
    time.sleep(THINK_S)
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def click_on(page: str, elsewhere: Spot, samples: int) -> Measure:
    """The mouse comes from somewhere else each time, as it does in real work: hovering anew costs a frame."""

    def measure(driver: Driver, url: Url) -> Samples:
        driver.navigate(url(page))
        handle, away = driver.find(GO), driver.find(elsewhere)
        for _ in range(samples):
            driver.click(away)
            before = driver.evaluate("clicks")
            yield timed(lambda: driver.click(handle))
            check(driver.evaluate("clicks") == before + 1, "the click counter did not rise by one")

    return measure


def fill(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    handle = driver.find(NAME)
    for n in range(8):
        text = f"Ada Lovelace {n}"
        yield timed(lambda text=text: driver.fill(handle, text))
        check(driver.evaluate("document.getElementById('name').value") == text, "the field has another value")


def fill_ten(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("form.html"))
    handles = [driver.find(spot) for spot in TEN]
    for n in range(3):
        fields = [(handle, f"V{n}{i}@X.ORG") for i, handle in enumerate(handles)]
        yield timed(lambda fields=fields: driver.fill_many(fields))
        held = "[" + ",".join(f"document.querySelector('{spot.selector}').value" for spot in TEN) + "].join()"
        check(driver.evaluate(held) == ",".join(text for _, text in fields), "not all ten fields have their value")


def press(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    for _ in range(8):
        before = driver.evaluate("keys")
        yield timed(lambda: driver.press("a"))
        check(driver.evaluate("keys") == before + 1, "the page saw no key")


def evaluate(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    check(driver.evaluate("1+1") == 2, "1+1 is not 2")
    for _ in range(12):
        yield timed(lambda: driver.evaluate("1+1"))


def first_snapshot(page: str, *, full: bool = False) -> Measure:
    def measure(driver: Driver, url: Url) -> Samples:
        only_ours(driver, full)
        for n in range(5):
            driver.navigate(url(f"{page}?{n}"))
            yield timed(lambda: driver.snapshot(full=full))

    return measure


def snapshot_tokens(page: str, *, full: bool = False) -> Measure:
    def counted(driver: Driver, url: Url) -> float:
        only_ours(driver, full)
        driver.navigate(url(page))
        text = driver.snapshot(full=full)
        if not text:
            raise Cannot
        return count_tokens([text])[0]

    return single(counted)


def only_ours(driver: Driver, full: bool) -> None:
    """Peers know one snapshot, and it is compared with our default."""
    if full and driver.name != "ours":
        raise Cannot


def navigate(driver: Driver, url: Url) -> Samples:
    """More often than the rest: it is the work of four processes, and one takes a third longer than another."""
    for n in range(30):
        target = url(f"small.html?{n}")
        yield timed(lambda target=target: driver.navigate(target))
        check(driver.evaluate("location.href + document.readyState") == f"{target}complete", "the page is another")


def back(driver: Driver, url: Url) -> Samples:
    for n in range(5):
        driver.navigate(url(f"small.html?{n}"))
        driver.navigate(url("small.html?next"))
        yield timed(driver.back)
        check(driver.evaluate("location.search") == f"?{n}", "the page is another")


def lateness(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    for n in range(3):
        text = f"Here at last {n}"
        driver.evaluate(
            f"void setTimeout(() => {{ late.textContent = {text!r};"
            f" window.at = performance.timeOrigin + performance.now() }}, {LATE_MS})"
        )
        driver.wait_text(text)
        seen = time.time() * 1000
        late = seen - driver.evaluate("window.at")
        check(-1 < late < LATE_MS, "the text was there before the wait began")
        yield late


def screenshot(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    for _ in range(5):
        size = 0

        def shoot() -> None:
            nonlocal size
            size = driver.screenshot()

        yield timed(shoot)
        check(size > 50, "no picture")


def click_snapshot(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    handle = driver.find(GO)
    for _ in range(5):
        before = driver.evaluate("clicks")
        yield timed(lambda: driver.click_snapshot(handle))
        check(driver.evaluate("clicks") == before + 1, "the click counter did not rise by one")


def batch(driver: Driver, url: Url) -> Samples:
    driver.navigate(url("small.html"))
    handle = driver.find(GO)
    for _ in range(3):
        before = driver.evaluate("clicks")
        yield timed(lambda: driver.click_many(handle, 5))
        check(driver.evaluate("clicks") == before + 5, "not five clicks")


def listing(*, everything: bool) -> Measure:
    return single(lambda driver, url: count_tokens([driver.listing(everything=everything)])[0])


def crowd(driver: Driver, url: Url) -> float:
    return 2 * driver.crowd(10, 5, url("small.html"), GO)


def crowd_without_reserve(driver: Driver, url: Url) -> float:
    """What bare CDP would reach in a Chrome that is set up as ours is (`launch._RESERVE`)."""
    if not isinstance(driver, BareCdp):
        raise Cannot
    one = BareCdp(driver.chrome, reserve=False)
    one.start()
    try:
        return crowd(one, url)
    finally:
        one.close()


def page_load(driver: Driver, url: Url) -> Samples:
    """By the page's own clock, so that only the network between browser and server differs: ours goes through the
    sluice, with a policy in force. Both are told of every request: that alone makes a page slower, and is what a log of
    the network costs whoever keeps one."""
    if isinstance(driver, BareCdp):
        with driver.watching_network():
            yield from _page_load(driver, url)
    else:
        yield from _page_load(driver, url)


def _page_load(driver: Driver, url: Url) -> Samples:
    return (sluiced.load(driver, url(f"gallery.html?{n}")) for n in range(10))


def sluice_cost(driver: Driver, url: Url) -> float:
    """How much longer a page with forty pictures takes to load through the sluice, by its own clock."""
    if not isinstance(driver, Ours):
        raise Cannot
    return sluiced.added(driver.chrome, url("gallery.html"))


def policy_cost(driver: Driver, url: Url) -> float:
    """What a call takes longer with a policy in force than without, one after the other on the same machine."""
    if not isinstance(driver, Ours):
        raise Cannot
    with driver.another(policy="") as without:
        both: tuple[Ours, ...] = (driver, without)
        taken: dict[Ours, list[float]] = {one: [] for one in both}
        for one in both:
            one.navigate(url("small.html"))
        for _ in range(40):
            for one in both:
                taken[one].append(timed(lambda one=one: one.evaluate("1+1")))
        # The quickest tenth: what else the machine does makes calls slower, and never faster.
        quick = {one: statistics.quantiles(times, n=10)[0] for one, times in taken.items()}
        return max(quick[driver] - quick[without], 0.01)


def policy_load(policy: str) -> Measure:
    """How much longer a page with forty pictures takes to load under a policy than without one, by its own clock."""

    def added(driver: Driver, url: Url) -> float:
        if not isinstance(driver, Ours):
            raise Cannot
        with driver.another(policy="") as without, driver.another(policy) as under:
            both = (without, under)
            taken = [[sluiced.load(one, url(f"gallery.html?{n}")) for one in both] for n in range(sluiced.PAGES)]
        free, held = (statistics.median(times) for times in zip(*taken, strict=True))
        return max((held / free - 1) * 100, 0.01)

    return single(added)


def extension_cost(driver: Driver, url: Url) -> float:
    """What a CDP call takes longer through the extension, in the person's own Chrome."""
    if not isinstance(driver, Ours):
        raise Cannot
    return relayed.command_ms(url("small.html"))


def grid_cost(driver: Driver, url: Url) -> float:
    """What a CDP call takes longer through the hub and node of a Selenium Grid."""
    if not isinstance(driver, Ours):
        raise Cannot
    return afar.command_ms()


def memory(driver: Driver, url: Url) -> float:
    """Of a server that has served one client. That of a peer has: each of its clients has a server of its own."""
    if isinstance(driver, Ours):
        with driver.another(POLICY) as fresh:
            return memory_now(fresh, url)
    return memory_now(driver, url)


def memory_now(driver: Driver, url: Url) -> float:
    driver.navigate(url("small.html"))
    return driver.memory_mb()


def memory_after(driver: Driver, url: Url) -> float:
    if not isinstance(driver, Ours):
        raise Cannot
    return memory_now(driver, url)


ROWS = [
    Row("start (daemon up)", lambda driver, url: (driver.spawn_ms() for _ in range(3)), limit=50),
    Row("click, small page", click_on("small.html", NAME, 8), ratio=2.5, limit=20),
    # After a press Chrome draws before it does anything else, and who answers at once, as bare CDP does, has not seen
    # what the press began. Judged by the ratio all the same; the time is the bar where there is no bare CDP beside it.
    Row("click, big page", click_on("big.html", SEARCH, 6), ratio=2.5, limit=40),
    Row("fill", fill, ratio=2.5, limit=15),
    Row("fill 10 fields", fill_ten, ratio=2.5, limit=100),
    Row("press key", press, ratio=3, limit=6),
    Row("evaluate 1+1", evaluate, ratio=4, limit=4),
    Row("first snapshot, small", first_snapshot("small.html"), limit=8),
    Row("first snapshot, 5,000 elements", first_snapshot("big.html"), limit=30),
    Row("  the same, full", first_snapshot("big.html", full=True), limit=120),
    Row("snapshot tokens, small", snapshot_tokens("small.html"), "tokens", limit=200, once=True),
    Row("snapshot tokens, 5,000 elements", snapshot_tokens("big.html"), "tokens", limit=2500, once=True),
    Row("  the same, full", snapshot_tokens("big.html", full=True), "tokens", once=True),
    Row("navigate, small", navigate, ratio=1.25, limit=75),
    Row("page load by its own clock, 40 pictures", page_load, ratio=1.1),
    Row("sluice, added to that", single(sluice_cost), "%", limit=10),
    Row("policy, added to that", policy_load(POLICY), "%", limit=10),
    Row("policy that asks, added to that", policy_load(ASKING), "%", limit=10),
    Row("policy, added to a call", single(policy_cost), limit=1, once=True),
    Row("extension, added to a CDP call", single(extension_cost), limit=2),
    Row("Selenium Grid, added to a CDP call", single(grid_cost), limit=30),
    Row("back", back, ratio=1.6, limit=45),
    Row("wait for text, lateness", lateness, limit=6),
    Row("screenshot", screenshot, limit=40),
    Row("click + snapshot", click_snapshot),
    Row("batch of 5 clicks", batch),
    Row("tools/list, default", listing(everything=False), "tokens", limit=3000, once=True),
    Row("tools/list, all", listing(everything=True), "tokens", limit=11000, once=True),
    Row("10 clients, navigate + click", single(crowd), "calls/s", ratio=0.8, more_is_better=True),
    Row("10 clients, no renderer in reserve either", single(crowd_without_reserve), "calls/s", more_is_better=True),
    Row("server memory, one page", single(memory), "MB", limit=90, once=True),
    Row("server memory, after ten clients", single(memory_after), "MB", once=True),
]
