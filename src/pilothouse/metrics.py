"""Numbers about the daemon, in the text format 0.0.4 of Prometheus.

Above: the gate counts calls, the metrics door prints. Below: nothing. Labels come from our own lists (tools, error
codes, browsers), so that no caller can make them grow.
"""

import asyncio
import contextlib
import os
import sys
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
UNKNOWN = "unknown"  # all tools that do not exist are one


class Sample(NamedTuple):
    """One number of now. `kind` is "gauge" or "counter"."""

    name: str
    value: float
    help: str
    labels: tuple[tuple[str, str], ...] = ()
    kind: str = "gauge"


class _Latency:
    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0


class Metrics:
    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], int] = {}
        self._latencies: dict[str, _Latency] = {}
        self._began = time.monotonic()

    def called(self, tool: str, outcome: str, seconds: float) -> None:
        """A call ended: `outcome` is "ok", "cancelled" or the code of an error."""
        pair = (tool, outcome)
        self._calls[pair] = self._calls.get(pair, 0) + 1
        latency = self._latencies.get(tool)
        if latency is None:
            latency = self._latencies[tool] = _Latency()
        latency.counts[bisect_left(BUCKETS_S, seconds)] += 1
        latency.total_s += seconds

    def totals(self) -> tuple[int, int, float]:
        """Calls, those of them that failed, and the seconds that all took together."""
        failed = sum(count for (_, outcome), count in self._calls.items() if outcome != "ok")
        return sum(self._calls.values()), failed, sum(one.total_s for one in self._latencies.values())

    def text(self, samples: Iterable[Sample], version: str) -> str:
        """Everything counted here, then what others know, then the process itself."""
        own = [
            Sample("build_info", 1, "The version that runs.", (("version", version),)),
            Sample("uptime_seconds", time.monotonic() - self._began, "Since the daemon started."),
            *process_samples(),
        ]
        lines = [*self._call_lines(), *self._failure_lines(), *self._latency_lines(), *_sample_lines([*own, *samples])]
        return "\n".join(lines) + "\n"

    def _call_lines(self) -> Iterator[str]:
        yield from _head("calls_total", "Calls by tool and outcome.", "counter")
        for (tool, outcome), count in sorted(self._calls.items()):
            yield _line("calls_total", count, (("tool", tool), ("outcome", outcome)))

    def _failure_lines(self) -> Iterator[str]:
        yield from _head("failures_total", "Failed calls by code.", "counter")
        failures: dict[str, int] = {}
        for (_, outcome), count in self._calls.items():
            if outcome != "ok":
                failures[outcome] = failures.get(outcome, 0) + count
        for code, count in sorted(failures.items()):
            yield _line("failures_total", count, (("code", code),))

    def _latency_lines(self) -> Iterator[str]:
        name = "call_duration_seconds"
        yield from _head(name, "How long calls took, by tool.", "histogram")
        for tool, latency in sorted(self._latencies.items()):
            label, below = ("tool", tool), 0
            for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), latency.counts, strict=True):
                below += count
                yield _line(f"{name}_bucket", below, (label, ("le", bound)))
            yield _line(f"{name}_sum", latency.total_s, (label,))
            yield _line(f"{name}_count", below, (label,))


def process_samples() -> Iterator[Sample]:
    """The daemon itself."""
    yield Sample("daemon_memory_bytes", memory_bytes(), "Resident memory of the daemon.")
    yield Sample("daemon_cpu_seconds_total", time.process_time(), "CPU time of the daemon.", kind="counter")
    with contextlib.suppress(RuntimeError):  # no loop runs here
        yield Sample("daemon_tasks", len(asyncio.all_tasks()), "Tasks of the daemon's event loop.")
    with contextlib.suppress(OSError):
        descriptors = os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
        yield Sample("daemon_open_files", len(descriptors), "Open file descriptors of the daemon.")


def memory_bytes() -> int:
    """Resident memory now; where the system does not tell, the highest it has been."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _sample_lines(samples: list[Sample]) -> Iterator[str]:
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    for name, group in by_name.items():
        yield from _head(name, group[0].help, group[0].kind)
        for sample in group:
            yield _line(name, sample.value, sample.labels)


def _head(name: str, told: str, kind: str) -> list[str]:
    return [f"# HELP pilothouse_{name} {told}", f"# TYPE pilothouse_{name} {kind}"]


def _line(name: str, value: float, labels: tuple[tuple[str, str], ...] = ()) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"pilothouse_{name}{{{shown}}} {value:.10g}" if shown else f"pilothouse_{name} {value:.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
