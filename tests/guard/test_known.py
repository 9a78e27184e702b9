"""Registered values are found in whatever way a page, a protocol or a log may write them."""

import base64
import html
import json
import time
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest

from pilothouse.guard.known import known
from pilothouse.guard.redact import for_log, redact_page, redact_registered, redact_text, redact_tree
from tests.promises import promise

pytestmark = promise("D11", "D12")

VALUE = """p@ss/w"ö'rd<1> & 2\\x+"""
MARK = "[secret:one]"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    known.know("test", {"one": VALUE, "pin": "4711", "long": "0123456789abcdef" * 4, "plain": "abababababababX"})
    yield
    known.know("test", {})


DISGUISES = {
    "plain": VALUE,
    "url": quote(VALUE, safe=""),
    "url, small hex": quote(VALUE, safe="").lower(),
    "form": quote_plus(VALUE),
    "twice": quote(quote(VALUE, safe=""), safe=""),
    "as encodeURI": quote(VALUE, safe=";,/?:@&=+$!'()*#-_.~"),
    "json": json.dumps(VALUE)[1:-1],
    "json in json": json.dumps(json.dumps(VALUE))[3:-3],
    "json, unescaped": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "html": html.escape(VALUE),
    "html, numbers": "".join(one if one.isalnum() else f"&#{ord(one)};" for one in VALUE),
    "html, hex": "".join(one if one.isalnum() else f"&#x{ord(one):X};" for one in VALUE),
    "hex": VALUE.encode().hex(),
    "lines": "\n   ".join(VALUE[at : at + 5] for at in range(0, len(VALUE), 5)).replace("& 2", "&\n 2", 0),
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("redact", [redact_registered, redact_page, redact_text, for_log])
def test_disguises(disguise: str, redact: object):
    assert callable(redact)
    shown = redact(f"before {DISGUISES[disguise]} after")
    assert shown == f"before {MARK} after"


@pytest.mark.parametrize("before", ["", "a", "ab", "ada:", "user: "])
@pytest.mark.parametrize("after", ["", "x", "xy", "xyz"])
def test_base64_at_every_shift_in_both_alphabets(before: str, after: str):
    data = f"{before}{VALUE}{after}".encode()
    for coded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        for text in (
            coded.decode(),
            quote(coded.decode(), safe=""),
            "\n".join([coded[:20].decode(), coded[20:].decode()]),
        ):
            shown = redact_registered(f"Basic {text}")
            assert MARK in shown, text
            assert len(shown) < len(f"Basic {MARK}") + len(before) * 2 + len(after) * 2 + 10, shown


def test_what_is_cut_off_is_masked_as_far_as_it_goes():
    long = "0123456789abcdef" * 4
    assert redact_text(f"holds {long[:30]}…") == "holds [secret:long]…"
    assert redact_text(f"holds {long[:13]}...") == "holds [secret:long]..."
    assert redact_text(f"holds {long[:25]} and more") == "holds [secret:long] and more"
    assert redact_text(f"holds {long[:14]} and more") == f"holds {long[:14]} and more"


def test_a_false_beginning_hides_nothing():
    assert redact_text("ab" * 9 + "X") == "abab[secret:plain]"


def test_short_ones_are_found_as_words():
    assert redact_text("pin 4711, not 47110 nor 14711") == "pin [secret:pin], not 47110 nor 14711"


def test_marks_are_left_alone_and_are_no_hiding_place():
    known.know("test", {"github": "github", "other": "value-of-other"})
    assert redact_text("github [secret:github] [secret:value-of-other]") == (
        "[secret:github] [secret:github] [secret:[secret:other]]"
    )


def test_in_data_under_any_name():
    assert redact_tree({"password": VALUE, "x": [VALUE], VALUE: 1}) == {"password": MARK, "x": [MARK], MARK: 1}


@pytest.mark.alone
def test_time_is_in_proportion_and_small():
    """The best of several: what else the machine does is not asked for."""
    known.know("test", {f"n{number}": f"value-{number}-{'x' * 20}{number * 7919}" for number in range(200)})
    text = "".join(f'- link "Sign in {n}" [ref=e{n}] /login?next=%2F{n} and some words, 12:30\n' for n in range(1400))
    text = text[:100_000]
    took = []
    for _ in range(20):
        began = time.perf_counter()
        assert redact_page(text) is text
        took.append(time.perf_counter() - began)
    assert min(took) < 0.002
    evil = "value-1" * 20_000
    began = time.perf_counter()
    redact_text(evil)
    assert time.perf_counter() - began < 3


@pytest.mark.alone
@pytest.mark.parametrize(
    "text", ["1234x " * 8000 + "[email] " * 8000, "1234 " * 200_000, "1234\n[email]x1234 " * 20_000]
)
def test_a_short_value_costs_no_more(text: str):
    known.know("test", {"pin": "1234"})
    began = time.process_time()
    redact_text(text)
    assert time.process_time() - began < 3


def test_what_nobody_looked_through_is_left_out():
    masked = redact_text("47110 " * 10_000 + "4711")
    assert masked.endswith("looks like secrets)")
    assert len(masked) < 40_000
    assert redact_text("4711 " * 1000) == "[secret:pin] " * 1000


def test_what_was_clean_is_looked_at_anew_when_more_is_known():
    text, tree = "the code is tulip-42", {"said": ["tulip-42"]}
    for redact in (redact_text, redact_page, redact_registered, for_log):
        assert redact(text) == text
    assert redact_tree(tree) is tree
    known.know("test", {"one": "tulip-42"})
    for redact in (redact_text, redact_page, redact_registered, for_log):
        assert redact(text) == f"the code is {MARK}"
    assert redact_tree(tree) == {"said": [MARK]}
    known.know("test", {})
    assert redact_text(text) == text
