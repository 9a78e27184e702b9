"""Addresses that an agent may name: which schemes, which hosts, and which IP addresses never.

Above: the gate (declared URL arguments) and the sluice (every connection). Below: errors. URLs are read by a WHATWG
parser, because any other judges another host than the one Chrome opens: `http://evil.com\\@good.com/` is evil.com,
and `http://0x7f.1/` is 127.0.0.1.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import ada_url

from pilothouse.errors import Failure

Address = IPv4Address | IPv6Address

_MAX_CHARS = 65_536
_METADATA = {
    ip_address("169.254.169.254"),  # AWS, Google, Azure, OpenStack and most others
    ip_address("169.254.170.2"),  # AWS container credentials
    ip_address("fd00:ec2::254"),
    ip_address("fd20:ce::254"),  # Google
    ip_address("168.63.129.16"),  # Azure's wire server
    ip_address("100.100.100.200"),  # Alibaba
    ip_address("192.0.0.192"),  # Oracle
}
_METADATA_NAMES = {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
_NAT64 = ip_network("64:ff9b::/96")

# `localhost:3000` and `example.com:8080/x` are a host and a port; any other word before a colon is a scheme.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(?![0-9]{1,5}(?:[/?#\\]|$))|(https?):", re.IGNORECASE)
_SPACE = "".join(map(chr, range(33)))  # the parser drops these around an address, and tabs and newlines inside it
_TAB_OR_NEWLINE = re.compile(r"[\t\r\n]")
_INSTEAD = {"file": "serve the folder on localhost: python3 -m http.server --bind 127.0.0.1"}
_PLAIN_SUFFIXES = (".localhost", ".test", ".local")


def check_url(url: str, forbidden_ports: Collection[int] = (), schemes: Collection[str] = ()) -> str:
    """The canonical form of an address to open, or `denied` (`bad_request` if it is no address at all).

    What comes without a scheme gets one: `http` for loopback, IP addresses, single labels and named ports, else
    `https`. `forbidden_ports` are ports of this machine that no page may reach: the daemon's own. `schemes` are
    those beside http and https that a person's rules name, without which none is known here.
    """
    text = _TAB_OR_NEWLINE.sub("", url.strip(_SPACE))
    if not text:
        raise Failure("bad_request", "the url is empty")
    if len(text) > _MAX_CHARS:
        raise Failure("bad_request", f"the url is longer than {_MAX_CHARS} characters")
    if text.lower() == "about:blank":
        return "about:blank"
    if found := _SCHEME.match(text):
        scheme = (found[1] or found[2]).lower()
        if scheme in schemes:
            return _href(text)
        if scheme not in ("http", "https"):
            raise _denied(
                f"{scheme}: addresses cannot be opened, only http, https and about:blank", _INSTEAD.get(scheme)
            )
    else:
        text = _with_scheme(text.removeprefix("//"))
    parsed = _parse(text)
    _check_host(parsed, forbidden_ports)
    return parsed.href


def authority(url: str) -> tuple[str, int]:
    """Host (an IPv6 address without its brackets) and port of an address that `check_url` has let pass."""
    parsed = ada_url.URL(url)
    return parsed.hostname.strip("[]").rstrip("."), int(parsed.port or (443 if parsed.protocol == "https:" else 80))


def forbidden(address: Address) -> str:
    """Why no page may ever reach this address; empty if one may."""
    inner = unwrap(address)
    if inner in _METADATA:
        return f"{inner} is a cloud metadata address"
    if inner.is_link_local:
        return f"{inner} is a link-local address"
    return ""


def unwrap(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that stands for it (mapped, compatible, 6to4, NAT64)."""
    if isinstance(address, IPv4Address):
        return address
    if inner := address.ipv4_mapped or address.sixtofour:
        return inner
    value = int(address)
    if address in _NAT64 or 1 < value < 1 << 32:
        return IPv4Address(value & 0xFFFFFFFF)
    return address


def is_loopback(address: Address) -> bool:
    """Whether a connection to it stays on this machine; the unspecified address connects to loopback."""
    inner = unwrap(address)
    return inner.is_loopback or inner.is_unspecified


def is_local_name(host: str) -> bool:
    """`localhost` and everything below it is loopback, whatever a DNS server says (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def is_metadata_name(host: str) -> bool:
    return host in _METADATA_NAMES


@lru_cache(maxsize=2048)
def literal(host: str) -> Address | None:
    """The address that a host spells out, brackets or not; None for a name."""
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _with_scheme(text: str) -> str:
    if text[:1] in ("/", "\\"):  # the parser would skip slashes and take a path for a host
        raise Failure("bad_request", f"{text[:200]!r} is a path; give the whole address")
    parsed = _parse(f"http://{text}")
    host = parsed.hostname.rstrip(".")
    plain = "." not in host or literal(host) is not None or host.endswith(_PLAIN_SUFFIXES)
    # A port other than 443 on a bare name is nearly always a development server without TLS.
    named_port = parsed.port not in ("", "443")
    return f"{'http' if plain or named_port or text.partition('/')[0].endswith(':80') else 'https'}://{text}"


def _href(text: str) -> str:
    try:
        return ada_url.URL(text).href
    except ValueError:
        raise Failure("bad_request", f"{text[:200]!r} is not a valid address") from None


def _parse(text: str) -> ada_url.URL:
    parsed = ada_url.URL(_href(text))
    if not parsed.hostname or "*" in parsed.hostname:  # which Chrome reads in a way of its own (M)
        raise Failure("bad_request", f"{text[:200]!r} names no host")
    return parsed


def _check_host(parsed: ada_url.URL, forbidden_ports: Collection[int]) -> None:
    host = parsed.hostname.rstrip(".")
    address = literal(host)
    if is_metadata_name(host):
        raise _denied(f"{host} is a cloud metadata service")
    if address is not None and (why := forbidden(address)):
        raise _denied(why)
    local = is_local_name(host) or (address is not None and is_loopback(address))
    port = int(parsed.port or (443 if parsed.protocol == "https:" else 80))
    if local and port in forbidden_ports:
        raise _denied(f"{host}:{port} is Pilothouse itself")


def _denied(why: str, instead: str | None = None) -> Failure:
    return Failure("denied", why, details={"rule": "built in"}, suggestions=[instead] if instead else [])
