"""The envelope in which text of a page reaches a model: it names where the text is from, and the page cannot end it.

Above: telling. Below: nothing.

    <page 483920 shop.test>
    … whatever the page says …
    </483920>

The number is new for each answer and is chosen after the text: it occurs nowhere in it. `https://` goes without
saying, and so does an address with which the text begins.
"""

import secrets
from urllib.parse import urlsplit

_TRIES = 100


def enveloped(page: str, url: str = "") -> str:
    """The text of a page between two lines that only we can have written."""
    number = _unused(page)
    origin = origin_of(url)
    where = "" if not origin or page.startswith(f"{origin}/") else f" {origin.removeprefix('https://')}"
    return f"<page {number}{where}>\n{page}\n</{number}>"


def origin_of(url: str) -> str:
    """Scheme, host and port; of addresses without a host the scheme alone."""
    try:
        parts = urlsplit(url[:2000])
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    if not host:
        return f"{parts.scheme}:" if parts.scheme else ""
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + (f":{port}" if port else "")


def _unused(page: str) -> str:
    """Six digits are two tokens. A page that holds them all is answered with something longer."""
    for _ in range(_TRIES):
        number = str(100_000 + secrets.randbelow(900_000))
        if number not in page:
            return number
    return secrets.token_hex(16)
