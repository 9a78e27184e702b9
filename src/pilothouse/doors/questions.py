"""Questions to the user of an agent's client, whose answers count as far as the configuration lets them.

Above: mcp. Below: dialog has the form, guard's approvals the question. A client of the old generation is asked while
its call runs; one of the new is given the question as the result, and answers by calling again.
"""

from typing import Any, Protocol

from pilothouse.call import Answer, Dialog
from pilothouse.doors import dialog
from pilothouse.guard.approvals import Approvals

Wire = dict[str, Any]

PATIENCE_S = 20.0  # so long a client waits for a person that hears of no progress: half of what clients give a call


class Asked(Protocol):
    """The client of one call: what it can, and what it brought along."""

    is_modern: bool
    shows_forms: bool
    hears_progress: bool
    responses: Wire
    state: str | None

    async def ask(self, method: str, params: Wire) -> Wire: ...


class Questions:
    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    async def forged(self, key: str) -> None:
        await self._approvals.client_answer("", "forged", key)

    async def take(self, client: Asked, key: str) -> bool:
        """Whether the call brings an answer to the question that the one before it was given back."""
        if not client.responses:
            return False
        said = dialog.said(client.responses.get(dialog.NAME, {}))
        await self._approvals.client_answer(client.state or "", said, key)
        return True

    def dialog(self, client: Asked) -> Dialog | None:
        if client.is_modern or not client.shows_forms:
            return None

        async def ask(shown: Wire) -> str:
            return dialog.said(await client.ask(dialog.METHOD, dialog.form(shown)))

        return ask

    def patience_s(self, client: Asked, *, returns: bool) -> float | None:
        if returns and client.is_modern and client.shows_forms and self._approvals.client_may("none"):
            return 0.0
        return None if client.hears_progress else PATIENCE_S

    def returned(self, client: Asked, answer: Answer) -> Wire | None:
        """The question as the result, if that is what the answer comes to."""
        error: Wire = answer.data["error"] if answer.failed else {}
        if error.get("code") != "approval_pending" or not error["details"].get("client_may_answer"):
            return None
        shown = self._approvals.find(error["details"]["approval"])
        if shown is None or not client.is_modern or not client.shows_forms:
            return None
        question = {"method": dialog.METHOD, "params": dialog.form(shown)}
        return {"resultType": "input_required", "inputRequests": {dialog.NAME: question}, "requestState": shown["id"]}
