"""`pilothouse demo`: a tour in nine steps, on a page that the command serves itself. Nothing leaves this machine.

Above: admin. Below: line. Each step is an ordinary tool call, shown as one would type it.
"""

import os
import sys
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import click

from pilothouse.commands import manifest
from pilothouse.commands.line import Line
from pilothouse.commands.show import BOLD, DIM, paint
from pilothouse.commands.usage import as_command
from pilothouse.instance import StartError

STEP_TIMEOUT_S = 60.0
SHOWN_LINES = 14
PAUSE_S = 1.5

Entry = dict[str, Any]


class Step(NamedTuple):
    why: str
    tool: str
    args: Entry


def steps(url: str) -> list[Step]:
    fields = [
        {"target": "#name", "value": "Ada"},
        {"target": "#bread", "value": "Sourdough"},
        {"target": "#loaves", "value": "3"},
        {"target": "#sliced", "value": "true"},
    ]
    button = 'role=button[name="Reserve"]'
    return [
        Step("Go to a page; the answer comes when it has loaded.", "navigate", {"url": url}),
        Step("See it as an agent does: one line an element, refs to act on.", "get_page_state", {}),
        Step("Fill the whole form in one call, whatever kinds of fields it has.", "fill_form", {"fields": fields}),
        Step("Click. The page asks a question, and the answer says so.", "click", {"target": button}),
        Step("Answer the page's question.", "handle_dialog", {"accept": True}),
        Step("Wait for what the page says in its own time.", "wait_for", {"text": "Thank you"}),
        Step("Something is wrong with this page: read its console.", "get_console_logs", {"level": ["error"]}),
        Step("Find the request behind it.", "get_network_log", {"status_min": 400}),
        Step("Take a picture.", "screenshot", {"format": "png"}),
    ]


@click.command()
@click.option("--headed/--headless", default=None, help="With a window, or without; by default as the system has one.")
@click.option("--pause", type=click.FloatRange(0, 60), default=None, help="Seconds between steps (1.5 with a window).")
@click.option("--output", type=click.Path(dir_okay=False), help="Where the picture goes.")
def demo(headed: bool | None, pause: float | None, output: str | None) -> int:
    """Watch a short tour on a built-in page."""
    headed = _has_display() if headed is None else headed
    pause_s = pause if pause is not None else PAUSE_S * headed
    line = Line(terminal=f"named-demo-{os.getpid()}", headed=headed)
    try:
        with _served() as url:
            return _tour(line, steps(url), pause_s=pause_s, output=output)
    except StartError as error:
        click.echo(f"pilothouse: {error}", err=True)
        return 1
    finally:
        line.close()


def _tour(line: Line, tour: list[Step], *, pause_s: float, output: str | None) -> int:
    tools = {one["name"]: one for one in manifest.read(line.home)["tools"]}
    try:
        for number, step in enumerate(tour, 1):
            click.echo(paint(f"\n{number}. {step.why}", BOLD, sys.stdout))
            click.echo(paint(f"   {as_command(tools[step.tool], step.args)}", DIM, sys.stdout))
            answer = line.call(step.tool, step.args, timeout_s=STEP_TIMEOUT_S)
            click.echo(_shown(answer["text"]))
            if answer["failed"]:
                return 1
            if answer["images"]:
                click.echo(f"   saved {_save(answer['images'][0], output)}")
            time.sleep(pause_s)
    except TimeoutError:
        click.echo(f"no answer within {STEP_TIMEOUT_S:.0f} s; `pilothouse doctor` looks for the cause", err=True)
        return 1
    finally:
        _clean_up(line)
    click.echo("\nThat was all. `pilothouse tools` lists more; `pilothouse install CLIENT` connects an agent.")
    return 0


def _clean_up(line: Line) -> None:
    """Whatever happened: the session goes."""
    try:
        for one in line.call("list_sessions", {}, timeout_s=5)["data"].get("sessions", []):
            line.call("close_session", {"session": one["session"]}, timeout_s=10)
    except (TimeoutError, StartError):
        pass  # it goes when it has been idle long enough


def _shown(text: str) -> str:
    lines = [f"   {one}" for one in text.split("\n") if not one.startswith("session: ")]
    more = [f"   (and {len(lines) - SHOWN_LINES} more lines)"] if len(lines) > SHOWN_LINES else []
    return "\n".join(lines[:SHOWN_LINES] + more)


def _save(image: Entry, output: str | None) -> str:
    data = b64decode(image["data"])
    if output:
        Path(output).write_bytes(data)
        return output
    handle, path = tempfile.mkstemp(prefix="pilothouse-demo-", suffix=".png")
    with open(handle, "wb") as file:
        file.write(data)
    return path


def _has_display() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def _served() -> Generator[str]:
    """The page, on a free port of loopback, for as long as the tour lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bakery)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class _Bakery(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/":
            self._reply(200, "text/html; charset=utf-8", Path(__file__).with_name("demo.html").read_bytes())
        elif self.path == "/api/stock":
            self._reply(503, "application/json", b'{"error": "the oven is cold"}')
        else:
            self._reply(404, "text/plain", b"")

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name of the class above)
        """Requests are no news."""
