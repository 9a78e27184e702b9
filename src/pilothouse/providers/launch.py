"""Starts Chrome over the debugging pipe and makes sure that it ends.

Above: sessions get browsers from here. Below: cdp. No port is opened; Chrome ends when our end of the pipe closes,
whatever became of us.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from pilothouse.cdp.connection import Connection
from pilothouse.cdp.flags import NO_UDP
from pilothouse.cdp.pipe import Pipe
from pilothouse.errors import Failure
from pilothouse.options import Browser, Profile
from pilothouse.providers.arguments import check_arguments
from pilothouse.providers.find import find_chrome
from pilothouse.providers.occupied import is_alive, user_of

log = logging.getLogger(__name__)

START_TIMEOUT_S = 20
SAVE_S = 3.0
_PREFIX = "browser-"
_MEND_PATH = "mend PILOTHOUSE_CHROME or browser.path"

# What every launched Chrome gets. Nothing here hides automation or weakens the web's own rules.
_FLAGS = (
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-startup-window",
    "--no-default-browser-check",
    "--disable-auto-reload",  # of error pages: after 1, 5, 30 s … by itself (M)
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-infobars",
    "--disable-popup-blocking",
    "--disable-quic",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    NO_UDP,
    "--proxy-bypass-list=<-loopback>",
    # Names are looked up by the sluice alone: Chrome itself finds none, whatever a page wants prefetched.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
# AutofillServerCommunication asks Google about every form, twice (M). The next two are pages of the address bar: a
# renderer of 160 MB for each window that nobody sees (M). The last one holds back a page's timers and messages after a
# key until the next frame is drawn, which gives a person's eye priority: 11 ms after every text that is typed (M).
_FEATURES_OFF = (
    "Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,HttpsUpgrades,AcceptCHFrame,GlobalMediaControls,"
    "DestroyProfileOnBrowserClose,LensOverlay,AutofillServerCommunication,WebUIOmniboxPopup,WebUIOmniboxAimPopup,"
    "DeferRendererTasksAfterInput"
)
# Chrome keeps a renderer in reserve for the context that was used last, and throws it away when another one is used.
# Where sessions take turns that is a process for every navigation, and for nothing: without, ten of them get a quarter
# more done (M). One session alone goes to another site 5 ms later (M).
_RESERVE = "SpareRendererForSitePerProcess"
# Nothing outside a context of ours reaches the network: port 9 of loopback answers nobody.
_NOWHERE = 9


class Chrome:
    """One running browser: its connection, its process group, its data directory."""

    def __init__(self, connection: Connection, pid: int, data_dir: Path, *, keep: bool = False) -> None:
        self.connection = connection
        self.pid = pid
        self._data_dir = data_dir
        self._keep = keep
        self._ended = _reaped(pid)

    async def close(self) -> None:
        """End it now: an ephemeral browser has nothing to save, one with a profile writes down its cookies first."""
        if self._keep and not self.connection.closed.done():
            self.connection.root.post("Browser.close")
            await asyncio.wait({asyncio.shield(self._ended)}, timeout=SAVE_S)
        await self.connection.close()
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        await asyncio.shield(self._ended)
        if not self._keep:
            await asyncio.to_thread(_remove, self._data_dir)


_FRAME = (16, 150)  # what a window has around its page: borders, tabs, address


class _Plan(NamedTuple):
    data_dir: Path
    port: int  # of this machine: the way to the network
    headless: bool
    lang: str = ""
    timezone: str = ""
    size: tuple[int, int] = (1280, 800)
    shared: bool = False  # by sessions that take turns


class Launcher:
    def __init__(self, config: Browser, home: Path, *, start_timeout_s: float = START_TIMEOUT_S) -> None:
        self._config = config
        self._args = check_arguments(config.args, "browser.args")
        self._start_timeout_s = start_timeout_s
        self._folder = home / "browsers"

    async def start(self, *, headless: bool = True) -> Chrome:
        """A fresh Chrome with an empty data directory that is removed at its end."""
        path = find_chrome(self._config.path)
        _check_display(headless=headless)
        await asyncio.to_thread(self._sweep)
        data_dir = self._folder / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        data_dir.mkdir(parents=True, mode=0o700)
        plan = _Plan(data_dir, _NOWHERE, headless, shared=True)
        return await self._started(path, plan, data_dir / "chrome.log", keep=False)

    async def start_profile(self, profile: Profile, data_dir: Path, *, port: int, headless: bool | None) -> Chrome:
        """A Chrome with a data directory that stays; refused while another one uses it.

        `port` is its way to the network; `headless` wins over what the profile says.
        """
        path = find_chrome(self._config.path)
        if user := await asyncio.to_thread(self.user_of, data_dir):
            raise Failure(
                "in_use",
                f"the profile {profile.id} is in use by {user}",
                details={"user_data_dir": str(data_dir)},
                suggestions=["close that browser first", "or use another profile"],
            )
        _check_display(headless=self.headless(profile, headless))
        for folder in (data_dir, self._folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        log_file = self._folder / f"profile-{profile.id}.log"
        log_file.unlink(missing_ok=True)
        size = (profile.viewport.width, profile.viewport.height) if profile.viewport else (1280, 800)
        plan = _Plan(data_dir, port, self.headless(profile, headless), profile.lang, profile.timezone, size)
        return await self._started(path, plan, log_file, keep=True)

    def user_of(self, data_dir: Path) -> str:
        return user_of(data_dir)

    def headless(self, profile: Profile, asked: bool | None) -> bool:
        told = profile.headless if asked is None else asked
        return self._config.headless if told is None else told

    async def _started(self, path: str, plan: _Plan, log_file: Path, *, keep: bool) -> Chrome:
        ours, theirs = socket.socketpair()
        try:
            pid = _spawn([path, *self._flags(plan)], theirs, log_file, _environment(plan))
        except OSError as error:
            ours.close()
            if not keep:
                shutil.rmtree(plan.data_dir, ignore_errors=True)
            raise Failure("system", f"{path} cannot be run: {error.strerror}", suggestions=[_MEND_PATH]) from error
        finally:
            theirs.close()
        pipe = Pipe(ours)
        await pipe.open()
        chrome = Chrome(Connection(pipe), pid, plan.data_dir, keep=keep)
        await self._answered(chrome, path, log_file)
        return chrome

    def _flags(self, plan: _Plan) -> list[str]:
        flags = [*_FLAGS, f"--proxy-server=socks5://127.0.0.1:{plan.port}", f"--user-data-dir={plan.data_dir}"]
        flags.append(f"--disable-features={_FEATURES_OFF}{f',{_RESERVE}' if plan.shared else ''}")
        flags += self._args
        if plan.lang:
            flags += [f"--lang={plan.lang}", f"--accept-lang={plan.lang}"]
        width, height = plan.size
        if plan.headless:
            flags += ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--mute-audio"]
        else:
            width, height = width + _FRAME[0], height + _FRAME[1]  # or a person would see a part of the page
        flags.append(f"--window-size={width},{height}")
        if self._config.sandbox is False or (self._config.sandbox == "auto" and _is_root()):
            log.warning("Chrome runs without its sandbox (browser.sandbox = %r)", self._config.sandbox)
            flags.append("--no-sandbox")
        return flags

    async def _answered(self, chrome: Chrome, path: str, log_file: Path) -> None:
        try:
            await chrome.connection.root.send("Browser.getVersion", timeout=self._start_timeout_s)
        except asyncio.CancelledError:
            await asyncio.shield(chrome.close())
            raise
        except Failure as failure:
            said = _last_lines(log_file)
            await chrome.close()
            raise Failure(
                "system",
                f"{path} did not start: {failure.message}",
                details={"stderr": said},
                suggestions=["start it by hand to see why", "as root or in a container: browser.sandbox = false"],
            ) from failure

    def _sweep(self) -> None:
        """Remove what browsers of daemons that were killed left behind."""
        for folder in self._folder.glob(f"{_PREFIX}*-*"):
            owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and int(owner) != os.getpid() and not is_alive(int(owner)):
                _remove(folder)


def _check_display(*, headless: bool) -> None:
    """Chrome only dies without one, and what it says last is of no help."""
    if headless or not sys.platform.startswith("linux"):
        return
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise Failure(
            "unsupported",
            "a browser with a window needs a display, and this daemon has none: DISPLAY was not set when it started",
            suggestions=[
                "leave headless and --headed out: the page is the same, and screenshot shows it",
                "or `pilothouse stop`, and call again from a terminal on the desktop",
                "or give it a display that nobody sees: `xvfb-run pilothouse serve`",
            ],
        )


def _remove(data_dir: Path) -> None:
    """With what Chrome keeps elsewhere: a folder for its socket, beside other temporary files, where a link leads."""
    with contextlib.suppress(OSError):
        elsewhere = Path(os.readlink(data_dir / "SingletonSocket")).parent
        if "org.chromium." in elsewhere.name or "com.google." in elsewhere.name:
            shutil.rmtree(elsewhere, ignore_errors=True)
    shutil.rmtree(data_dir, ignore_errors=True)


def _environment(plan: _Plan) -> dict[str, str]:
    """Chrome asks the system for its time zone, and on Linux for its language too."""
    own = {"TZ": plan.timezone} if plan.timezone else {}
    own |= {"LANGUAGE": plan.lang.replace("-", "_")} if plan.lang else {}
    return {**os.environ, **own}


def _spawn(command: list[str], theirs: socket.socket, log_file: Path, environment: dict[str, str]) -> int:
    """Chrome reads from descriptor 3 and writes to 4; both are the same socket. Its own group: ended whole."""
    # A number above those we assign, or dup2 onto itself would keep close-on-exec.
    end = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
    opened = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        return os.posix_spawn(
            command[0],
            command,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, str(log_file), opened, 0o600),
                (os.POSIX_SPAWN_DUP2, end, 3),
                (os.POSIX_SPAWN_DUP2, end, 4),
            ],
            setpgroup=0,
        )
    finally:
        os.close(end)


def _reaped(pid: int) -> "asyncio.Future[None]":
    """Done when the process is. A thread of its own: those of the executor are few, and hold up the interpreter's end
    for as long as Chrome lives."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def wait() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None))

    threading.Thread(target=wait, name=f"chrome-{pid}", daemon=True).start()
    return ended


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _last_lines(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace")[-2000:]
    return ""
