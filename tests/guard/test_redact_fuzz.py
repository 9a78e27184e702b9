"""What was redacted once is not changed by a second time, whatever the text: thousands of texts put together from
pieces that mean something to the rules, from a fixed seed."""

import random
from typing import Any

import pytest

from pilothouse.guard.known import known
from pilothouse.guard.redact import for_log, for_log_tree, redact_page, redact_registered, redact_text, redact_tree
from tests.promises import promise

pytestmark = promise("D11", "D15")

VALUES = {"one": "hunter2-Übung & more/than that", "two": "github", "three": "redacted", "four": "4111-secret:one"}
PIECES = [
    *VALUES.values(), "password", "token", "apiKey", "cookie", "Set-Cookie", "authorization", "Bearer ", "Basic ", "name=",
    "<input ", "value=", "type=password", "https://", "user:", "@", "?", "&", "#", "=", ":", ": ", '"', "'", "\\", '\\"',
    "\n", "\r\n\r\n", " ", "{", "}", "[", "]", "<", ">", ",", ";", "…", "%20", "+", "-", ".", "/", "[redacted]",
    "[secret:one]", "[secret:", "[email]", "4111111111111111", "4111 1111 1111 1111", "5500-0000-0000-0004", "0.4",
    "DE89 3704 0044 0532 0130 00", "+49 170 1234567", "ada@example.com", "sk-" + "a1B2" * 8, "ghp_" + "a1B2" * 9,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "hunter2", "a", "Z", "9", "é", "\u2028", "aHVudGVyMi3DnGJ1bmcgJiBtb3Jl",
    "-----BEGIN PRIVATE KEY-----", "x" * 20, "0123456789abcdef", "code", "key", "sid", "csrf_token", "]]", "card_number",
]  # fmt: skip


@pytest.fixture(autouse=True)
def registered():
    known.know("fuzz", VALUES)
    yield
    known.know("fuzz", {})


def texts(seed: int, count: int):
    dice = random.Random(seed)
    for _ in range(count):
        yield "".join(dice.choice(PIECES) for _ in range(dice.randint(1, 14)))


@pytest.mark.parametrize("redact", [redact_page, redact_text, for_log, redact_registered])
def test_twice_is_once(redact: Any):
    for text in texts(seed=7, count=4000):
        once = redact(text)
        assert redact(once) == once, text


@pytest.mark.parametrize("redact", [redact_tree, for_log_tree])
def test_twice_is_once_for_data(redact: Any):
    dice = random.Random(11)
    pieces = list(texts(seed=13, count=3000))
    for _ in range(1000):
        key, other = dice.choice(["password", "note", "set-cookie", dice.choice(pieces)]), dice.choice(pieces)
        data = {
            key: dice.choice(pieces),
            "list": [dice.choice(pieces), {other: dice.choice(pieces)}],
            "n": 4111111111111111,
        }
        once = redact(data)
        assert redact(once) == once, data


@pytest.mark.parametrize("redact", [redact_page, redact_text, for_log, redact_registered])
def test_no_registered_value_is_left(redact: Any):
    for text in texts(seed=17, count=3000):
        shown = redact(f"{text}\n{VALUES['one']}\n{text}")
        assert VALUES["one"] not in shown, text
