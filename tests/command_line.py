"""The `pilothouse` command as a person or a script runs it: a process, its output, its exit code."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.processes import ENGINE, PILOTHOUSE
from tests.warm import warm

TIMEOUT_S = 60.0


class CommandLine:
    """Commands in one home; `terminal` is whose sessions they use."""

    def __init__(self, home: Path, terminal: str = "test", **environment: str) -> None:
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "PILOTHOUSE_CHROME": ENGINE,
            "PILOTHOUSE_HOME": str(home),
            "PILOTHOUSE_SERVER_PORT": "0",
            "PILOTHOUSE_TERMINAL": terminal,
            **environment,
        }

    def run(
        self, *arguments: str, stdin: str | None = None, cwd: Path | None = None, timeout_s: float = TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        return warm(PILOTHOUSE).run(list(arguments), self.environment, cwd or self.home, stdin, timeout_s)

    def text(self, *arguments: str, stdin: str | None = None) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def data(self, *arguments: str) -> dict[str, Any]:
        return json.loads(self.text(*arguments, "--json"))["data"]

    def in_terminal(self, script: str, **environment: str) -> str:
        """What a new terminal shows after a shell has run the script in it."""
        pid, screen = pty.fork()
        if pid == 0:
            os.chdir(self.home)
            os.execve("/bin/bash", ["bash", "--norc", "-c", script], {**self.environment, **environment})
        shown, deadline = b"", time.monotonic() + TIMEOUT_S
        try:
            while time.monotonic() < deadline and select.select([screen], [], [], deadline - time.monotonic())[0]:
                try:
                    chunk = os.read(screen, 65536)
                except OSError:  # the shell has ended
                    break
                shown += chunk
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(screen)
        return shown.decode().replace("\r\n", "\n")
