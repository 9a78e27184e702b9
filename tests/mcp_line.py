"""An MCP client in one small class: JSON-RPC lines to a child process, no SDK, no threads, no hidden waiting.

Tests use it so that a fault is ours and not a client library's; the bench uses it so that every server is measured
through the same few microseconds. `call` waits for its reply; `send` and `wait` let calls overlap.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

PROTOCOL = "2025-11-25"


class Reply(NamedTuple):
    """A tool's result: all its text as one string, its structured data, and the error's code if it failed."""

    text: str
    data: dict[str, Any]
    error: str | None
    raw: dict[str, Any]

    @property
    def ok(self) -> bool:
        return self.error is None


class RpcError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code: int = error.get("code", 0)


def to_reply(result: dict[str, Any]) -> Reply:
    text = "\n".join(part["text"] for part in result.get("content", []) if part["type"] == "text")
    data = result.get("structuredContent") or {}
    error = (data.get("error") or {}).get("code", "unknown") if result.get("isError") else None
    return Reply(text, data, error, result)


class LineClient:
    def __init__(self, argv: Iterable[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> None:
        self.process = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin, self.process.stdout
        self._chunks: list[bytes] = []
        self._replies: dict[int, dict[str, Any]] = {}
        self._last_id = 0
        self.notifications: list[dict[str, Any]] = []

    def initialize(self, timeout: float = 60) -> dict[str, Any]:
        client = {"name": "line", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        answer = self.request("initialize", params, timeout=timeout)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, /, *, timeout: float = 60, **args: Any) -> Reply:
        return self.wait(self.send(tool, **args), timeout=timeout)

    def send(self, tool: str, /, **args: Any) -> int:
        return self.post("tools/call", {"name": tool, "arguments": args})

    def wait(self, call_id: int, *, timeout: float = 60) -> Reply:
        return to_reply(self._result(call_id, timeout))

    def request(self, method: str, params: dict[str, Any] | None = None, *, timeout: float = 60) -> dict[str, Any]:
        return self._result(self.post(method, params), timeout)

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._last_id += 1
        self._write({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}})
        return self._last_id

    def close(self) -> None:
        """As a client that goes away: its end of the pipe closes, and the server is expected to end by itself."""
        self._in.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._out.close()

    def _write(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:  # a pipe may take less than all of it
            data = data[self._in.write(data) or 0 :]

    def _result(self, call_id: int, timeout: float) -> dict[str, Any]:
        end = time.monotonic() + timeout
        while call_id not in self._replies:
            message = json.loads(self._line(end))
            if "method" in message:
                self._hear(message)
            else:
                self._replies[message["id"]] = message
        message = self._replies.pop(call_id)
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    def _hear(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.notifications.append(message)
            return
        # A server's own request (roots, sampling): we offer none of it, and silence would hang the server.
        refusal = {"code": -32601, "message": "not offered"}
        reply = {"result": {}} if message["method"] == "ping" else {"error": refusal}
        self._write({"jsonrpc": "2.0", "id": message["id"], **reply})

    def _line(self, end: float) -> bytes:
        while True:
            if self._chunks and b"\n" in self._chunks[-1]:
                line, rest = b"".join(self._chunks).split(b"\n", 1)
                self._chunks = [rest] if rest else []
                if line.strip():
                    return line
                continue
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], left)[0]:
                raise TimeoutError("no reply in time")
            chunk = os.read(self._out.fileno(), 1 << 20)
            if not chunk:
                raise ConnectionError(f"the server ended with {self.process.poll()}")
            self._chunks.append(chunk)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
