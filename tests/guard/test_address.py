"""Which addresses may be named, and what they are called in the end."""

from ipaddress import ip_address

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.address import authority, check_url, forbidden, is_loopback
from pilothouse.guard.domains import read_domains
from tests.promises import promise

pytestmark = promise("D05")


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("https://EXAMPLE.com:443/a b", "https://example.com/a%20b"),
        ("http://0x7f.1:3000", "http://127.0.0.1:3000/"),
        ("http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/"),
        ("http://evil.com\\@good.com/", "http://evil.com/@good.com/"),
        ("  https://example.com\n", "https://example.com/"),
        ("About:Blank", "about:blank"),
        ("localhost:3000", "http://localhost:3000/"),
        ("localhost:3000/x?y#z", "http://localhost:3000/x?y#z"),
        ("shop.localhost", "http://shop.localhost/"),
        ("shop.test/x", "http://shop.test/x"),
        ("127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("[::1]:8000", "http://[::1]:8000/"),
        ("intranet/x", "http://intranet/x"),
        ("example.com/x", "https://example.com/x"),
        ("example.com:443", "https://example.com/"),
        ("example.com:80", "http://example.com/"),
        ("example.com:8080/x", "http://example.com:8080/x"),
        ("//example.com/x", "https://example.com/x"),
        ("bücher.de", "https://xn--bcher-kva.de/"),
        ("http:example.com", "http://example.com/"),
        ("https://user:pw@example.com/", "https://user:pw@example.com/"),
    ],
)
def test_is_made_canonical(given: str, canonical: str):
    assert check_url(given) == canonical
    assert check_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "FILE:/etc/passwd", "chrome://settings", "chrome-extension://abc/x.html",
        "data:text/html,x",
        "devtools://devtools/x", "javascript:alert(1)", " java\nscript:alert(1)", "\x01javascript:alert(1)",
        "view-source:http://example.com", "blob:http://example.com/1", "about:srcdoc", "about:blank#x", "ftp://example.com",
        "ws://example.com", "filesystem:http://example.com/", "mailto:a@b.c", "user:pw@example.com", "edge://settings",
    ],
)  # fmt: skip
def test_other_schemes_are_denied(url: str):
    with pytest.raises(Failure, match="cannot be opened") as caught:
        check_url(url)
    assert caught.value.code == "denied"


@pytest.mark.parametrize("url", ["", "  ", "http://", "http://a b/", "http://256.1.1.1/", "/x", "?x", "x" * 70_000])
def test_what_is_no_address_is_a_bad_request(url: str):
    with pytest.raises(Failure) as caught:
        check_url(url)
    assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "169.254.1.1", "0xa9fea9fe", "2852039166", "[::ffff:169.254.169.254]", "[fe80::1]",
        "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[::a9fe:a9fe]", "100.100.100.200",
        "metadata.google.internal", "METADATA.google.internal.", "168.63.129.16",
    ],
)  # fmt: skip
def test_metadata_and_link_local_are_denied(host: str):
    for url in (f"http://{host}/latest/meta-data", f"{host}"):
        with pytest.raises(Failure, match=r"metadata|link-local") as caught:
            check_url(url)
        assert caught.value.code == "denied"


@pytest.mark.parametrize(
    "url", ["http://localhost:8777/", "127.0.0.1:8777", "http://[::1]:8777", "http://0.0.0.0:8777", "a.localhost:8777"]
)
def test_the_daemon_itself_is_denied(url: str):
    with pytest.raises(Failure, match="Pilothouse itself"):
        check_url(url, {8777})
    assert check_url("http://example.com:8777/", {8777}) == "http://example.com:8777/"


def test_addresses_by_themselves():
    assert forbidden(ip_address("169.254.0.1")) == "169.254.0.1 is a link-local address"
    assert not forbidden(ip_address("10.0.0.1"))
    assert not forbidden(ip_address("::1"))
    assert is_loopback(ip_address("::ffff:127.0.0.1"))
    assert is_loopback(ip_address("0.0.0.0"))
    assert not is_loopback(ip_address("192.168.0.1"))


def test_host_and_port_in_the_spelling_that_rules_compare():
    asked = ["http://[::1]:8000/", "https://Example.com./x", "http://127.1"]
    assert [authority(check_url(one)) for one in asked] == [("::1", 8000), ("example.com", 443), ("127.0.0.1", 80)]
    assert read_domains(["[::1]:8000"]).admit(*authority("http://[::1]:8000/"))
