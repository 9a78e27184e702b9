"""Pages of the person's Chrome that no agent opens, whatever the policy lists. The extension holds to the same list.

Above: relay. Below: nothing. An agent at an extension's page could press its own Approve button; Chrome's pages change
the browser itself; the Web Store installs more of both.
"""

from urllib.parse import urlsplit

_SCHEMES = {"http", "https", "file", "data", "blob"}
_BLANK = {"", "about:blank", "about:srcdoc"}
_STORES = {"chromewebstore.google.com", "microsoftedge.microsoft.com", "addons.opera.com"}


def is_forbidden(url: str) -> bool:
    if url in _BLANK:
        return False
    try:
        parts = urlsplit(url.strip().replace("\\", "/"))
        host = (parts.hostname or "").rstrip(".").lower()
    except ValueError:
        return True
    if parts.scheme == "blob":
        return is_forbidden(url.strip()[len("blob:") :])
    if parts.scheme not in _SCHEMES or host in _STORES:
        return True
    return host == "chrome.google.com" and parts.path.startswith("/webstore")
