"""Dialogs: alert, confirm, prompt, beforeunload."""

from typing import Annotated

from msgspec import Meta

from pilothouse.browser.locate import HELD
from pilothouse.browser.settle import Mark, settle
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, tool
from pilothouse.tools.outcome import Showing, Want, shown


class Handled(Showing):
    kind: str
    message: str = ""
    accepted: bool = False


@tool(Access.WRITE, core=True, queued=False, live=False, shows=False, example={"accept": True})
async def handle_dialog(
    tab: Tab,
    accept: bool,
    text: Annotated[str, Meta(max_length=10_000, description="for a prompt")] | None = None,
    snapshot: Want = None,
) -> Result[Handled]:
    """Answer the open dialog."""
    dialog = tab.dialog
    if dialog is None:
        hint = "nothing blocks that tab, so go on; a dialog of another tab is answered with its name as `tab`"
        raise Failure("not_found", f"no dialog is open in {tab.name}", suggestions=[hint])
    if held := HELD.get():
        held.confirm_dialog(tab)
    mark = Mark(tab, tab.frames.main)
    await tab.answer_dialog(accept, dialog.default if text is None else text)  # as a person who only presses OK
    await settle(tab, mark)
    word = "accepted" if accept else "dismissed"
    result = Result(f"{word} the {dialog.kind}", Handled(dialog.kind, dialog.message, accept))
    return await shown(tab, result, snapshot)
