"""Server-sent events out of bytes, as the HTML standard reads them."""

import pytest

from pilothouse.browser.eventstream import MOST_CHARS, MOST_NAME, EventStream
from tests.promises import promise

pytestmark = promise("A17")


def read(*parts: bytes) -> list[tuple[str, str]]:
    stream = EventStream()
    return [event for events in (stream.begin(b""), *map(stream.feed, parts)) for event in events]


@pytest.mark.parametrize(
    ("sent", "events"),
    [
        (b"data: one\n\ndata:two\n\n", [("message", "one"), ("message", "two")]),
        (b"event: tick\ndata: a\ndata: b\n\n", [("tick", "a\nb")]),
        (b"\xef\xbb\xbfdata: marked\n\n", [("message", "marked")]),
        (b": a comment\nid: 7\nretry: 10\ndata\n\n", [("message", "")]),
        (b"event: nothing\n\ndata: after\n\n", [("message", "after")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("message", "a"), ("message", "b"), ("message", "c")]),
        ("data: grüße\n\n".encode(), [("message", "grüße")]),
        (b"data: not ended", []),
    ],
)
def test_events_however_they_are_cut(sent: bytes, events: list[tuple[str, str]]) -> None:
    assert read(sent) == events
    assert read(*(sent[n : n + 1] for n in range(len(sent)))) == events
    for cut in range(1, len(sent)):
        for other in range(cut, len(sent)):
            assert read(sent[:cut], sent[cut:other], sent[other:]) == events


def test_what_comes_before_the_beginning_is_told_waits_for_it() -> None:
    stream = EventStream()
    assert stream.feed(b"b\n\n") == []
    assert stream.begin(b"data: a") == [("message", "ab")]


def test_an_endless_event_does_not_fill_the_memory() -> None:
    ((_, one),) = read(*[b"data: " + b"x" * 1000 + b"\n"] * 500, b"\n")
    assert len(one) <= MOST_CHARS + 500  # and the line ends
    ((_, other),) = read(b"data: ", *[b"x" * 1000] * 500, b"\n\n")
    assert len(other) <= MOST_CHARS
    ((name, _),) = read(b"event: " + b"x" * 5000 + b"\ndata: " + b"y" * 1_000_000 + b"\n\n")
    assert len(name) == MOST_NAME
