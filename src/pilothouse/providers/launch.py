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
import threading
from pathlib import Path

from pilothouse.cdp.connection import Connection
from pilothouse.cdp.pipe import Pipe
from pilothouse.config import Browser
from pilothouse.errors import Failure
from pilothouse.providers.find import find_chrome

log = logging.getLogger(__name__)

START_TIMEOUT_S = 20
_PREFIX = "browser-"
_MEND_PATH = "mend PILOTHOUSE_CHROME or browser.path"

# What every launched Chrome gets. Nothing here hides automation or weakens the web's own rules.
_FLAGS = (
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-startup-window",
    "--no-default-browser-check",
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
    # AutofillServerCommunication would tell Google of every form (M). The last two are pages of the address bar: a
    # renderer of 160 MB for each window that nobody sees (M).
    "--disable-features=Translate,AutofillServerCommunication,OptimizationHints,MediaRouter,DialMediaRouteProvider,HttpsUpgrades,"
    "AcceptCHFrame,GlobalMediaControls,DestroyProfileOnBrowserClose,LensOverlay,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    # UDP would leave without the proxy; the spelling with --force- in front does nothing.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Nothing outside a context of ours reaches the network: port 9 of loopback answers nobody.
    "--proxy-server=socks5://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
)


class Chrome:
    """One running browser: its connection, its process group, its data directory."""

    def __init__(self, connection: Connection, pid: int, data_dir: Path) -> None:
        self.connection = connection
        self.pid = pid
        self._data_dir = data_dir
        self._ended = _reaped(pid)

    async def close(self) -> None:
        """End it now: an ephemeral browser has nothing to save."""
        await self.connection.close()
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        await asyncio.shield(self._ended)
        await asyncio.to_thread(shutil.rmtree, self._data_dir, ignore_errors=True)


class Launcher:
    def __init__(self, config: Browser, home: Path, *, start_timeout_s: float = START_TIMEOUT_S) -> None:
        self._config = config
        self._start_timeout_s = start_timeout_s
        self._folder = home / "browsers"

    async def start(self, *, headless: bool = True) -> Chrome:
        """A fresh Chrome with an empty data directory that is removed at its end."""
        path = find_chrome(self._config.path)
        await asyncio.to_thread(self._sweep)
        data_dir = self._folder / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        data_dir.mkdir(parents=True, mode=0o700)
        ours, theirs = socket.socketpair()
        try:
            pid = _spawn([path, *self._flags(data_dir, headless)], theirs, data_dir / "chrome.log")
        except OSError as error:
            ours.close()
            shutil.rmtree(data_dir, ignore_errors=True)
            raise Failure("system", f"{path} cannot be run: {error.strerror}", suggestions=[_MEND_PATH]) from error
        finally:
            theirs.close()
        pipe = Pipe(ours)
        await pipe.open()
        chrome = Chrome(Connection(pipe), pid, data_dir)
        await self._answered(chrome, path, data_dir)
        return chrome

    def _flags(self, data_dir: Path, headless: bool) -> list[str]:
        flags = [*_FLAGS, f"--user-data-dir={data_dir}", *self._config.args]
        if headless:
            flags += ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--window-size=1280,800"]
        if self._config.sandbox is False or (self._config.sandbox == "auto" and _is_root()):
            log.warning("Chrome runs without its sandbox (browser.sandbox = %r)", self._config.sandbox)
            flags.append("--no-sandbox")
        return flags

    async def _answered(self, chrome: Chrome, path: str, data_dir: Path) -> None:
        try:
            await chrome.connection.root.send("Browser.getVersion", timeout=self._start_timeout_s)
        except asyncio.CancelledError:
            await asyncio.shield(chrome.close())
            raise
        except Failure as failure:
            said = _last_lines(data_dir / "chrome.log")
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
            if owner.isdigit() and int(owner) != os.getpid() and not _alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


def _spawn(command: list[str], theirs: socket.socket, log_file: Path) -> int:
    """Chrome reads from descriptor 3 and writes to 4; both are the same socket. Its own group: ended whole."""
    # A number above those we assign, or dup2 onto itself would keep close-on-exec.
    end = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
    opened = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        return os.posix_spawn(
            command[0],
            command,
            dict(os.environ),
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


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _last_lines(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace")[-2000:]
    return ""
