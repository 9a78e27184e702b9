"""The stdio bridge as a client sees it: a process with two pipes. Most tests give it a daemon that is only a socket."""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import (
    INITIALIZED,
    PILOTHOUSE,
    FakeDaemon,
    Process,
    call,
    initialize,
    is_alive,
    wait_until,
)

from pilothouse import __version__, instance
from pilothouse.bridge import Lines, UsageError, parse
from pilothouse.home import socket_path
from pilothouse.overlong import KEPT_BYTES, MAX_BYTES
from tests.promises import promise

pytestmark = promise("E03")

Start = Callable[..., Process]


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    """Start a bridge."""
    running: list[Process] = []

    def bridge(*flags: str, **environment: str) -> Process:
        running.append(Process("mcp", *flags, home=home, **environment))
        return running[-1]

    yield bridge
    for one in running:
        one.end()


@pytest.fixture
def daemon(home: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(home)
    yield fake
    fake.close()


def _gone(answer: dict[str, Any]) -> bool:
    return answer["result"]["isError"] and answer["result"]["structuredContent"]["error"]["code"] == "browser_gone"


def _never(message: dict[str, Any]) -> None:
    return None


# --- with a daemon that runs


@pytest.mark.alone
def test_answers_within_50_ms_of_its_start(daemon: FakeDaemon, start: Start) -> None:
    """The best counts: other work on the machine says nothing about us."""
    times: list[float] = []
    while len(times) < 20 and min(times, default=999) > 50:
        bridge = start()
        bridge.send(initialize())
        bridge.read()
        times.append((time.perf_counter() - bridge.started) * 1000)
        bridge.end()
    assert min(times) <= 50


def test_the_first_line_says_who_it_is_and_what_its_flags_want(daemon: FakeDaemon, start: Start) -> None:
    bridge = start("--tools", "core,network", "--profile=my work", "--headed")
    bridge.send(initialize())
    bridge.read()
    assert daemon.hellos == [
        {
            "pilothouse": __version__,
            "door": "mcp",
            "tools": "core,network",
            "browser": "profile",
            "profile": "my work",
            "headed": True,
            "endpoint": "",
        }
    ]


def test_discover_then_initialize_on_one_pipe(daemon: FakeDaemon, start: Start) -> None:
    bridge = start()
    bridge.send(call("d", "server/discover"), initialize(1))
    assert [bridge.read()["result"]["echo"] for _ in range(2)] == ["server/discover", "initialize"]


def test_a_client_that_reads_slowly_is_still_heard(daemon: FakeDaemon, home: Path) -> None:
    """Its pipe is full most of the time, and both ends have something to say in every turn. What waits for it stays below
    HIGH_WATER_BYTES: above, the daemon is not heard, and this one would wait."""
    daemon.answer = lambda message: {"text": "x" * 30_000}
    environment = {**os.environ, "PILOTHOUSE_HOME": str(home)}
    with subprocess.Popen(
        [PILOTHOUSE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
    ) as bridge:
        assert bridge.stdin
        assert bridge.stdout
        for number in range(30):
            bridge.stdin.write(json.dumps(call(number, "ping")).encode() + b"\n")
            assert daemon.next()["id"] == number
            bridge.stdout.read(8_192)
        bridge.kill()


def test_long_lines_pass_both_ways(daemon: FakeDaemon, start: Start) -> None:
    daemon.answer = lambda message: message["params"]
    bridge = start()
    text = "é" * (MAX_BYTES // 6 - 100)  # six bytes each as \u00e9
    bridge.send(call(1, "tools/call", text=text))
    assert bridge.read()["result"]["text"] == text


def test_a_client_that_writes_everything_before_it_reads(daemon: FakeDaemon, start: Start) -> None:
    """Answers of 20 MB wait for it without either side getting stuck."""
    daemon.answer = lambda message: {"text": "x" * 200_000}
    bridge = start()
    bridge.send(*[call(number, "tools/call") for number in range(100)])
    assert [bridge.read()["id"] for _ in range(100)] == list(range(100))


BIG = b"x" * (MAX_BYTES + 1)
TOO_LONG: dict[str, tuple[bytes, Any]] = {
    "id first": (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"data": "%s"}}', 7),
    "id last": (b'{"method":"tools/call","params":{"data":"%s"},"jsonrpc":"2.0","id":7}', 7),
    "id a string": (b'{"jsonrpc":"2.0","method":"tools/call","id":"a \\"b\\"","params":{"data":"%s"}}', 'a "b"'),
    "an id of the arguments": (b'{"jsonrpc":"2.0","method":"ping","params":{"data":"%s","id":5}}', None),
    "no message at all": (b"%s", None),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_line_too_long_is_refused_by_its_id_and_the_next_one_is_served(
    daemon: FakeDaemon, start: Start, case: str
) -> None:
    """Whoever matches answers by their id would wait for ever for one without."""
    raw, ident = TOO_LONG[case]
    bridge = start()
    bridge.send(raw % BIG + b"\n", call(2, "ping"))
    refusal, pong = sorted([bridge.read(), bridge.read()], key=lambda answer: "result" in answer)
    assert (refusal["id"], refusal["error"]["code"]) == (ident, -32600)
    assert "`paths` of upload_file" in refusal["error"]["message"]
    assert pong == {"jsonrpc": "2.0", "id": 2, "result": {"echo": "ping"}}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}',
        b'{"params":{"data":"%s"},"method":"notifications/message","jsonrpc":"2.0"}',
    ],
)
def test_a_notification_too_long_is_not_answered(daemon: FakeDaemon, start: Start, raw: bytes) -> None:
    bridge = start()
    bridge.send(raw % BIG + b"\n", call(2, "ping"))
    assert bridge.read()["id"] == 2
    bridge.stdin.close()
    assert bridge.at_end()


def test_a_line_too_long_that_stdin_ends_in_is_refused(daemon: FakeDaemon, start: Start) -> None:
    bridge = start()
    bridge.send(TOO_LONG["id last"][0] % BIG)
    bridge.stdin.close()
    assert bridge.read()["id"] == 7


@pytest.mark.parametrize(
    "line",
    [b"not json\n", b"[" * 100_000 + b"\n", b"\xff\xfe\n", b'{"id": ' + b"9" * 9999 + b"}\n", b"\n", b"[]\n", b"1\n"],
)
def test_malformed_lines_go_to_the_daemon_and_do_no_harm(daemon: FakeDaemon, start: Start, line: bytes) -> None:
    bridge = start()
    bridge.send(line, call(7, "ping"))
    assert daemon.received.get(timeout=5) == line
    assert [bridge.read()["id"] for _ in range(2)] == [None, 7]


@pytest.mark.alone
def test_the_end_of_stdin_is_its_end(daemon: FakeDaemon, start: Start) -> None:
    bridge = start()
    bridge.send(initialize())
    bridge.read()
    before = time.perf_counter()
    bridge.stdin.close()
    assert bridge.wait() == 0
    assert time.perf_counter() - before < 5


def test_what_was_asked_before_the_end_of_stdin_is_answered(daemon: FakeDaemon, start: Start) -> None:
    bridge = start()
    bridge.send(initialize(), b"not json\n", json.dumps(call(1, "ping")).encode())  # no newline, as by hand
    bridge.stdin.close()
    assert [bridge.read()["id"] for _ in range(3)] == [0, None, 1]
    assert bridge.wait() == 0


def test_a_call_that_never_ends_does_not_keep_it_after_the_end_of_stdin(daemon: FakeDaemon, start: Start) -> None:
    daemon.answer = _never
    bridge = start()
    bridge.send(call(1, "tools/call"))
    daemon.next()
    bridge.stdin.close()
    assert bridge.wait(2) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it(daemon: FakeDaemon, start: Start, number: signal.Signals) -> None:
    bridge = start()
    bridge.send(initialize())
    bridge.read()
    bridge.process.send_signal(number)
    assert bridge.wait(2) == 0
    assert bridge.error_text() == ""


def test_a_refused_greeting_is_told_to_the_client(daemon: FakeDaemon, start: Start) -> None:
    daemon.greeting |= {"error": "no such door"}
    bridge = start()
    bridge.send(initialize())
    assert "no such door" in bridge.read()["error"]["message"]


# --- when the daemon goes away


def test_a_lost_daemon_fails_what_was_pending_and_the_next_call_works(
    daemon: FakeDaemon, start: Start, home: Path
) -> None:
    bridge = start()
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    daemon.answer = _never
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
    bridge.send(call("a", "tools/call"), call(2, "tools/list"), call(3, "tools/call"), cancel)
    wait_until(lambda: daemon.received.qsize() == 6)
    daemon.close()
    assert _gone(first := bridge.read())
    assert first["id"] == "a"
    assert bridge.read()["error"]["code"] == -32603

    second = FakeDaemon(home)
    bridge.send(call(4, "tools/call"))
    assert bridge.read() == {"jsonrpc": "2.0", "id": 4, "result": {"echo": "tools/call"}}
    methods = [second.next()["method"] for _ in range(3)]
    assert methods == ["initialize", "notifications/initialized", "tools/call"]
    second.close()


def test_half_a_message_of_a_lost_daemon_is_not_passed_on(daemon: FakeDaemon, start: Start) -> None:
    bridge = start()
    bridge.send(initialize())
    bridge.read()
    daemon.answer = _never
    bridge.send(call(1, "tools/call"))
    wait_until(lambda: daemon.received.qsize() == 2)
    daemon.write_raw(b'{"jsonrpc": "2.0", "id": 1, "res')
    daemon.close()
    assert _gone(bridge.read())


def test_an_initialize_that_met_a_dying_daemon_is_repeated(daemon: FakeDaemon, start: Start) -> None:
    daemon.answer = _never
    bridge = start()
    bridge.send(initialize())
    daemon.next()
    daemon.close()
    assert bridge.read()["result"]["serverInfo"]["name"] == "pilothouse"


def test_nothing_overtakes_the_repeated_initialize(daemon: FakeDaemon, start: Start, home: Path) -> None:
    bridge = start()
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    daemon.close()
    answered = threading.Event()
    second = FakeDaemon(home)

    def slowly(message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            assert answered.wait(5)
        return {}

    second.answer = slowly
    bridge.send(call(1, "tools/call"))
    assert second.next()["method"] == "initialize"
    bridge.send(call(2, "tools/call"))
    assert second.received.empty()
    answered.set()
    assert [bridge.read()["id"] for _ in range(2)] == [1, 2]
    second.close()


def test_a_daemon_that_hangs_does_not_keep_the_bridge(home: Path, start: Start) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(socket_path(home))
        deaf.listen()
        bridge = start()
        bridge.stdin.close()
        assert bridge.wait(2) == 0


# --- another version


def test_a_busy_daemon_of_another_version_stays_and_is_reported(home: Path, start: Start) -> None:
    old = FakeDaemon(home, version="0.0.1")
    bridge = start()
    bridge.send(initialize())
    assert bridge.read()["result"] == {"echo": "initialize"}
    assert [hello["door"] for hello in old.hellos] == ["mcp", "mcp", "stop", "mcp"]
    bridge.stdin.close()
    bridge.wait()
    assert "0.0.1" in bridge.error_text()
    old.close()


def test_an_idle_daemon_of_another_version_is_replaced(home: Path, start: Start) -> None:
    old = FakeDaemon(home, version="0.0.1")
    old.stop_answer = {"stopping": True}
    bridge = start()
    bridge.send(initialize())
    assert bridge.read()["result"]["serverInfo"]["version"] == __version__


# --- starting the real daemon


def test_ten_at_once_start_one_daemon(home: Path, start: Start) -> None:
    bridges = [start() for _ in range(10)]
    for bridge in bridges:
        bridge.send(initialize())
    for bridge in bridges:
        assert bridge.read()["result"]["serverInfo"]["name"] == "pilothouse"
    log = (home / "daemon.log").read_text()
    assert log.count("ready at") == 1
    assert not [line for line in log.splitlines() if "already runs" in line]


def _unread(bridge: Process) -> int:
    """Bytes in the pipe to its stdin."""
    return struct.unpack("i", fcntl.ioctl(bridge.stdin.fileno(), termios.FIONREAD, bytes(4)))[0]


def test_kill_9_of_the_daemon_in_the_middle_of_a_call(home: Path, start: Start) -> None:
    bridge = start()
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    pid = _daemon_pid(home)
    os.kill(pid, signal.SIGSTOP)  # so that the call is surely pending
    bridge.send(call(1, "tools/call", name="list_tabs", arguments={}))
    wait_until(lambda: _unread(bridge) == 0)  # what the bridge has taken, it passes on before it looks at anything else
    os.kill(pid, signal.SIGKILL)
    assert _gone(bridge.read())
    bridge.send(call(2, "tools/list"))
    assert "tools" in bridge.read()["result"]
    assert _daemon_pid(home) != pid


def test_the_daemon_is_no_child_of_the_bridge_and_outlives_it(home: Path, start: Start) -> None:
    bridge = start()
    bridge.send(initialize())
    bridge.read()
    pid = _daemon_pid(home)
    bridge.stdin.close()
    assert bridge.wait() == 0
    assert is_alive(pid)
    assert os.getsid(pid) == pid or os.getsid(pid) != os.getsid(0)


def test_a_daemon_that_was_stopped_stays_so_until_it_is_needed(home: Path, start: Start) -> None:
    bridge = start()
    bridge.send(initialize(), INITIALIZED)
    bridge.read()
    assert Process("stop", home=home).wait() == 0
    assert not instance.is_held(str(home))
    bridge.send(call(1, "tools/list"))
    assert "tools" in bridge.read()["result"]
    bridge.send(call(2, "tools/call", name="click", arguments={"target": "e2"}))
    said = bridge.read()["result"]["content"][0]["text"]
    assert "Pilothouse was started anew: the session, its tabs, cookies and refs of before are gone" in said


def test_why_the_daemon_did_not_start_is_told_to_the_client(home: Path, start: Start) -> None:
    (home / "config.toml").write_text("[server]\nprot = 1\n")
    bridge = start()
    bridge.send(initialize())
    answer = bridge.read()
    assert answer["id"] == 0
    assert "did you mean server.port" in answer["error"]["message"]
    (home / "config.toml").write_text("")
    bridge.send(initialize(1))
    assert "result" in bridge.read()
    bridge.stdin.close()
    assert "did you mean server.port" in bridge.error_text()


def test_tools_that_do_not_exist_are_told_to_the_client_and_to_who_reads_its_log(home: Path, start: Start) -> None:
    bridge = start("--tools", "core,nope")
    bridge.send(initialize())
    assert "unknown tool set: nope" in bridge.read()["error"]["message"]
    bridge.stdin.close()
    assert "unknown tool set: nope" in bridge.error_text()


def test_a_client_that_leaves_while_the_daemon_starts(home: Path, start: Start) -> None:
    (home / "config.toml").write_text("[server]\nprot = 1\n")  # so that what is started ends by itself
    bridge = start()
    bridge.stdin.close()
    assert bridge.wait(2) == 0


def _daemon_pid(home: Path) -> int:
    info = instance.published(str(home))
    assert info is not None
    return info["pid"]


# --- parts


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--tools"], "--tools needs a value"),
        (["--profile", "--headed"], "--profile needs a value"),
        (["--isolated", "--extension"], "--isolated and --extension exclude each other"),
        (["--headed=yes"], "unknown argument '--headed=yes'"),
        (["core"], "unknown argument 'core'"),
    ],
)
def test_wrong_flags(flags: list[str], complaint: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(flags)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    ("flags", "browser", "endpoint"),
    [
        ([], "isolated", ""),
        (["--extension"], "extension", ""),
        (["--extension", "--tools", "all"], "extension", ""),
        (["--cdp", "lab"], "cdp", "lab"),
    ],
)
def test_flags(flags: list[str], browser: str, endpoint: str) -> None:
    hello = parse(flags)
    assert hello is not None
    assert (hello["browser"], hello["endpoint"]) == (browser, endpoint)


@pytest.mark.parametrize("flags", [["--extension", "work"], ["--extension=work", "--tools", "all"]])
def test_one_of_several_browsers_of_the_person(flags: list[str]) -> None:
    hello = parse(flags)
    assert hello is not None
    assert (hello["browser"], hello["profile"]) == ("extension", "work")


def test_help_and_wrong_flags_on_the_command_line(home: Path) -> None:
    helped = Process("mcp", "--help", home=home)
    assert helped.wait() == 0
    wrong = Process("mcp", "--nonsense", home=home)
    assert wrong.wait() == 2
    assert "--nonsense" in wrong.error_text()


def test_lines_are_cut_wherever_the_chunks_end() -> None:
    stream = b"one\n\ntwo\nthree"
    for size in range(1, len(stream) + 1):
        lines = Lines(5)
        found = [line for at in range(0, len(stream), size) for line in lines.feed(stream[at : at + size])]
        assert found == [b"one\n", b"\n", b"two\n"]
        assert lines.overlong == []


def test_a_line_of_exactly_the_limit_passes_and_one_more_byte_does_not() -> None:
    for size in range(1, 20):
        lines = Lines(5)
        stream = b"12345\n123456\n1234567890123\nok\n"
        found = [line for at in range(0, len(stream), size) for line in lines.feed(stream[at : at + size])]
        assert found == [b"12345\n", b"ok\n"]
        assert [(ends.head, ends.tail) for ends in lines.overlong] == [(b"123456", b"123456"), (b"1234567890123",) * 2]


def test_of_a_line_too_long_only_the_ends_are_kept() -> None:
    lines, chunk = Lines(5), b"x" * 10_000
    tracemalloc.start()
    try:
        assert not any(lines.feed(chunk) for _ in range(100))
        assert tracemalloc.get_traced_memory()[1] < 10 * len(chunk)
    finally:
        tracemalloc.stop()
    assert lines.feed(b"end\n") == []
    (ends,) = lines.overlong
    assert (len(ends.head), len(ends.tail), ends.tail[-3:]) == (KEPT_BYTES, KEPT_BYTES, b"end")


@promise("E03")
@pytest.mark.parametrize(
    "message", ['{"jsonrpc":"2.0","id":1,"result":{"x":"', '{"id": 7, "error" : {"x":"', '{"result":"']
)
def test_an_answer_too_long_is_not_answered(message: str) -> None:
    """Its id is one of ours; a request of the client's may have the same."""
    lines = Lines(5)
    assert lines.feed(message.encode() + b"x" * 100 + b'"},"id":1}\n') == []
    (ends,) = lines.overlong
    assert ends.refusal() is None
