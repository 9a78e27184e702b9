"""Pages of the person's Chrome that no agent opens, whatever the policy lists. The extension holds to the same list.

Above: relay. Below: nothing. An agent at an extension's page could press its own Approve button; Chrome's pages change
the browser itself; the Web Store installs more of both.
"""

import re
import unicodedata
from urllib.parse import unquote, urlsplit

_SCHEMES = {"http", "https", "file", "data", "blob"}
_BLANK = {"", "about:blank", "about:srcdoc"}
_STORES = {"chromewebstore.google.com", "microsoftedge.microsoft.com", "addons.opera.com"}
_WEB = re.compile(r"^(https?):/*", re.IGNORECASE)  # Chrome takes any number of slashes for two
_DOTS = str.maketrans("\u3002\uff61", "..")


def is_forbidden(url: str) -> bool:
    if url in _BLANK:
        return False
    try:
        parts = urlsplit(_WEB.sub(r"\1://", url.strip().replace("\\", "/")))
        host = _as_chrome_reads(parts.hostname or "")
    except ValueError:
        return True
    if parts.scheme == "blob":
        made_by = url.strip()[len("blob:") :]
        return not made_by.startswith("null/") and is_forbidden(made_by)  # of a page without an origin, as data: is
    if parts.scheme not in _SCHEMES or host in _STORES:
        return True
    return host == "chrome.google.com" and parts.path.startswith("/webstore")


def _as_chrome_reads(host: str) -> str:
    return unicodedata.normalize("NFKC", unquote(host)).translate(_DOTS).rstrip(".").lower()
