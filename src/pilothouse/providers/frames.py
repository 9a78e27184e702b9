"""What travels between the daemon and a paired browser's extension: protocol 1, as structs.

Above: link, the bridge's door, relay. Below: msgspec. Everything here is the extension's word, hostile until parsed:
texts are bounded, and what does not fit is refused as a whole.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.cdp.decode import decode

PROTOCOL = 1
MAX_TABS = 2000

Id = Annotated[int, Meta(ge=-1, le=2**53)]
Word = Annotated[str, Meta(max_length=200)]
Line = Annotated[str, Meta(max_length=2000)]
Install = Annotated[str, Meta(pattern=r"^[0-9a-f-]{36}$")]
Share = Literal["tab", "group", "all"]


class TabInfo(msgspec.Struct, rename="camel", kw_only=True):
    """A tab the person shares. `ours`: the agent opened it. Long addresses (`data:`) are cut by the extension."""

    tab_id: Id
    target_id: Word = ""
    opener_tab_id: Id = -1
    window_id: Id = -1
    group_id: Id = -1
    url: Line = ""
    title: Line = ""
    active: bool = False
    status: Word = ""
    incognito: bool = False
    pinned: bool = False
    ours: bool = False


class Attached(msgspec.Struct, rename="camel"):
    """A tab that the extension's debugger holds."""

    tab_id: Id
    target_id: Word = ""


class Knock(msgspec.Struct, kw_only=True):
    """What an extension asks before a socket: do you know the key that I know? `nonce` it made up for this."""

    install: Install
    nonce: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{43}$")]
    by: Literal["secret", "code"]


class Version(msgspec.Struct):
    """All that is read of a knock in another protocol."""

    protocol: Annotated[int, Meta(ge=0, le=2**31)]
    install: Any = ""


class Hello(msgspec.Struct, kw_only=True):
    """The extension's first frame: who the browser is and what stands there now."""

    version: Word
    install: Install
    boot: Word
    name: Word = ""
    agent: Word = ""
    share: Share = "group"
    stopped: bool = False
    tabs: Annotated[list[TabInfo], Meta(max_length=MAX_TABS)] = []
    attached: Annotated[list[Attached], Meta(max_length=MAX_TABS)] = []


class Problem(msgspec.Struct):
    """Why a command failed. `cdp` is Chrome's own error, when Chrome gave one."""

    code: Word = "protocol"
    message: Annotated[str, Meta(max_length=100_000)] = ""
    cdp: dict[str, Any] | None = None


class Frame(msgspec.Struct, rename="camel"):
    """The envelope of whatever the extension says; payloads stay raw until somebody wants them."""

    type: Word
    id: int = 0
    tab_id: int = -1
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    data: msgspec.Raw = msgspec.Raw(b"{}")
    error: Problem | None = None


_ANSWER = re.compile(rb'\{"type":"response","id":(\d{1,15}),')
_EVENT = re.compile(rb'\{"type":"cdp",')
_envelope = msgspec.json.Decoder(Frame).decode
encode = msgspec.json.Encoder().encode


def read(data: bytes) -> Frame:
    """`ValueError` when it is no frame. Pages put lone surrogates into titles and errors; those are mended."""
    try:
        return _envelope(data)
    except RecursionError:
        return _too_deep(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _envelope(encode(parsed(data)))


def parsed(data: bytes | msgspec.Raw) -> dict[str, Any]:
    try:
        return decode(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def tab_info(raw: msgspec.Raw | bytes) -> TabInfo:
    return msgspec.convert(parsed(raw), TabInfo)


def hello(raw: msgspec.Raw | bytes) -> Hello:
    return msgspec.convert(parsed(raw), Hello)


def knock(data: bytes) -> tuple[Version, Knock | None]:
    """The protocol it speaks, and the rest when it is ours."""
    told = parsed(data)
    version = msgspec.convert(told, Version)
    return version, msgspec.convert(told, Knock) if version.protocol == PROTOCOL else None


def _too_deep(data: bytes) -> Frame:
    """A page can make such a value; it must not cost anybody the connection."""
    if answered := _ANSWER.match(data):
        message = "the answer is nested too deeply"
        return Frame("response", int(answered[1]), error=Problem("protocol", message, {"message": message}))
    if _EVENT.match(data):
        return Frame("lost")
    raise ValueError("it is nested too deeply")
