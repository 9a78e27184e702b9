"""A greeted connection to the daemon of a home, started or replaced by one of our version where need be.

Above: the bridge, the command line. Below: instance. Only the standard library, and of it as little as possible:
both have milliseconds.
"""

from __future__ import annotations

from pilothouse import __version__, instance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

# Needs no escape in JSON, nor in a name.
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,._-")


class OtherVersion(Exception):
    """The daemon is of another version; the text says which."""


def attach(
    home: str, hello: dict[str, Any], *, any_version: bool = False, timeout_s: float = instance.HELLO_TIMEOUT_S
) -> socket:
    """Greet the daemon that is there. OSError: nobody is. StartError: it does not take us with these flags."""
    link = instance.connect(home, timeout_s)
    try:
        reply = instance.greet(link, _dumps(hello))
        if b'"error"' in reply or b'"%s"' % __version__.encode() not in reply:  # else there is no need of a parser
            answer = _loads(reply)
            if "error" in answer or "pilothouse" not in answer:
                raise instance.StartError(f"the daemon refuses: {answer.get('error', reply)}")
            if not any_version:
                raise OtherVersion(str(answer["pilothouse"]))
    except BaseException:
        link.close()
        raise
    link.setblocking(False)
    return link


class Way:
    """The way to a daemon, whatever it takes. One of another version is asked to leave at most once."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._replaced = False
        self.started = False  # there was no daemon, and now there is
        self.note = ""  # why a daemon of another version stays

    def reach(self, hello: dict[str, Any]) -> socket:
        for _ in range(3):
            self.started |= instance.ensure(self._home)
            try:
                return attach(self._home, hello, any_version=self._replaced)
            except OtherVersion as other:
                self._replaced = True
                self._replace(str(other))
            except TimeoutError:
                why = f"the daemon does not answer within {instance.HELLO_TIMEOUT_S:.0f} s"
                raise instance.StartError(f"{why}; `pilothouse stop` ends it") from None
            except OSError:
                pass  # it ended just now
        raise instance.StartError("the daemon ends as soon as it has started; see daemon.log in its home")

    def _replace(self, version: str) -> None:
        hello = b'{"pilothouse": "%s", "door": "stop"}' % __version__.encode()
        try:
            answer = instance.ask(self._home, hello)
        except OSError:
            return  # it ended just now
        if answer.get("stopping"):
            instance.wait_gone(self._home, 5)
        else:
            why = answer.get("why") or answer.get("error") or "it is in use"
            self.note = f"the daemon is version {version}, this is {__version__}; it stays for now: {why}"


def _dumps(hello: dict[str, Any]) -> bytes:
    """JSON; by hand where that is safe, for `json` costs 8 ms and a third of the bridge's time."""
    if PLAIN.issuperset("".join(value for value in hello.values() if isinstance(value, str))):
        words = {True: "true", False: "false"}
        members = (f'"{name}": ' + (f'"{one}"' if isinstance(one, str) else words[one]) for name, one in hello.items())
        return f"{{{', '.join(members)}}}".encode()
    import json

    return json.dumps(hello).encode()


def _loads(line: bytes) -> dict[str, Any]:
    import json

    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownVariableType]
