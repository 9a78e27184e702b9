"""A small synchronous CDP client for the walker's tests: one Chromium, one page, its isolated world."""

import functools
import http.server
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.processes import ENGINE

WORLD = Path(__file__).parents[2] / "src/pilothouse/browser/world"
PAGES = Path(__file__).parent / "pages"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "--window-size=1280,800",
]


def source() -> str:
    body = "\n".join(file.read_text("utf-8") for file in sorted(WORLD.glob("*.js")))
    return f'(() => {{ "use strict"; const ph = {{}};\n{body}\nglobalThis.ph = ph; }})()'


class Chrome:
    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="walker-")
        binary = ENGINE or "/usr/bin/chromium"
        (theirs_in, self.out), (self.back, theirs_out) = os.pipe(), os.pipe()
        shell = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", shell, binary, *FLAGS, f"--user-data-dir={self.home}", "about:blank"],
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer = bytearray()
        self.ids = itertools.count(1)
        self.session = ""
        self.events: list[dict[str, Any]] = []
        self.target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.send("Page.enable")
        self.send("DOM.enable")
        self.send("Runtime.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=source(), worldName="pilothouse")
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)

    def close(self) -> None:
        os.close(self.out)
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.home, ignore_errors=True)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        message = {"id": next(self.ids), "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        while True:
            reply = self.receive()
            if reply.get("id") == message["id"]:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self.events.append(reply)

    def receive(self) -> dict[str, Any]:
        while (end := self.buffer.find(b"\0")) < 0:
            if not select.select([self.back], [], [], 20)[0]:
                raise RuntimeError("no answer in 20 s")
            chunk = os.read(self.back, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self.buffer += chunk
        message, self.buffer = self.buffer[:end], self.buffer[end + 1 :]
        if b"Inspector.targetCrashed" in message:
            raise RuntimeError("the page crashed")
        return json.loads(message)

    def open(self, url: str) -> None:
        self.events.clear()
        self.send("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
        worlds = [
            event["params"]["context"]
            for event in self.events
            if event.get("method") == "Runtime.executionContextCreated"
            and event["params"]["context"]["name"] == "pilothouse"
        ]
        self.context = [w["id"] for w in worlds if w["auxData"]["frameId"] == self.target][-1]

    def show(self, html: str) -> None:
        """A page from a string, in a document that is already there."""
        self.open("about:blank")
        self.send("Page.setDocumentContent", frameId=self.target, html=html)

    def page(self, expression: str) -> Any:
        """An expression in the page's own world."""
        reply = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"]["exception"].get("description"))
        return reply["result"].get("value")

    def world(self, expression: str, *, by_value: bool = True) -> Any:
        """An expression in the isolated world."""
        reply = self.send(
            "Runtime.evaluate", expression=expression, contextId=self.context, returnByValue=by_value, awaitPromise=True
        )
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"]["exception"].get("description"))
        return reply["result"].get("value") if by_value else reply["result"].get("objectId")

    def call(self, function: str, *args: Any) -> Any:
        return self.world(f"ph.{function}({', '.join(json.dumps(arg) for arg in args)})")

    def snapshot(self, **options: Any) -> str:
        """What the daemon does for one frame: listeners, snapshot, closed roots, snapshot again if there were any."""
        self.mark_listeners()
        answer = self.call("snapshot", options)
        if self.adopt_closed(answer["hosts"]):
            self.mark_listeners()
            answer = self.call("snapshot", options)
        self.last = answer
        return "\n".join("  " * depth + text for depth, text in answer["lines"]).replace("\u0001", "§")

    def adopt_closed(self, hosts: list[int]) -> int:
        """Closed roots of candidate hosts: describe, resolve into the world, hand over."""
        adopted = 0
        for host in hosts:
            object_id = self.world(f"ph.element({host})", by_value=False)
            node = self.send("DOM.describeNode", objectId=object_id, depth=0)["node"]
            for root in node.get("shadowRoots", []):
                if root["shadowRootType"] != "closed":
                    continue
                inner = self.send(
                    "DOM.resolveNode", backendNodeId=root["backendNodeId"], executionContextId=self.context
                )
                self.send(
                    "Runtime.callFunctionOn",
                    objectId=object_id,
                    functionDeclaration="function(r) { ph.adopt(this, r) }",
                    arguments=[{"objectId": inner["object"]["objectId"]}],
                )
                adopted += 1
        return adopted

    def mark_listeners(self) -> int:
        nodes = self.listening_nodes()
        objects = [
            self.send("DOM.resolveNode", backendNodeId=node, executionContextId=self.context)["object"]["objectId"]
            for node in nodes
        ]
        if objects:
            self.send(
                "Runtime.callFunctionOn",
                executionContextId=self.context,
                functionDeclaration="function(...e) { return ph.markClickable(...e) }",
                arguments=[{"objectId": object_id} for object_id in objects],
            )
        return len(nodes)

    def listening_nodes(self) -> set[int]:
        """Backend ids of the nodes with click-like listeners of their own, in the whole document.

        The document handle must come from the page's own world: with one from an isolated world the handlers are
        wrapped across worlds, and Chromium 156's renderer crashes at a later collection (measured, 10 of 10).
        """
        document = self.send("Runtime.evaluate", expression="document")["result"]["objectId"]
        reply = self.send("DOMDebugger.getEventListeners", objectId=document, depth=-1, pierce=True)
        return {
            one["backendNodeId"] for one in reply["listeners"] if one["type"] in CLICKS and one.get("backendNodeId")
        }


CLICKS = {"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart", "touchend"}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def serve(folder: Path) -> tuple[http.server.ThreadingHTTPServer, str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"
