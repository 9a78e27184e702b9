"""What a page of the person's may say on its live line, and nothing else.

Above: live. Below: errors, the gestures of a hand.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pilothouse.errors import Failure
from pilothouse.wheel import Gesture

MAX_MESSAGE = 300_000

Ident = Annotated[str, Meta(max_length=100)]
Number = Annotated[int, Meta(ge=0, lt=10**9)]
Pixels = Annotated[float, Meta(ge=-10_000, le=100_000)]


class Command(msgspec.Struct, frozen=True, tag_field="do", forbid_unknown_fields=True):
    """`id` is the page's own number of a question, and comes back with the answer."""

    id: Number = 0


class Answer(Command, frozen=True, tag="answer", kw_only=True):
    approval: Ident
    answer: Literal["allow", "deny"]
    scope: Literal["", "once", "session", "domain"] = ""


class Watch(Command, frozen=True, tag="watch", kw_only=True):
    session: Ident
    tab: Ident = ""
    slow: bool = False  # a small picture need not move fast


class Unwatch(Command, frozen=True, tag="unwatch", kw_only=True):
    session: Ident
    tab: Ident = ""


class Follow(Command, frozen=True, tag="follow", kw_only=True):
    session: Ident
    tab: Ident = ""


class Unfollow(Command, frozen=True, tag="unfollow", kw_only=True):
    session: Ident
    tab: Ident = ""


class Look(Command, frozen=True, tag="request", kw_only=True):
    """One request of a tab, with headers and bodies."""

    session: Ident
    tab: Ident
    request: Ident


class Take(Command, frozen=True, tag="take", kw_only=True):
    session: Ident


class GiveBack(Command, frozen=True, tag="give_back", kw_only=True):
    session: Ident


class Move(Command, frozen=True, tag="move", kw_only=True):
    session: Ident
    tab: Ident
    gestures: Annotated[list[Gesture], Meta(max_length=200)]


class AnswerDialog(Command, frozen=True, tag="dialog", kw_only=True):
    session: Ident
    tab: Ident
    number: Number
    accept: bool
    text: Annotated[str, Meta(max_length=10_000)] = ""


class Pick(Command, frozen=True, tag="pick", kw_only=True):
    session: Ident
    tab: Ident


class Point(Command, frozen=True, tag="point", kw_only=True):
    """Where the person points, in pixels of the page's window."""

    session: Ident
    tab: Ident
    x: Pixels
    y: Pixels
    presses: bool = False


class EndPick(Command, frozen=True, tag="end_pick", kw_only=True):
    session: Ident
    tab: Ident


class End(Command, frozen=True, tag="end", kw_only=True):
    session: Ident


Told = (
    Answer
    | Watch
    | Unwatch
    | Follow
    | Unfollow
    | Look
    | Take
    | GiveBack
    | Move
    | AnswerDialog
    | Pick
    | Point
    | EndPick
    | End
)
_decode = msgspec.json.Decoder(Told).decode


def parsed(raw: str) -> Told:
    hint = '{"do": "answer" | "watch" | "follow" | "take" | "give_back" | "move" | "dialog" | "point" | "end", …}'
    if len(raw) > MAX_MESSAGE:
        raise Failure("bad_request", "this is too long", suggestions=[hint])
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as reason:
        raise Failure("bad_request", f"this is not understood: {str(reason)[:200]}", suggestions=[hint]) from None
