"""What never shows: secrets by header, name, place and shape. What always does: everything else."""

import time
from typing import Any

import pytest

from pilothouse.guard.redact import MASK, is_secret_name, redact_headers, redact_text, redact_tree, redact_url
from tests.promises import promise

pytestmark = promise("D11")

# Shapes only, put together here so that no scanner takes this file for a leak.
SHAPES = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1_" * 10,
    "glpat-" + "a1B2" * 5,
    "sk-" + "a1B2" * 8,
    "sk-ant-api03-" + "a1B2" * 8,
    "sk_live_" + "a1B2" * 6,
    "AKIA" + "A1B2" * 4,
    "xoxb-" + "123456-" * 3,
    "AIza" + "a1B2-" * 7,
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + "c2lnbmF0dXJl",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_keys_are_known_by_their_shape(shape: str):
    assert redact_text(f"the key is {shape}, keep it") == f"the key is {MASK}, keep it"
    assert redact_tree({"log": [f"{shape}"]}) == {"log": [MASK]}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://a.test/?token=abc&page=2", f"https://a.test/?token={MASK}&page=2"),
        ("https://a.test/#access_token=abc&x=1", f"https://a.test/#access_token={MASK}&x=1"),
        ("/login?user=eve&Password=p%40ss", f"/login?user=eve&Password={MASK}"),
        ("https://a.test/cb?code=0123456789abcdef0", f"https://a.test/cb?code={MASK}"),
        ("https://a.test/?code=DE&key=size", "https://a.test/?code=DE&key=size"),
        ("https://eve:pw@a.test/x", f"https://eve:{MASK}@a.test/x"),
        ("https://a.test/?q=token", "https://a.test/?q=token"),
        ("https://a.test:8080/@user", "https://a.test:8080/@user"),
    ],
)
def test_urls(given: str, shown: str):
    assert redact_url(given) == shown
    assert redact_url(shown) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ('{"user": "eve", "password": "a\\"b", "n": 1}', f'{{"user": "eve", "password": "{MASK}", "n": 1}}'),
        ('{"body": "{\\"apiKey\\":\\"abc\\"}"}', f'{{"body": "{{\\"apiKey\\":\\"{MASK}\\"}}"}}'),
        ("user=eve&client_secret=abc&x=1", f"user=eve&client_secret={MASK}&x=1"),
        ("a\nnew_password2=abc\nb", f"a\nnew_password2={MASK}\nb"),
        ('name="password"\r\n\r\nhunter2\r\n--x', f'name="password"\r\n\r\n{MASK}\r\n--x'),
        ("Authorization: Basic dXNlcg==\nHost: a", f"Authorization: {MASK}\nHost: a"),
        ("set-cookie: a=b; HttpOnly", f"set-cookie: {MASK}"),
        ("curl -H 'bearer abcdefghijklmnopqrstuvwxyz'", f"curl -H 'bearer {MASK}'"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", MASK),
    ],
)
def test_bodies_and_lines(given: str, shown: str):
    assert redact_text(given) == shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Forgot your password? Passwords need 8 characters.", "basic understanding of the bearer of bad news",
        '"secretary": "Bob"', "max_tokens=500 tokens: 12", "display=1&spin=2", "task-based-approach-to-everything-else",
        '- link "Sign in" [ref=e12] /login?next=%2F', "12:30 http://localhost:3000/x@y", "",
    ],
)  # fmt: skip
def test_plain_text_is_left_alone(text: str):
    assert redact_text(text) is text


def test_headers_whatever_their_case():
    given = {"AUTHORIZATION": "x", "cookie": "a=b", "Set-Cookie": "c", "X-API-Key": "k", "My-Token": "t", "Accept": "*"}
    shown = redact_headers(given)
    assert list(shown) == list(given)
    assert {name for name, value in shown.items() if value != MASK} == {"Accept"}
    assert redact_headers({"Location": "/?token=abc"}) == {"Location": f"/?token={MASK}"}


def test_trees():
    clean: dict[str, Any] = {"code": "not_found", "key": "Enter", "tokens": 5, "items": [{"name": "a"}], "n": None}
    assert redact_tree(clean) is clean
    given = {"password": "p", "deep": [{"apiKey": "k", "url": "/?token=t"}], "otp": 5, "secret": ""}
    deep = [{"apiKey": MASK, "url": f"/?token={MASK}"}]
    assert redact_tree(given) == {"password": MASK, "deep": deep, "otp": 5, "secret": ""}


@pytest.mark.parametrize("name", ["password", "userPassword", "NEW_PASSWORD", "client_secret", "api-key", "cvv"])
def test_secret_names(name: str):
    assert is_secret_name(name)


def test_a_lone_surrogate_is_no_way_round():
    assert redact_text("\ud800 token=abc") == f"? token={MASK}"
    assert redact_text("\ud800 plain") == "\ud800 plain"


@pytest.mark.parametrize("evil", ["a", "password", "http://", "eyJ", "token=", "sk-", '"password":"', "a:b@"])
def test_no_page_makes_it_slow(evil: str):
    began = time.perf_counter()
    redact_text(evil * (500_000 // len(evil)))
    assert time.perf_counter() - began < 2
