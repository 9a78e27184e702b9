"""policy.toml: what it may say, which rule wins, and how it is edited with its owner's words left in place."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.patterns import NOWHERE, Hosts, Place, is_private, place_of, read_pattern
from pilothouse.guard.rulebook import Rulebook, shown, told, version_of
from pilothouse.guard.rules import MAX_BYTES, Rules, compile_pattern, read_rules
from tests.promises import promise

pytestmark = promise("D01", "D14", "D15")

DOCUMENTED = """
template = "sandbox"            # sandbox | careful | locked | readonly: where the rest starts from
mode = "auto"                   # auto | ask | readonly
default = "allow"               # hosts that no rule names: allow | ask | deny
step_budget = 0                 # steps a session, 0 = none
sensitive_patterns = ["(?i)delete account"]
[[rules]]
host = "*.example.com"          # [scheme://]host[:port] or *.host; no scheme = http and https, no port = every port
read = true
write = true
approval = false                # true: every write asks
max_steps_per_hour = 100
resources = ["cdn.example.net"] # hosts its pages may load from; absent = any allowed host, ["*"] = anything
"""


def place(url: str) -> Place:
    found = place_of(url)
    assert found, url
    return found


def test_the_documented_file():
    rules = read_rules(DOCUMENTED)
    assert (rules.template, rules.mode, rules.default, rules.step_budget) == ("sandbox", "auto", "allow", 0)
    (rule,) = rules.rules
    assert (rule.pattern.text, rule.read, rule.write, rule.approval) == ("*.example.com", True, True, False)
    assert (rule.max_steps_per_hour, rule.resources) == (100, (read_pattern("cdn.example.net"),))
    assert rules.compiled[0].search("please Delete Account now")


def test_an_empty_file_says_nothing():
    assert read_rules("") == Rules()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('mode = "often"', ["line 1", "mode", '"auto" | "ask" | "readonly"']),
        ('\nmod = "auto"', ["line 2", "mod", "did you mean mode?"]),
        (
            '[[rules]]\nhost = "a"\n\n[[rules]]\nhost = "b"\nreed = true',
            ["line 6", "rules no. 2", "did you mean read?"],
        ),
        ("[[rules]]\nread = true", ["line 1", "rules no. 1", "needs a host"]),
        ('[[rules]]\nhost = "a b"', ["line 2", "not a host pattern"]),
        ('[[rules]]\nhost = "*"', ["line 2", "not a host pattern"]),
        ('[[rules]]\nhost = "a"\n[[rules]]\nhost = "A."', ["line 4", "a has a rule already, no. 1"]),
        ('[[rules]]\nhost = "a"\nread = "yes"', ["line 3", "read", "bool"]),
        ('[[rules]]\nhost = "a"\nread = false\nwrite = true', ["line 4", "nobody may read"]),
        ('[[rules]]\nhost = "a"\nmax_steps_per_hour = -1', ["line 3", ">= 0"]),
        ('[[rules]]\nhost = "a"\nresources = ["b", "c d"]', ["line 3", "'c d'"]),
        ('[[rules]]\nhost = "a"\nresources = ["data:"]', ["line 3", "resources come from hosts"]),
        ('[[rules]]\nhost = "file:"', ["line 2", "every file of yours"]),
        ('[[rules]]\nhost = "File:///srv/www"', ["line 2", "file: addresses cannot be allowed"]),
        ('[[rules]]\nhost = "devtools://devtools"', ["line 2", "devtools: addresses cannot be allowed"]),
        ('rules = [{host = "a", reed = true}]', ["rules no. 1", "did you mean read?"]),
        ('[rules]\nhost = "a"', ["rules", "array"]),
        ("step_budget = -5", ["line 1", ">= 0"]),
        ("step_budget = true", ["line 1", "int"]),
        ('sensitive_patterns = ["(unclosed"]', ["line 1", "'(unclosed' is not a pattern"]),
        (r'sensitive_patterns = ["(a)\\1"]', ["line 1", "is not a pattern"]),
        (f'sensitive_patterns = ["{"x" * 501}"]', ["line 1", "<= 500"]),
        ('mode = "auto\n', ["line 1"]),
        ('mode = "auto"\nmode = "ask"\n', ["line 2"]),
        ("x" * (MAX_BYTES + 1), ["larger than"]),
        ("[" * 100_000, ["policy.toml"]),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, told: list[str]):
    with pytest.raises(Failure) as caught:
        read_rules(text)
    assert caught.value.code == "bad_request"
    for part in ["policy.toml", *told]:
        assert part in caught.value.message


def test_regular_expressions_take_linear_time_and_bounded_memory():
    slow = compile_pattern("(?i)(a+)+$")
    began = time.monotonic()
    assert not slow.search("a" * 50_000 + "!")
    assert time.monotonic() - began < 1
    for huge in ("(?:a{1000}){1000}", "((a{100}){100}){100}"):
        with pytest.raises(Failure, match="not a pattern"):
            compile_pattern(huge)


# Patterns


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("example.com", ["http://example.com", "https://EXAMPLE.com.:8443/x"], ["http://a.example.com", "http://example.com.evil"]),
        ("*.example.com", ["http://a.example.com", "https://a.b.example.com"], ["http://example.com", "http://notexample.com"]),
        ("https://example.com", ["https://example.com:444", "wss://example.com"], ["http://example.com", "ws://example.com"]),
        ("example.com:8080", ["http://example.com:8080"], ["http://example.com", "https://example.com:8081"]),
        ("example.com:443", ["https://example.com", "http://example.com:443"], ["http://example.com"]),
        ("bücher.de", ["http://xn--bcher-kva.de", "http://BÜCHER.de"], ["http://bucher.de"]),
        ("127.0.0.1", ["http://2130706433", "http://0x7f.1", "http://[::ffff:7f00:1]"], ["http://127.0.0.2", "http://localhost"]),
        ("[::1]:3000", ["http://[::1]:3000", "http://[0:0:0:0:0:0:0:1]:3000"], ["http://[::1]", "http://[::2]:3000"]),
        ("data:", ["data:text/html,x"], ["http://data", "file:///x"]),
        ("chrome://version", ["chrome://version/"], ["chrome://settings", "http://version"]),
        ("example.com", ["blob:https://example.com/1-2"], ["blob:null/1", "data:text/html,example.com", "about:blank"]),
    ],
)  # fmt: skip
def test_what_a_pattern_fits(pattern: str, fits: list[str], misses: list[str]):
    read = read_pattern(pattern)
    assert [url for url in fits if not read.fits(place(url))] == []
    assert [url for url in misses if read.fits(place(url))] == []


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.", "a..b", "*.*.com", "a.*", "a*", "http://", "a/b", "http://a/b", "u@a", "a:0", "a:65536", "a:b",
     "*.1.2.3.4", "*.[::1]", "[::1", "javascript:", "ftp://a", "a b", "a\\b", "a?b", "a#b", "%2f", "x" * 301],
)  # fmt: skip
def test_what_is_no_pattern(text: str):
    with pytest.raises(Failure, match=r"not a host pattern|nothing below"):
        read_pattern(text)


def test_a_pattern_has_one_spelling():
    spellings = ("EXAMPLE.com", "example.com.", "exa%6dple.com", " example.com ", "example.com/", "ｅxample.com")
    assert {read_pattern(one) for one in spellings} == {read_pattern("example.com")}
    assert read_pattern("wss://a") == read_pattern("https://a")
    assert read_pattern("0177.1") == read_pattern("[::ffff:127.0.0.1]") == read_pattern("127.0.0.1")


def test_the_most_specific_rule_wins_whatever_the_order():
    order = ["*.com", "*.example.com", "https://*.example.com", "*.example.com:8443", "*.a.example.com"]
    order += ["b.a.example.com", "https://b.a.example.com", "b.a.example.com:8443", "https://b.a.example.com:8443"]
    here = place("https://b.a.example.com:8443/")
    for written in (order, order[::-1]):
        left = list(order)
        while left:
            text = "\n".join(f'[[rules]]\nhost = "{one}"' for one in written if one in left)
            found = read_rules(text).of(here)
            assert found
            assert found.pattern.text == left.pop()
    assert Rules().of(here) is None


@pytest.mark.alone
def test_thousands_of_rules_cost_little():
    text = "\n".join(f'[[rules]]\nhost = "h{n}.example.com"\n[[rules]]\nhost = "*.s{n}.test"' for n in range(1000))
    rules = read_rules(text)
    here = place("https://a.b.s500.test/")
    began = time.perf_counter()
    for _ in range(1000):
        found = rules.of(here)
        assert found
        assert found.pattern.text == "*.s500.test"
    assert time.perf_counter() - began < 0.5  # less than half a millisecond each, on a busy machine


def test_places():
    assert place("http://USER:pw@Example.com.:80/x") == Place("http", "example.com", 80)
    assert place("about:blank") == place("about:srcdoc") == place("chrome-error://chromewebdata/") == NOWHERE
    assert place("about:settings") != NOWHERE
    assert place_of("no address") is None
    assert place("http://a:8080/").domain == "a:8080"
    assert place("https://a/").domain == "a"
    assert place("http://[::1]/").domain == "[::1]"
    assert place("data:,").domain == "data:"


@pytest.mark.parametrize("host", ["localhost", "x.localhost", "127.9.9.9", "10.1.2.3", "192.168.0.1", "172.16.0.1",
                                  "100.64.0.1", "::1", "fd00::1", "::ffff:10.0.0.1", "0.0.0.0"])  # fmt: skip
def test_private_hosts(host: str):
    assert is_private(host)
    assert not is_private("93.184.216.34")
    assert not is_private("example.com")


def test_lists_of_resources():
    (rule,) = read_rules('[[rules]]\nhost = "a"\nresources = ["cdn.test", "*.img.test:8080"]').rules
    hosts = Hosts(rule.resources or ())
    assert hosts.admit("cdn.test", 443)
    assert hosts.admit("x.img.test", 8080)
    assert not hosts.admit("x.img.test", 80)
    assert not hosts.admit("other.test", 443)
    (rule,) = read_rules('[[rules]]\nhost = "a"\nresources = ["*"]').rules
    assert Hosts(rule.resources or ()).admit("anything.test", 1)


# The file

COMMENTED = """# mine: keep this
template = "careful" # for now

# the shop
[[rules]]
host = "shop.test" # we buy here
write = true

# the bank
[[rules]]
host = "bank.test"
read = false
"""


@pytest.fixture
def book(tmp_path: Path) -> Rulebook:
    return Rulebook(tmp_path / "policy.toml")


def lines(book: Rulebook) -> list[str]:
    return book.text().splitlines()


def test_no_file_is_an_empty_policy(book: Rulebook):
    assert book.read() == Rules()
    assert book.text() == ""
    assert told(book, book.read())["policy"]["rules"] == []
    book.set("mode", "ask")
    assert book.path.stat().st_mode & 0o777 == 0o600


def test_a_new_rule_knows_who_set_it_and_when(book: Rulebook):
    book.path.write_text(COMMENTED)
    before = datetime.now(UTC).replace(microsecond=0)
    rules = book.set_rule("https://New.Test/", {"write": True, "max_steps_per_hour": 7}, by="person")
    new = rules.rules[-1]
    assert (new.pattern.text, new.write, new.max_steps_per_hour, new.by) == ("https://new.test", True, 7, "person")
    assert new.at
    assert before <= new.at <= datetime.now(UTC)
    assert [line for line in COMMENTED.splitlines() if line not in lines(book)] == []
    assert book.read() == rules


def test_a_rule_cannot_have_a_path(book: Rulebook):
    """Whoever pastes one means less than the host, which would be allowed."""
    with pytest.raises(Failure, match="has a path") as caught:
        book.set_rule("https://New.Test/path", {"write": True}, by="person")
    assert "write https://New.Test" in caught.value.suggestions[0]


def test_what_somebody_wrote_by_hand_is_as_old_as_the_file(book: Rulebook):
    book.path.write_text(COMMENTED)
    (one, _) = told(book, book.read())["policy"]["rules"]
    assert one["by"] == "the file"
    assert datetime.fromisoformat(one["at"]).timestamp() == pytest.approx(book.path.stat().st_mtime, abs=1)


def test_a_rule_is_changed_in_its_place(book: Rulebook):
    book.path.write_text(COMMENTED)
    rules = book.set_rule("SHOP.test.", {"write": None, "approval": True}, by="person")
    assert [one.pattern.text for one in rules.rules] == ["shop.test", "bank.test"]
    assert (rules.rules[0].write, rules.rules[0].approval, rules.rules[0].by) == (None, True, "person")
    for kept in ("# mine: keep this", "# the shop", 'host = "shop.test" # we buy here', "# the bank"):
        assert kept in lines(book)
    assert shown(rules.rules[0], None)["at"]


def test_a_rule_is_removed_and_its_neighbours_stay(book: Rulebook):
    book.path.write_text(COMMENTED)
    assert [one.pattern.text for one in book.drop_rule("shop.test").rules] == ["bank.test"]
    assert "# the bank" in lines(book)
    with pytest.raises(Failure, match="no rule is written for shop"):
        book.drop_rule("shop.test")
    assert book.drop_rule("bank.test").rules == ()
    assert 'template = "careful" # for now' in lines(book)


def test_settings(book: Rulebook):
    book.path.write_text(COMMENTED)
    assert book.set("template", "locked").template == "locked"
    assert 'template = "locked" # for now' in lines(book)
    assert book.set("mode", "ask").mode == "ask"
    assert book.set("step_budget", 5).step_budget == 5
    assert book.set("template", None).template == ""
    assert len(book.read().rules) == 2
    for wrong in (("mode", "often"), ("rules", "x"), ("step_budget", -1)):
        with pytest.raises(Failure) as caught:
            book.set(*wrong)
        assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    "values",
    [{"write": "yes"}, {"reed": True}, {"max_steps_per_hour": -1}, {"resources": ["a b"]}, {"read": False}],
)
def test_a_bad_edit_leaves_the_file_as_it_was(book: Rulebook, values: dict[str, Any]):
    book.path.write_text(COMMENTED)
    with pytest.raises(Failure) as caught:
        book.set_rule("shop.test", values, by="person")  # which may be written to: reading cannot be forbidden alone
    assert caught.value.code == "bad_request"
    assert book.text() == COMMENTED


def test_a_broken_file_is_not_edited_but_can_be_replaced(book: Rulebook):
    book.path.write_text("mode = ")
    for edit in (lambda: book.set("mode", "ask"), lambda: book.set_rule("a", {}, by="x"), lambda: book.drop_rule("a")):
        with pytest.raises(Failure) as caught:
            edit()
        assert caught.value.code == "bad_request"
    assert book.text() == "mode = "
    with pytest.raises(Failure, match="mode"):
        book.put('mode = "often"')
    assert book.put(COMMENTED) == read_rules(COMMENTED)


def test_who_writes_over_somebody_else_is_told(book: Rulebook):
    book.path.write_text(COMMENTED)
    version = version_of(book.text())
    book.set("mode", "ask")
    with pytest.raises(Failure, match="changed meanwhile") as caught:
        book.put("", version=version)
    assert caught.value.code == "in_use"
    book.put("", version=version_of(book.text()))
    assert book.text() == ""


def test_line_ends_and_links_stay(book: Rulebook, tmp_path: Path):
    real = tmp_path / "elsewhere.toml"
    real.write_bytes(COMMENTED.replace("\n", "\r\n").encode())
    book.path.symlink_to(real)
    book.set_rule("new.test", {}, by="person")
    assert book.path.is_symlink()
    raw = real.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") > 10


def test_a_text_that_is_no_text(book: Rulebook):
    book.path.write_bytes(b'mode = "\xff"')
    with pytest.raises(Failure, match="utf-8"):
        book.read()


def test_a_long_list_is_read_in_no_time():
    rules = "\n".join(
        f'[[rules]]\nhost = "h{number}.test"\nread = false\nmax_steps_per_hour = 5' for number in range(2000)
    )
    began = time.process_time()
    assert len(read_rules(rules).rules) == 2000
    assert time.process_time() - began < 3


def test_a_file_of_windows_is_replaced_by_its_version(tmp_path: Path):
    """A page's text field has one way to end lines; the file keeps its own."""
    book = Rulebook(tmp_path / "policy.toml")
    book.path.write_bytes(b'# mine\r\nmode = "auto"\r\n')
    book.put('# ours\nmode = "ask"\n', version=told(book, book.read())["version"])
    assert book.path.read_bytes() == b'# ours\r\nmode = "ask"\r\n'
