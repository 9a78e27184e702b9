"""What is too long to read goes into a file of the session, and the answer says where.

Above: the tools that bring data. Below: browser.files. A file passes no gate, so secrets are taken out here, as the
gate would do it: what `reveals` only loses those that a person registered.
"""

from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab

MAX_CHARS = 20_000
SHOWN_CHARS = 1_000


def bounded(place: Session | Tab, name: str, text: str, *, reveals: bool = False) -> tuple[str, str, str]:
    """What to print of a text, the path of the rest, and a note about it; the last two are empty when all is shown."""
    if len(text) <= MAX_CHARS:
        return text, "", ""
    text = (place.terms.redact_registered if reveals else place.terms.redact_text)(text)
    path = str(place.files.keep(name, text.encode("utf-8", "replace")))
    return text[:SHOWN_CHARS] + "…", path, f"{len(text)} characters; all of it is in {path}"
