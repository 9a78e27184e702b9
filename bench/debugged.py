"""`python -m bench.debugged`: what it costs a page to be offered for inspection, in one run, by turns.

A busy page (a thousand requests, ten thousand lines of console) through the proxy, in a Chromium with the extension:
in a cocoon whose pages get no tokens; in one of which an extension that does nothing else hears Chrome's debugger (what
Chrome itself costs); and in one whose pages are offered. Twice: at the pace of a page that rests a tenth of a second
between what it asks (about 45 requests and 450 lines a second), and as fast as the machine lets it. Its server is a
process of its own, as the machine is that serves it, and the daemon's loop is the one that it has.
"""

import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import uvloop

from bench.tools import ROOT
from tests.hub.busy import Busy
from tests.hub.viewers import Stage, staged
from tests.proxy.apps import running

ROUNDS = 3
PLAIN, HEARD, OFFERED = "plain", "heard", "offered"
TOLD = {PLAIN: "not offered", HEARD: "only heard", OFFERED: "offered"}
HEARING = {
    "manifest_version": 3,
    "name": "hears",
    "version": "1",
    "permissions": ["debugger", "tabs"],
    "background": {"service_worker": "worker.js"},
}
HEARS = """chrome.debugger.onEvent.addListener(() => {})
chrome.tabs.onUpdated.addListener(async (tabId, { status }, { url = '' }) => {
  if (status !== 'loading' || !url.includes('heard.')) return
  await chrome.debugger.attach({ tabId }, '1.3')
  for (const one of ['Network', 'Runtime', 'Log']) await chrome.debugger.sendCommand({ tabId }, `${one}.enable`)
  await chrome.debugger.sendCommand({ tabId }, 'Runtime.evaluate', { expression: 'document.title = "Heard"' })
})"""
SERVES = "--serve"
PACES = {"at a busy page's pace": 100, "as fast as it can": 0}  # ms between two requests, six at a time


async def loads(stage: Stage, cocoon: str, pause: int) -> float:
    page = await stage.person.chrome.open(stage.url("/busy", cocoon))
    if cocoon == OFFERED:
        await stage.until(lambda: stage.hub.tabs("local"), "it is offered")
    elif cocoon == HEARD:
        await page.until("document.title === 'Heard'")
    took: float = await page.js(f"busy({pause})")
    await stage.person.chrome.close(page)
    await stage.until(lambda: not stage.hub.tabs("local"), "it is gone")
    return took


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with staged(*_furnished(Path(folder))) as stage, busy_app() as url:
            for name in TOLD:
                stage.here.cocoons.add({"id": name, "target": url, "enabled": name == OFFERED})
            await loads(stage, OFFERED, 0)  # warms up
            for pace, pause in PACES.items():
                tell(pace, await measured(stage, pause))


def _furnished(folder: Path) -> tuple[Path, None, Path]:
    home, hearing = folder / "home", folder / "hearing"
    home.mkdir(mode=0o700)
    hearing.mkdir()
    (hearing / "manifest.json").write_text(json.dumps(HEARING))
    (hearing / "worker.js").write_text(HEARS)
    return home, None, hearing


@contextlib.asynccontextmanager
async def busy_app() -> AsyncIterator[str]:
    command = [sys.executable, "-m", "bench.debugged", SERVES]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


async def serve() -> None:
    """Until nobody listens any more."""
    async with running(Busy()) as app:
        sys.stdout.write(f"{app.url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


async def measured(stage: Stage, pause: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in TOLD}
    for _ in range(ROUNDS):
        for cocoon, list_ in times.items():
            list_.append(await loads(stage, cocoon, pause))
    return times


def tell(pace: str, times: dict[str, list[float]]) -> None:
    sys.stdout.write(f"{pace}:\n")
    plain = statistics.median(times[PLAIN])
    for name, list_ in times.items():
        took = statistics.median(list_)
        slower = f"{100 * (took / plain - 1):6.1f} % slower" if name != PLAIN else " " * 15
        sys.stdout.write(f"  {TOLD[name]:12} {took:8.0f} ms {slower}   {[round(one) for one in list_]}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(serve() if sys.argv[1:] == [SERVES] else main())
