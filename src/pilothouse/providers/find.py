"""Where a Chrome is on this machine.

Above: launch. Below: the file system.
"""

import os
import shutil
import sys
from pathlib import Path

from pilothouse.errors import Failure

_COMMANDS = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
    "brave-browser",
)
_MAC = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "Brave Browser.app/Contents/MacOS/Brave Browser",
)
_WINDOWS = (
    r"Google\Chrome\Application\chrome.exe",
    r"Chromium\Application\chrome.exe",
    r"Microsoft\Edge\Application\msedge.exe",
    r"BraveSoftware\Brave-Browser\Application\brave.exe",
)


def find_chrome(configured: str) -> str:
    """The path a person set, else the first browser found in the usual places."""
    wanted = configured or os.environ.get("PILOTHOUSE_CHROME", "")
    if wanted:
        return _configured(wanted)
    for place in _usual_places():
        if place and os.access(place, os.X_OK):
            return str(place)
    raise Failure(
        "system",
        "no Chrome, Chromium, Edge or Brave was found",
        suggestions=["install one (Debian: apt install chromium)", "or set PILOTHOUSE_CHROME to its path"],
    )


def _configured(path: str) -> str:
    found = shutil.which(path)
    if not found:
        raise Failure("system", f"no browser at {path}", suggestions=["mend PILOTHOUSE_CHROME or browser.path"])
    return found


def _usual_places() -> list[str | Path | None]:
    if sys.platform == "darwin":
        folders = (Path("/Applications"), Path.home() / "Applications")
        return [folder / name for folder in folders for name in _MAC]
    if sys.platform == "win32":
        roots = [os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
        return [Path(root) / name for root in roots if root for name in _WINDOWS]
    return [shutil.which(name) for name in _COMMANDS]
