"""A long mixed load on a daemon of its own, and a judgement: does it grow, does it leave anything behind?

`scripts/soak MINUTES` runs it; the exit code is 1 when something is wrong. Below: load, kills.
"""

import argparse
import asyncio
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from bench import away
from bench.kills import kill_often
from bench.load import TRIED, Place, Worker, doors, key_of, least_tried
from pilothouse.browser.usage import pss_of
from tests.processes import PILOTHOUSE, Process, is_alive, processes_of
from tests.server import PageServer

EVERY_S = 10.0
WARM_UP = 0.2  # of the time, at least
MOMENTS = 10  # after the warm-up, or nothing can be said about growth
GROWTH = 0.05
EXPECTED = re.compile(
    r"(agent|person|hive)\.key|(daemon|start)\.lock|daemon\.log(\.\d+)?|audit(-\d{12})?\.jsonl|(config|policy)\.toml|tools\.json"
    r"|sessions|browsers"
)


class Moment(NamedTuple):
    second: float
    daemon_mb: float
    chrome_mb: float
    processes: int
    sessions: int
    tabs: int
    tasks: int
    files: int
    temporary: int
    calls: int
    warm: bool

    def line(self) -> str:
        return (
            f"{self.second:6.0f} {self.daemon_mb:9.1f} {self.chrome_mb:9.0f} {self.processes:6d} {self.sessions:8d} "
            f"{self.tabs:5d} {self.tasks:6d} {self.files:5d} {self.temporary:5d} {self.calls:8d}"
            f"{'  warm' if self.warm else ''}"
        )


HEAD = "second daemon MB chrome MB  procs sessions  tabs  tasks   fds  temp    calls"


class Trial:
    """One daemon in a home of its own. It can be started again in the same home, whatever became of the last one."""

    def __init__(self, folder: Path) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        self.home.mkdir(mode=0o700)
        self.temporary.mkdir(mode=0o700)
        self.env = {
            **os.environ,
            "PILOTHOUSE_HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PILOTHOUSE_LIMITS_SESSIONS": "40",
            "PILOTHOUSE_LIMITS_REQUESTS_PER_MINUTE": "0",
            "PILOTHOUSE_LIMITS_MEMORY_MB": "0",
            "PILOTHOUSE_FILES_KEEP_HOURS": "0",
            "PILOTHOUSE_LOG_FILE": str(folder / "own.log"),
        }
        self.process: Process | None = None
        self.place = Place("", "", [PILOTHOUSE], self.env)

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        settings = {name: value for name, value in self.env.items() if name.startswith(("PILOTHOUSE_", "TMPDIR"))}
        self.process = Process("serve", **{**settings, "home": self.home})  # type: ignore[arg-type]

    def await_ready(self) -> None:
        assert self.process
        url = self.process.read(60)["url"]  # every start is on a machine under load
        self.place = Place(url, key_of(self.home), [PILOTHOUSE], self.env)

    def metrics(self) -> dict[str, float]:
        text = httpx.get(f"{self.place.url}/metrics", headers=self.place.headers, timeout=30).text
        rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name.removeprefix("pilothouse_"): float(value) for name, _, value in rows}

    def moment(self, began: float, *, warm: bool = False) -> Moment:
        assert self.process
        told = self.metrics()
        chrome = processes_of(self.home / "browsers")
        return Moment(
            time.monotonic() - began,
            told["daemon_memory_bytes"] / 1e6,
            sum(pss_of(pid) for pid in chrome) / 1e6,
            len(chrome),
            int(told["sessions"]),
            int(told["tabs"]),
            int(told["daemon_tasks"]),
            int(told["daemon_open_files"]),
            sum(1 for _ in self.temporary.rglob("*")),
            int(sum(value for name, value in told.items() if name.startswith("calls_total"))),
            warm,
        )

    def stop(self) -> list[str]:
        """As a service manager stops it; the answer is what it did wrong."""
        assert self.process
        began = time.monotonic()
        self.process.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            return ["it did not end within 10 s of SIGTERM"]
        wrong = [f"it ended with {code}"] if code else []
        if time.monotonic() - began > 3:
            wrong.append(f"it took {time.monotonic() - began:.1f} s to end")
        end = time.monotonic() + 3
        while (left := [pid for pid in processes_of(self.home) if is_alive(pid)]) and time.monotonic() < end:
            time.sleep(0.1)
        return wrong + ([f"{len(left)} processes are left"] if left else [])

    def leftovers(self) -> list[str]:
        odd = sorted(one.name for one in self.home.iterdir() if not EXPECTED.fullmatch(one.name))
        odd += [f"browsers/{one.name}" for one in (self.home / "browsers").glob("*")]
        odd += [f"tmp/{one.name}" for one in self.temporary.iterdir()]
        return [f"{name} is left" for name in odd]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def soak(trial: Trial, minutes: float, sessions: int) -> list[str]:
    """Run the load and print what is seen; the answer is what is wrong."""
    trial.start()
    with PageServer() as site:
        workers = [Worker(door, trial.place, site, n) for n, door in enumerate(doors(trial.place, sessions))]
        say("doors: " + ", ".join(worker.name for worker in workers))
        say(f"warm: each kind of door has taken each kind of step {TRIED} times, and {WARM_UP:.0%} of the time is over")
        say(HEAD)
        for worker in workers:
            worker.start()
        moments = _watch(trial, minutes * 60, workers)
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join(120)
        wrong = _tell(workers)
        wrong += _settled(trial)
    wrong += _growth(moments)
    wrong += trial.stop()
    assert trial.process
    errors = [line for line in trial.process.errors if '"level": "error"' in line]
    wrong += [f"the log has {len(errors)} errors, the first: {errors[0][:600]}"] if errors else []
    return wrong + trial.leftovers()


def _watch(trial: Trial, seconds: float, workers: list[Worker]) -> list[Moment]:
    """The daemon is warm when every kind of door has taken every kind of step a few times: what it loads and keeps
    for a first use is no growth."""
    began, moments, warm = time.monotonic(), list[Moment](), False
    while time.monotonic() - began < seconds:
        time.sleep(min(EVERY_S, max(seconds / 40, 1)))
        warm = warm or (time.monotonic() - began >= seconds * WARM_UP and least_tried(workers) >= TRIED)
        moments.append(trial.moment(began, warm=warm))
        say(moments[-1].line())
    return moments


def _settled(trial: Trial) -> list[str]:
    """When everybody has gone, sessions go too."""
    end = time.monotonic() + 15
    while (left := trial.metrics()["sessions"]) and time.monotonic() < end:
        time.sleep(0.2)
    say(trial.moment(time.monotonic()).line() + "  (everybody has gone)")
    return [f"{left:.0f} sessions stay open"] if left else []


def _growth(moments: list[Moment]) -> list[str]:
    """From after the warm-up to the end; each end is the middle of a few, because one moment says little."""
    warm = [one for one in moments if one.warm]
    if len(warm) < MOMENTS:
        return [f"too short to tell of growth: {len(warm)} moments after the warm-up, {MOMENTS} are needed"]
    few = max(len(warm) // 5, 1)
    first = statistics.median(one.daemon_mb for one in warm[:few])
    last = statistics.median(one.daemon_mb for one in warm[-few:])
    say(f"daemon: {first:.1f} MB after the warm-up, {last:.1f} MB at the end ({last / first - 1:+.1%})")
    return [f"the daemon grew by {last / first - 1:.1%}"] if last > first * (1 + GROWTH) else []


def _tell(workers: list[Worker]) -> list[str]:
    outcomes = sum((worker.outcomes for worker in workers), start=type(workers[0].outcomes)())
    say(f"visits: {sum(worker.visits for worker in workers)}, calls: {outcomes.total()}")
    for (tool, code), count in sorted(outcomes.items()):
        say(f"  {tool:<22} {code:<18} {count}")
    odd = [f"{tool}: {code} ({n} times)" for (tool, code), n in outcomes.items() if code in ("system", "rpc -32603")]
    return odd + [one for worker in workers for one in worker.trouble[:2]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=60)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--kill", type=int, default=0, metavar="TIMES", help="kill -9 it so often under load instead")
    parser.add_argument(
        "--extension-kill", type=int, default=0, metavar="TIMES", help="kill the extension's worker so often instead"
    )
    parser.add_argument("--pause", type=float, default=60, help="then the browser stands still for so many seconds")
    parser.add_argument("--idle", type=float, default=60, help="and then nobody does anything for so many minutes")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which it is killed")
    parser.add_argument("--keep", action="store_true", help="leave the home for a look")
    options = parser.parse_args()
    if options.extension_kill:
        return asyncio.run(away.soak(options.extension_kill, options.pause, options.idle, options.seed))
    folder = Path(tempfile.mkdtemp(prefix="pilothouse-soak-"))
    trial = Trial(folder)
    try:
        if options.kill:
            trial.env["PILOTHOUSE_LOG_MAX_BYTES"] = "100000"  # it is to begin new files meanwhile
            wrong = kill_often(trial, options.kill, say, seed=options.seed)
        else:
            wrong = soak(trial, options.minutes, options.sessions)
    finally:
        if trial.process:
            trial.process.end()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    say("\n".join(["wrong:", *wrong]) if wrong else "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
