"""What the bench asks of everyone it measures, and the three MCP servers behind it, each by its own tools.

A driver that cannot do a row raises `Cannot`, and its cell stays empty.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bench.tools import MODULES, ROOT, find_node
from tests.mcp_line import LineClient, Reply


class Spot(NamedTuple):
    """An element, named in both ways that servers know."""

    selector: str
    role: str
    name: str


class Cannot(Exception):
    pass


class Driver:
    """One contestant. Handles are what its own snapshot calls an element."""

    name: ClassVar[str]

    def start(self) -> None: ...
    def close(self) -> None: ...
    def navigate(self, url: str) -> None: ...
    def back(self) -> None: ...
    def evaluate(self, expression: str) -> Any: ...
    def find(self, spot: Spot) -> str: ...
    def click(self, handle: str) -> None: ...
    def fill(self, handle: str, text: str) -> None: ...
    def fill_many(self, fields: list[tuple[str, str]]) -> None: ...
    def press(self, key: str) -> None: ...
    def snapshot(self, *, full: bool = False) -> str: ...
    def wait_text(self, text: str) -> None: ...
    def screenshot(self) -> int: ...
    def click_snapshot(self, handle: str) -> str: ...
    def click_many(self, handle: str, times: int) -> None: ...

    def crowd(self, clients: int, laps: int, url: str, spot: Spot) -> float:
        """Laps of navigate and click a second, all clients at once, each with a page of its own."""
        raise Cannot

    def spawn_ms(self) -> float:
        """From spawning the server to its reply to initialize."""
        raise Cannot

    def listing(self, *, everything: bool) -> str:
        """tools/list as the model gets it."""
        raise Cannot

    def memory_mb(self) -> float:
        """Resident memory of the server's processes, the browser's not counted."""
        raise Cannot


class McpDriver(Driver):
    """What all MCP servers share: the child process and the way a call fails."""

    everything: ClassVar[list[str]] = []

    def __init__(self, argv: list[str], env: dict[str, str] | None = None) -> None:
        self._argv = argv
        self._env = env or {}
        self._folder = tempfile.mkdtemp(prefix="bench-")

    def start(self) -> None:
        self.client = self._new_client()

    def close(self) -> None:
        self.client.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def twin(self) -> "McpDriver":
        """Another client of the same kind, for the crowd."""
        return type(self)(self._argv, self._env)

    def crowd(self, clients: int, laps: int, url: str, spot: Spot) -> float:
        drivers = [self.twin() for _ in range(clients)]
        together(lambda driver: (driver.start(), driver.navigate(url)), drivers)
        try:
            began = time.perf_counter()
            together(lambda driver: driver.walk(laps, url, spot), drivers)
            return clients * laps / (time.perf_counter() - began)
        finally:
            together(lambda driver: driver.close(), drivers)

    def walk(self, laps: int, url: str, spot: Spot) -> None:
        for _ in range(laps):
            self.navigate(url)
            self.click(self.reach(spot))
        assert self.evaluate("clicks") == 1

    def reach(self, spot: Spot) -> str:
        """The cheapest handle for an element of a page just loaded."""
        return spot.selector

    def spawn_ms(self) -> float:
        began = time.perf_counter()
        client = self._new_client()
        took = time.perf_counter() - began
        client.close()
        return took * 1000

    def listing(self, *, everything: bool) -> str:
        client = LineClient([*self._argv, *(self.everything if everything else [])], env=self._env, cwd=self._folder)
        try:
            client.initialize()
            return json.dumps(client.request("tools/list")["tools"], separators=(",", ":"), ensure_ascii=False)
        finally:
            client.close()

    def memory_mb(self) -> float:
        return sum(_rss_mb(pid) for pid in _tree(self.client.process.pid))

    def _new_client(self) -> LineClient:
        client = LineClient(self._argv, env=self._env, cwd=self._folder)
        client.initialize()
        return client

    def _call(self, tool: str, /, **args: Any) -> Reply:
        reply = self.client.call(tool, **args)
        if not reply.ok:
            raise RuntimeError(f"{self.name} {tool}: {reply.text[:300]}")
        return reply


class Ours(McpDriver):
    name = "ours"
    everything: ClassVar[list[str]] = ["--tools", "all"]

    @property
    def home(self) -> str:
        return self._env["PILOTHOUSE_HOME"]

    @property
    def chrome(self) -> str:
        return self._env["PILOTHOUSE_CHROME"]

    @contextlib.contextmanager
    def another(self, policy: str) -> Generator["Ours"]:
        """Another of ours, with a home, a daemon and a policy of its own."""
        one = ours(self.chrome, policy)
        one.start()
        try:
            yield one
        finally:
            one.close()
            one.end()

    def end(self) -> None:
        """Our daemon outlives its clients by design; that of a run lived in a home of its own and goes with it."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(json.loads(Path(self.home, "daemon.json").read_text())["pid"], signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)

    def memory_mb(self) -> float:
        daemon = json.loads(Path(self.home, "daemon.json").read_text())["pid"]
        return super().memory_mb() + sum(_rss_mb(pid) for pid in _tree(daemon))

    def navigate(self, url: str) -> None:
        self._call("navigate", url=url)

    def back(self) -> None:
        self._call("go_back")

    def evaluate(self, expression: str) -> Any:
        return self._call("evaluate_js", expression=expression).data.get("value")

    def find(self, spot: Spot) -> str:
        return _ref(self._call("get_page_state").text, rf'{spot.role} "{re.escape(spot.name)}" (e\d+)', spot)

    def click(self, handle: str) -> None:
        self._call("click", target=handle)

    def fill(self, handle: str, text: str) -> None:
        self._call("type_text", target=handle, text=text)

    def fill_many(self, fields: list[tuple[str, str]]) -> None:
        self._call("fill_form", fields=[{"target": handle, "value": text} for handle, text in fields])

    def press(self, key: str) -> None:
        self._call("press_key", key=key)

    def snapshot(self, *, full: bool = False) -> str:
        return self._call("get_page_state", **({"full": True} if full else {})).text

    def wait_text(self, text: str) -> None:
        self._call("wait_for", text=text)

    def screenshot(self) -> int:
        return _image_size(self._call("screenshot"))

    def click_snapshot(self, handle: str) -> str:
        return self._call("click", target=handle, snapshot="diff").text

    def click_many(self, handle: str, times: int) -> None:
        self._call("batch", steps=[{"tool": "click", "args": {"target": handle}}] * times)


class PlaywrightMcp(McpDriver):
    name = "playwright-mcp"
    everything: ClassVar[list[str]] = ["--caps=vision,pdf,devtools,network,storage,testing,config"]

    @classmethod
    def at(cls, chrome: str) -> "PlaywrightMcp":
        server = str(MODULES / "@playwright/mcp/cli.js")
        return cls([find_node().node, server, "--headless", "--no-sandbox", "--isolated", "--executable-path", chrome])

    def navigate(self, url: str) -> None:
        self._call("browser_navigate", url=url)

    def back(self) -> None:
        self._call("browser_navigate_back")

    def evaluate(self, expression: str) -> Any:
        text = self._call("browser_evaluate", function=f"() => ({expression})").text
        return _json(text.partition("### Result\n")[2].partition("\n###")[0])

    def find(self, spot: Spot) -> str:
        text = self._call("browser_snapshot").text
        return _ref(text, rf'{spot.role} "{re.escape(spot.name)}"[^\n]*\[ref=(\w+)\]', spot)

    def click(self, handle: str) -> None:
        self._call("browser_click", target=handle)

    def fill(self, handle: str, text: str) -> None:
        self._call("browser_type", target=handle, text=text)

    def fill_many(self, fields: list[tuple[str, str]]) -> None:
        kinds = [{"target": handle, "name": handle, "type": "textbox", "value": text} for handle, text in fields]
        self._call("browser_fill_form", fields=kinds)

    def press(self, key: str) -> None:
        self._call("browser_press_key", key=key)

    def snapshot(self, *, full: bool = False) -> str:
        return self._call("browser_snapshot").text

    def wait_text(self, text: str) -> None:
        self._call("browser_wait_for", text=text)

    def screenshot(self) -> int:
        # It writes a file and names it; without a picture in the result we count what it sent.
        return len(self._call("browser_take_screenshot", scale="css").text)

    def click_snapshot(self, handle: str) -> str:
        # Its click names a file with the snapshot, which a client may not be able to read: the agent asks again.
        self.click(handle)
        return self.snapshot()

    def click_many(self, handle: str, times: int) -> None:
        for _ in range(times):
            self.click(handle)


class DevtoolsMcp(McpDriver):
    name = "chrome-devtools-mcp"
    everything: ClassVar[list[str]] = ["--categoryExtensions", "--categoryPwa", "--categoryExperimentalThirdParty"]

    @classmethod
    def at(cls, chrome: str) -> "DevtoolsMcp":
        server = str(MODULES / "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js")
        flags = [
            "--headless",
            "--isolated",
            "--executablePath",
            chrome,
            "--chromeArg=--no-sandbox",
            "--viewport",
            "1280x800",
        ]
        # It would report its use and look for updates; a bench talks to nobody.
        quiet = {"CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1", "CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"}
        return cls([find_node().node, server, *flags, "--no-performance-crux"], quiet)

    def navigate(self, url: str) -> None:
        self._call("navigate_page", pageId=1, url=url)

    def back(self) -> None:
        self._call("navigate_page", pageId=1, type="back")

    def evaluate(self, expression: str) -> Any:
        text = self._call("evaluate_script", pageId=1, function=f"() => ({expression})").text
        return _json(text.partition("```json\n")[2].partition("\n```")[0])

    def find(self, spot: Spot) -> str:
        return _ref(self.snapshot(), rf'uid=(\S+) {spot.role} "{re.escape(spot.name)}"', spot)

    def reach(self, spot: Spot) -> str:
        return self.find(spot)

    def click(self, handle: str) -> None:
        self._call("click", pageId=1, uid=handle)

    def fill(self, handle: str, text: str) -> None:
        self._call("fill", pageId=1, uid=handle, value=text)

    def fill_many(self, fields: list[tuple[str, str]]) -> None:
        self._call("fill_form", pageId=1, elements=[{"uid": handle, "value": text} for handle, text in fields])

    def press(self, key: str) -> None:
        self._call("press_key", pageId=1, key=key)

    def snapshot(self, *, full: bool = False) -> str:
        return self._call("take_snapshot", pageId=1).text

    def wait_text(self, text: str) -> None:
        self._call("wait_for", pageId=1, text=[text])

    def screenshot(self) -> int:
        return _image_size(self._call("take_screenshot", pageId=1))

    def click_snapshot(self, handle: str) -> str:
        return self._call("click", pageId=1, uid=handle, includeSnapshot=True).text

    def click_many(self, handle: str, times: int) -> None:
        for _ in range(times):
            self.click(handle)


# A policy as people have one: it names hosts, forbids some, and so looks at every document.
POLICY = "\n".join(
    f'[[rules]]\nhost = "{host}"\nread = {may}\nwrite = {may}'
    for host, may in [
        ("127.0.0.1", "true"),
        *((f"*.site{number}.example", "true") for number in range(30)),
        ("evil.example", "false"),
    ]
)

# The same, of somebody who wants to be asked about hosts that no rule names.
ASKING = f'default = "ask"\n{POLICY}'


def ours(chrome: str, policy: str = POLICY) -> Ours:
    """Ours with a home of its own, so that a daemon someone works with is neither measured nor disturbed."""
    home = tempfile.mkdtemp(prefix="bench-home-")
    if policy:
        Path(home, "policy.toml").write_text(policy)
    env = {
        "PILOTHOUSE_HOME": home,
        "PILOTHOUSE_CHROME": chrome,
        "PILOTHOUSE_SERVER_PORT": "0",
        # A bench calls faster than an agent and opens more sessions than a person.
        "PILOTHOUSE_LIMITS_SESSIONS": "32",
        "PILOTHOUSE_LIMITS_REQUESTS_PER_MINUTE": "0",
    }
    return Ours([str(ROOT / ".venv/bin/pilothouse"), "mcp"], env)


def together(work: Callable[[Any], Any], drivers: list[Any]) -> None:
    """Each driver in a thread; the first failure is raised."""
    problems: list[BaseException] = []

    def one(driver: Any) -> None:
        try:
            work(driver)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=one, args=(driver,)) for driver in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def _ref(text: str, pattern: str, spot: Spot) -> str:
    found = re.search(pattern, text)
    if not found:
        raise LookupError(f"{spot} is not in the snapshot:\n{text[:1500]}")
    return found[1]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _image_size(reply: Reply) -> int:
    return sum(len(part["data"]) for part in reply.raw["content"] if part["type"] == "image")


def _tree(root: int) -> list[int]:
    """The process and all below it, browsers left out."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found: list[int] = []
    queue = [root]
    while queue:
        pid = queue.pop()
        # By the program, not by the name: chrome-devtools-mcp calls its own node process so.
        if "chrom" not in Path(f"/proc/{pid}/exe").resolve().name:
            found.append(pid)
            queue += children.get(pid, [])
    return found


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024
