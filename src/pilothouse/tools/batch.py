"""Batch: several steps in one call."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse.browser.session import Session
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, Progress, Runner, tool


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    args: dict[str, Any] = {}


class Steps(msgspec.Struct):
    results: list[dict[str, Any]]


@tool(
    Access.WRITE,
    core=True,
    queued=False,
    live=False,
    alone="a batch cannot hold a batch",
    example={"steps": [{"tool": "press_key", "args": {"key": "Tab"}}, {"tool": "get_page_text"}]},
)
async def batch(
    session: Session,
    steps: Annotated[list[Step], Meta(min_length=1, max_length=50)],
    run: Runner,
    progress: Progress,
) -> Result[Steps]:
    """Run steps in order; stops at the first failure."""
    results: list[dict[str, Any]] = []
    lines: list[str] = []
    for index, step in enumerate(steps):
        await progress(index, len(steps), step.tool)
        done = await run(step.tool, step.args)
        results.append({"tool": step.tool, **done.data})
        if done.failed:
            raise _stopped(index, len(steps), step.tool, done.data["error"], lines, results)
        gap = "\n" if "\n" in done.text else " "
        lines.append(f"{index + 1}. {step.tool}:{gap}{done.text}")
    return Result("\n".join(lines), Steps(results))  # each step has put the page's text into an envelope already


def _stopped(
    index: int, count: int, name: str, error: dict[str, Any], lines: list[str], results: list[dict[str, Any]]
) -> Failure:
    details, suggestions = {**error["details"], "step": index + 1, "results": results}, list(error["suggestions"])
    if index and error["code"] == "approval_pending":  # who repeats the whole call would do these steps again
        details.pop("client_may_answer", None)
        suggestions = ["ask the user to answer: `pilothouse approvals`, or the dashboard"]
    if index:
        suggestions.append(f"steps 1 to {index} are done; go on from step {index + 1}")
    message = "\n".join([f"step {index + 1} of {count} ({name}) failed: {error['message']}", *lines])
    return Failure(error["code"], message, details=details, suggestions=suggestions)
