"""Hundreds of spellings of addresses, judged exactly as Chromium reads them: it is asked itself."""

import contextlib
import itertools
import json
from typing import Any

import ada_url
import pytest

from pilothouse.errors import Failure
from pilothouse.guard import socks
from pilothouse.guard.address import check_url
from pilothouse.guard.patterns import place_of, read_pattern
from pilothouse.guard.policy import Policy
from pilothouse.guard.resolve import canonical
from pilothouse.guard.rules import read_rules
from pilothouse.guard.sluice import Gateway
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D01", "D05")

HOSTS = [
    # case, dots, percent
    "evil.test", "EVIL.Test", "evil.test.", "evil.test..", ".evil.test", "evil..test", "ev%69l.test", "%65vil.test",
    "evil%2etest", "evil%2Etest.", "evil.test%2e", "evil%00.test", "evil%20.test", "evil%2f.test", "evil%5c.test",
    "evil%40good.test", "evil%.test", "evil%zz.test", "%25", "ev il.test", "evil_x.test", "-evil.test", "evil-.test",
    "e--vil.test", "xn--evil.test", "xn--.test", "xn--a.test", "a" * 63 + ".test", "a" * 64 + ".test", "a." * 127 + "test",
    "evil.test<", "evil.test|x", "evil.test^x", "evil.test`x", "evil{x}.test", "evil*.test", "*.evil.test", "evil'.test",
    "evil!.test", "evil$.test", "evil&.test", "evil(.test", "evil+.test", "evil,.test", "evil;.test", "evil=.test", "evil~.test",
    'evil".test',
    # international names, and letters that are not what they seem
    "bücher.test", "BÜCHER.test", "bu\u0308cher.test", "xn--bcher-kva.test", "faß.test", "fass.test", "straße.test",
    "ｅｖｉｌ.test", "evil。test", "evil．test", "evil｡test", "ⓔⓥⓘⓛ.test", "𝐞𝐯𝐢𝐥.test", "еvil.test", "eviⅼ.test",
    "ev\u00adil.test", "ev\u200bil.test", "ev\u200dil.test", "ev\u2060il.test", "\ufeffevil.test", "evil\u3000.test",
    "ςigma.test", "σigma.test", "ﬁ.test", "ǆ.test", "K.test", "İ.test", "ı.test", "ß.test", "ẞ.test", "日本.test", "日本。テスト",
    "مثال.test", "עברית.test", "aא.test", "☃.test", "💩.test", "xn--ls8h.test", "℡.test", "½.test", "㎏.test", "evil\u0301.test",
    "\u0301evil.test", "evil⒈test", "evil⁄x.test", "evil∕x.test", "evil／x.test", "evil＠good.test", "evil：80", "evil？.test",
    "evil＃.test", "evil％2e.test",
    # IPv4 in all its clothes
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.0.0.01",
    "017700000001", "127.0.0.1.", "127.0.0.1..", "127.0.0.0x", "0x", "0x.0x.0", "0", "00", "1", "256", "65536", "127.0.0.256",
    "127.0.0.1.2", "1.2.3.4.5", "256.0.0.1", "127.0.0.08", "127.0.0.09", "08.0.0.1", "0xg.1", "4294967295", "4294967296",
    "99999999999", "-1", "127.-1", "1e3", "127.0.0.1a", "a.127.0.0.1", "a.1", "a.0x1", "1.a", "0x7f.evil.test", "①②⑦.⓪.⓪.①",
    "１２７.０.０.１", "127。0。0。1", "127.0.0.%31", "%31%32%37.1", "127%2e0.0.1", "١٢٧.0.0.1", "169.254.169.254", "2852039166",
    "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "169.16689662", "10.1.2.3", "012.1.2.3", "0xa.1.2.3", "192.168.257",
    # IPv6
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[0000::1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::FFFF:7F00:1]",
    "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
    "[fd00:ec2::254]", "[::]", "[::1", "::1", "[::1]x", "[1]", "[:::1]", "[1::2::3]", "[::12345]", "[::1.2.3]",
    "[::1.2.3.4.5]", "[::01.2.3.4]", "[::256.1.1.1]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7::]",
    "[::1.]", "[v1.x]", "[%3a%3a1]", "[\uff1a:1]", "[2001:DB8::A]", "[2001:db8:0:0:1:0:0:1]", "[::ffff:a9fe:a9fe]",
]  # fmt: skip

AROUND = [
    "http://{}/", "https://{}", "HTTP://{}/", "http:{}", "http:/{}", "http:///{}/", "http:\\\\{}\\x", "http:\\/{}", "http:////{}",
    "http://{}:8080/", "http://{}:80/", "https://{}:443/", "https://{}:80/", "http://{}:", "http://{}:00080/", "http://{}:0/",
    "http://{}:65535/", "http://{}:65536/", "http://{}:8o80/", "http://{}:-1/", "http://{}: 80/", "http://{}:8\t0/",
    "http://user@{}/", "http://user:pass@{}/", "http://good.test@{}/", "http://good.test:80@{}/", "http://@{}/", "http://:@{}/",
    "http://a@b@{}/", "http://a%40b@{}/", "http://good.test%2f@{}/", "http://good.test\\@{}/", "http://{}\\@good.test/",
    "http://{}\\.good.test/", "http://{}/@good.test", "http://{}?@good.test/", "http://{}#@good.test/", "http://{}%2f@good.test/",
    "http://good.test/@{}", "http://good.test?{}", "http://good.test#{}", "http://{}/..//good.test", "http://{}//good.test",
    " http://{}/ ", "\thttp://{}/\n", "\x00\x1fhttp://{}/", "ht\ttp://{}/", "http:/\n/{}/", "h\r\nttp\n:\t//{}/", "http://{}\t/",
    "http://\t{}/", "http://{}/\x00", "http://{}/ x y", "http://{}/%00%0a", "http://{};x/", "http://{},good.test/",
    "http://{}&good.test/", "http://good.test.{}/", "http://{}.good.test/", "ws://{}/", "wss://{}:443/", "blob:http://{}/1-2",
    "http ://{}/", "http//{}/", "://{}/", "hxxp://{}/", "file://{}/x", "ftp://{}/", "view-source:http://{}/", "data:text/html,{}",
    "javascript://{}/%0aalert(1)", "about:blank?{}", "chrome://{}/", "filesystem:http://{}/x", "http:///{}:80@good.test/",
]  # fmt: skip
SPELLINGS = sorted(
    {AROUND[0].format(host) for host in HOSTS}
    | {
        around.format(host)
        for around in AROUND
        for host in ("evil.test", "0x7f.1", "[::1]", "EVIL%2eTest.", "ｅvil。test")
    }
)

# What Chromium reads and the standard does not: hosts with spaces and stars, which it escapes, and some more clothes
# of IPv6. We refuse these, as arguments and as pages.
REFUSED = {
    "http://*.evil.test/", "http://evil*.test/", "http://ev il.test/", "http://evil%20.test/", "http://evil\u3000.test/",
    "http://evil％2e.test/", "http://[%3a%3a1]/", "http://[\uff1a:1]/", "http://[::01.2.3.4]/",
}  # fmt: skip

READ = """
return args[0].map(text => {
    try { const url = new URL(text); return [url.protocol, url.hostname, url.port, url.href, url.origin] }
    catch { return null }
})
"""
Read = list[str] | None


@pytest.fixture
async def chromium(agent: Agent, site: PageServer) -> Agent:
    await agent.call("navigate", url=site.url("small.html"))
    return agent


async def reads(agent: Agent, spellings: list[str]) -> dict[str, Read]:
    found: dict[str, Read] = {}
    for start in range(0, len(spellings), 20):  # longer answers would be files
        some = spellings[start : start + 20]
        answer = await agent.call("evaluate_js", expression=READ, args=[some])
        found |= dict(zip(some, answer["value"], strict=True))
    return found


def ours(text: str) -> Read:
    try:
        url = ada_url.URL(text)
    except ValueError:
        return None
    return [url.protocol, url.hostname, url.port, url.href, url.origin]


def seen_by_the_policy(text: str) -> tuple[str, str, int] | None:
    place = place_of(text)
    return (place.scheme, place.host, place.port) if place else None


def meant_by(read: Read) -> tuple[str, str, int] | None:
    if read is None:
        return None
    scheme = {"ws:": "http:", "wss:": "https:"}.get(read[0], read[0]).removesuffix(":")
    default = {"http": 80, "https": 443}.get(scheme, 0)
    return scheme, canonical(read[1]), int(read[2] or default)


async def test_every_spelling_is_read_as_chromium_reads_it(chromium: Agent):
    assert len(SPELLINGS) > 400
    theirs = await reads(chromium, SPELLINGS)
    web = {text: read for text, read in theirs.items() if read is None or read[0] in ("http:", "https:", "ws:", "wss:")}
    assert len(web) > 300
    different = {text: (read, ours(text)) for text, read in web.items() if seen_by_the_policy(text) != meant_by(read)}
    assert set(different) == REFUSED
    assert [text for text in REFUSED if place_of(text)] == []
    other = {text: (read, ours(text)) for text, read in theirs.items() if text not in web}
    assert {text: pair for text, pair in other.items() if pair[1] is None or pair[0][0] != pair[1][0]} == {}  # pyright: ignore
    assert len(other) > 30


async def test_what_the_gate_lets_pass_is_what_chromium_opens(chromium: Agent):
    """The address that is checked is handed on in its canonical form; Chromium must not read that in another way."""
    passed: dict[str, str] = {}
    for text in SPELLINGS:
        with contextlib.suppress(Failure):
            passed[text] = check_url(text)
    assert len(passed) > 150
    theirs = await reads(chromium, list(passed.values()))
    for text, url in passed.items():
        read = theirs[url]
        assert read, text
        assert meant_by(read) == seen_by_the_policy(url), text
        assert read[3] == url or "@" in url, text  # passwords are masked on their way back
        assert text not in REFUSED
        assert read[0] in ("http:", "https:"), text


def test_a_rule_for_a_host_holds_for_all_its_spellings():
    policy = Policy(
        read_rules('[[rules]]\nhost = "evil.test"\nread = false\n[[rules]]\nhost = "127.0.0.1"\nread = false\n')
    )
    evil = [
        "evil.test",
        "EVIL.Test",
        "evil.test.",
        "ev%69l.test",
        "ｅｖｉｌ.test",
        "evil。test",
        "ev\u00adil.test",
        "ⓔⓥⓘⓛ.test",
    ]
    evil += ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "①②⑦.⓪.⓪.①", "[::ffff:127.0.0.1]", "127.0.0.%31"]
    ways = [
        "http://{}/",
        "http:\\\\{}\\",
        "https://{}:8443/",
        "http://good.test@{}/",
        "http://{}\\@good.test/",
        "\thttp:/{}",
    ]
    for host, way in itertools.product(evil, ways):
        said = policy.decide_document("isolated", "auto", way.format(host))
        assert said.verdict == "deny", way.format(host)
        assert said.rule in ("rule evil.test", "rule 127.0.0.1"), way.format(host)
        assert read_pattern(host).text in ("evil.test", "127.0.0.1")


async def test_chromium_asks_the_network_for_the_host_that_was_judged(chromium: Agent, monkeypatch: pytest.MonkeyPatch):
    """Not what it says, but what it does: the host and port that arrive at the sluice."""
    asked: list[tuple[str, int]] = []

    def note(self: Gateway, visitor: Any, host: str, port: int) -> None:
        asked.append((canonical(host), port))
        visitor.refuse(socks.NOT_ALLOWED)

    monkeypatch.setattr(Gateway, "asked", note)
    safe = (80, 443, 8080)
    sample = [text for text in SPELLINGS if (seen := seen_by_the_policy(text)) and seen[0] in ("http", "https")]
    sample = [
        text
        for text in sample
        if (place_of(text) or read_pattern("x")).port in safe and not text.startswith(("ws", "blob"))
    ]
    assert len(sample) > 150
    went, wrong = 0, dict[str, list[tuple[str, int]]]()
    for text in sample[::2]:
        asked.clear()
        await chromium.js(
            f"try {{ await fetch(new URL({json.dumps(text)}), {{mode: 'no-cors'}}) }} catch {{}} return 0"
        )
        seen = seen_by_the_policy(text)
        assert seen
        went += bool(asked)
        if set(asked) - {seen[1:]}:
            wrong[text] = asked[:]
    assert wrong == {}
    assert went > 60
