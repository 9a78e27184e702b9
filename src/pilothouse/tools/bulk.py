"""What is too long to read goes into a file of the session, and the answer says where.

Above: the tools that bring data. Below: browser.files.
"""

from pilothouse.browser.files import Folder

MAX_CHARS = 20_000
SHOWN_CHARS = 1_000


def bounded(folder: Folder, name: str, text: str) -> tuple[str, str, str]:
    """What to print of a text, the path of the rest, and a note about it; the last two are empty when all is shown."""
    if len(text) <= MAX_CHARS:
        return text, "", ""
    path = str(folder.keep(name, text.encode("utf-8", "replace")))
    return text[:SHOWN_CHARS] + "…", path, f"{len(text)} characters; all of it is in {path}"
