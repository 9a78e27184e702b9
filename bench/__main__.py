"""Runs the rows round by round, everyone's samples of a row in turn, and prints the best round as one table.

Times drift on a shared machine, so only numbers of one run are compared, and ours with bare CDP above all.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from bench.bare import BareCdp
from bench.driver import Cannot, DevtoolsMcp, Driver, Ours, PlaywrightMcp, ours
from bench.host import cpu, stolen_since
from bench.rows import ROWS, Row
from bench.tools import DEVTOOLS, PLAYWRIGHT, TOKENIZER, Unavailable, ensure
from tests.server import PageServer

Cells = dict[str, dict[str, list[float]]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--rows", default="", help="only rows whose name contains one of these, comma-separated")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the best one counts (3)")
    parser.add_argument("--no-peers", action="store_true", help="without playwright-mcp and chrome-devtools-mcp")
    parser.add_argument("--no-ours", action="store_true", help="without ours")
    parser.add_argument("--chrome", default=os.environ.get("PILOTHOUSE_CHROME") or find_chrome(), help="the browser")
    return parser.parse_args()


def find_chrome() -> str:
    names = ("google-chrome", "chromium", "chromium-browser", "chrome")
    return next((path for name in names if (path := shutil.which(name))), "chromium")


def contestants(args: argparse.Namespace) -> list[Driver]:
    found: list[Driver] = [] if args.no_ours else [ours(args.chrome)]
    found.append(BareCdp(args.chrome))
    try:
        ensure(TOKENIZER)
        if not args.no_peers:
            ensure(PLAYWRIGHT, DEVTOOLS)
            found += [PlaywrightMcp.at(args.chrome), DevtoolsMcp.at(args.chrome)]
    except Unavailable as reason:
        say(f"without peers: {reason}")
    return found


@contextlib.contextmanager
def running(drivers: list[Driver]) -> Iterator[list[Driver]]:
    started: list[Driver] = []
    try:
        for driver in drivers:
            say(f"starting {driver.name}")
            try:
                driver.start()
            except Exception as error:  # one that does not start must not keep the others from being measured
                say(f"  it did not start: {error!r}")
                continue
            started.append(driver)
        yield started
    finally:
        for driver in started:
            with contextlib.suppress(Exception):
                driver.close()
            if isinstance(driver, Ours):
                driver.end()


def measure(rows: list[Row], drivers: list[Driver], rounds: int, pages: PageServer) -> tuple[Cells, list[str]]:
    cells: Cells = {key(row): {} for row in rows}
    problems: list[str] = []
    for turn in range(rounds):
        for row in rows:
            if row.once and turn:
                continue
            say(f"round {turn + 1}/{rounds}  {row.name.strip()}")
            for name, samples in taken(row, drivers, pages, problems).items():
                cells[key(row)].setdefault(name, []).append(statistics.median(samples))
    return cells, problems


def taken(row: Row, drivers: list[Driver], pages: PageServer, problems: list[str]) -> dict[str, list[float]]:
    """Everybody's samples in turn, one by one: what else the machine does meanwhile hits all of them alike. There and
    back, so that nobody always comes after the same one."""
    running = {driver: row.measure(driver, pages.url) for driver in drivers}
    found: dict[str, list[float]] = {driver.name: [] for driver in drivers}
    order = drivers
    while running:
        for driver in [one for one in order if one in running]:
            try:
                found[driver.name].append(next(running[driver]))
            except StopIteration:
                del running[driver]
            except Cannot:
                del running[driver]
                found.pop(driver.name)
            except Exception as error:  # a cell that failed is part of the result
                del running[driver]
                found.pop(driver.name)
                problems.append(f"{key(row)}, {driver.name}: {type(error).__name__}: {str(error)[:300]}")
                say(f"  {problems[-1]}")
        order = order[::-1]
    return {name: samples for name, samples in found.items() if samples}


def key(row: Row) -> str:
    """Rows that continue the one above share its name."""
    index = ROWS.index(row)
    return f"{ROWS[index - 1].name}, full" if row.name.startswith(" ") else row.name


def best(row: Row, cells: Cells, name: str) -> float | None:
    values = cells[key(row)].get(name)
    return (max if row.more_is_better else min)(values) if values else None


def ratios(row: Row, cells: Cells) -> list[float]:
    """Ours beside bare CDP, round by round: times of different rounds are not compared."""
    mine, bare = (cells[key(row)].get(name, []) for name in (Ours.name, BareCdp.name))
    return [one / other for one, other in zip(mine, bare, strict=True)] if len(mine) == len(bare) else []


def best_ratio(row: Row, cells: Cells) -> float | None:
    return (max if row.more_is_better else min)(ratios(row, cells), default=None)


def judge(row: Row, cells: Cells) -> str:
    mine, ratio = best(row, cells, Ours.name), best_ratio(row, cells)
    if mine is None:
        return ""
    bar, value = (row.ratio, ratio) if row.ratio and ratio else (row.limit, mine)
    if bar is None:
        return ""
    return "ok" if (value >= bar if row.more_is_better else value <= bar) else "MISS"


def bars(row: Row) -> str:
    sign = ">=" if row.more_is_better else "<="
    ratio = f"{sign} {row.ratio:g}x" if row.ratio else ""
    return ratio or (f"{sign} {row.limit:g}" if row.limit else "")


def shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(rows: list[Row], cells: Cells) -> str:
    peers = [PlaywrightMcp.name, DevtoolsMcp.name]
    lines = [["", "unit", "ours", "bare CDP", "ratio", "of rounds", "playwright-mcp", "cdt-mcp", "bar", ""]]
    for row in rows:
        mine, bare = best(row, cells, Ours.name), best(row, cells, BareCdp.name)
        ratio = best_ratio(row, cells)
        rounds = " ".join(f"{one:.2f}" for one in ratios(row, cells)) if row.ratio else ""
        others = [shown(best(row, cells, peer)) for peer in peers]
        beside = [f"{ratio:.2f}x" if ratio else "", rounds]
        lines.append([row.name, row.unit, shown(mine), shown(bare), *beside, *others, bars(row), judge(row, cells)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i in (0, 1, 8, 9) else cell.rjust(width) for i, (cell, width) in parts).rstrip()
        for parts in (enumerate(zip(line, widths, strict=True)) for line in lines)
    )


def as_json(rows: list[Row], cells: Cells, problems: list[str], stolen: float | None) -> str:
    out: dict[str, Any] = {}
    for row in rows:
        out[key(row)] = {
            "unit": row.unit,
            "best": {name: best(row, cells, name) for name in cells[key(row)]},
            "rounds": cells[key(row)],
            "ratio": best_ratio(row, cells),
            "ratios": ratios(row, cells),
            "bar": bars(row),
            "verdict": judge(row, cells),
        }
    return json.dumps({"rows": out, "problems": problems, "stolen_percent": stolen}, indent=2)


def main() -> int:
    args = arguments()
    wanted = [part.strip().lower() for part in args.rows.split(",") if part.strip()]
    rows = [row for row in ROWS if not wanted or any(part in key(row).lower() for part in wanted)]
    with PageServer() as pages, running(contestants(args)) as drivers:
        began = cpu()
        cells, problems = measure(rows, drivers, args.rounds, pages)
        stolen = stolen_since(began)
    print(as_json(rows, cells, problems, stolen) if args.json else table(rows, cells))  # noqa: T201
    if not args.json and stolen is not None:
        print(f"(the machine's host gave {stolen:.0f} % of the CPU time that was wanted here to others)")  # noqa: T201
    for problem in [] if args.json else problems:
        print(f"! {problem}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
