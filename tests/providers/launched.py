"""A program that launches Chrome as the daemon does, says so, and waits to be killed: `launched.py HOME`."""

import asyncio
import sys
from pathlib import Path

from pilothouse.options import Browser
from pilothouse.providers.launch import Launcher


async def main() -> None:
    chrome = await Launcher(Browser(), Path(sys.argv[1])).start()
    print(chrome.pid, flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
