"""PDFs in Chrome's own viewer, where nobody can read them: what is told in their place, and what helps instead.

Above: navigate, snapshot, reading, telling. Below: tab, network. The headless shell has no viewer; it downloads them.
"""

from pilothouse.browser.frames import Frame
from pilothouse.browser.tab import Tab

DOWNLOAD = "Object.assign(document.createElement('a'), {href: location, download: 'document.pdf'}).click()"


def note(tab: Tab, frame: Frame | None = None) -> str:
    """That the page, or a frame in it, is a PDF, and what to do; empty if it is none."""
    shown = frame or tab.frames.main
    request = tab.network.by_loader(shown.loader_id)
    if request is None or request.mime_type != "application/pdf" or shown.unreachable:
        return ""
    told = "a PDF in Chrome's viewer, whose text cannot be read here: screenshot shows it"
    return told if frame and frame.parent else f'{told}, evaluate_js("{DOWNLOAD}") downloads it'


def line(tab: Tab, frame: Frame) -> str:
    """What stands for it wherever a page is read."""
    return f"({told})" if (told := note(tab, frame)) else ""
