"""A question to the user of an agent's client, as the form that MCP has for it, and what its answer says.

Above: mcp. Below: nothing. What a page or an agent wrote stands in quotes, after the words that are ours.
"""

import json
from typing import Any, cast

from pilothouse.guard.question import CHANGES

Wire = dict[str, Any]

NAME = "approval"
METHOD = "elicitation/create"
_MAX_ARGS = 1_000
_SCHEMA: Wire = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Allow it?", "enum": ["allow", "deny"], "default": "deny"}},
    "required": ["answer"],
}


def form(shown: Wire) -> Wire:
    return {"mode": "form", "message": _message(shown), "requestedSchema": _SCHEMA}


def said(response: Any) -> str:
    """`allow`, `deny`, or empty when the user closed the form or the client sent something else."""
    if not isinstance(response, dict):
        return ""
    answer = cast(Wire, response)
    if answer.get("action") == "decline":
        return "deny"
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, dict):
        return ""
    given = cast(Wire, content).get("answer")
    return given if given in ("allow", "deny") else ""


def _message(shown: Wire) -> str:
    lines = [f"Pilothouse: {_what(shown)} Risk: {shown['risk']} ({shown['rule']})."]
    if shown["why"]:
        lines.append(f"Why it is asked: {_quoted(shown['why'])}")
    for aim in shown["aims"]:
        lines.append(f"Element: {_quoted(' '.join(filter(None, (aim.get('role'), aim.get('name')))))}")
        if aim.get("leads_to"):
            lines.append(f"It leads to: {_quoted(aim['leads_to'])}")
    lines += [f"Page: {_quoted(url)}" for url in shown["urls"][:1]]
    lines.append(f"Arguments: {_quoted(shown['args'])}")
    return "\n".join(lines)


def _what(shown: Wire) -> str:
    """With the reach that a plain yes has."""
    if shown["scopes"][0] != "domain":
        return f"may the agent run {shown['tool']}, once?"
    domain = shown["domain"]
    doing = (
        f"make changes on {domain.removesuffix(CHANGES)}" if domain.endswith(CHANGES) else f"go to {domain} and read it"
    )
    return f"may the agent {doing} until this session ends? (It wants to run {shown['tool']}.)"


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_ARGS else f"{text[:_MAX_ARGS]}…"
