"""Who may call the daemon: this machine, and one TLS proxy on another.

Above: daemon. Below: config, errors. The http door holds every connection to it.
"""

import ipaddress

from pilothouse.errors import Failure
from pilothouse.options import Server

EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # and how this machine calls who listens there


def check(server: Server) -> None:
    """Plain HTTP is for this machine only, and for one proxy that speaks TLS to the others: keys would travel in the
    clear, and any web page could be the caller."""
    if _is_loopback(server.host):
        return
    if not _is_address(server.host):
        raise Failure("bad_request", f"server.host = {server.host!r} is neither an address nor localhost")
    if not server.allowed_hosts or not _is_address(server.tls_proxy):
        raise Failure(
            "bad_request",
            f"server.host = {server.host!r} is not a loopback address; for other machines put a proxy that speaks TLS "
            "in front, give its IP address as server.tls_proxy, and the name it is called by as server.allowed_hosts",
        )


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def own_names(server: Server, port: int) -> list[str]:
    """By which programs of this machine call a server that listens at one address of it. Without the port they would be
    the names of whoever listens at port 80."""
    if _is_loopback(server.host) or server.host in EVERY_ADDRESS:
        return []
    return [f"[{server.host}]:{port}" if ":" in server.host else f"{server.host}:{port}"]


def peers(server: Server) -> list[str]:
    """The addresses that may call besides loopback."""
    return [] if _is_loopback(server.host) else [server.tls_proxy, server.host]


def as_called(host: str) -> str:
    """The address by which programs of this machine reach who listens at `host`."""
    return EVERY_ADDRESS.get(host, host)
