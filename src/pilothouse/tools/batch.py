"""Batch: several steps in one call, and the pictures that they took."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from pilothouse.browser.session import Session
from pilothouse.errors import Failure
from pilothouse.result import Image, Result
from pilothouse.tool import Access, Progress, Runner, tool

# What one answer shows: whoever reads it pays for each picture, and a client refuses a message that is too long.
MOST_PICTURES = 10
MOST_PICTURE_BYTES = 4_000_000


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
    pictures = _Pictures(session)
    for index, step in enumerate(steps):
        await progress(index, len(steps), step.tool)
        done = await run(step.tool, step.args)
        taken, note = pictures.take(done.images)
        results.append({"tool": step.tool, **done.data, **taken})
        if done.failed:
            raise _stopped(index, len(steps), step.tool, done.data["error"], lines, results, pictures.shown)
        gap = "\n" if "\n" in done.text else " "
        lines.append(f"{index + 1}. {step.tool}{note}:{gap}{done.text}")
    # Each step has put the page's text into an envelope already.
    return Result("\n".join(lines), Steps(results), images=pictures.shown)


class _Pictures:
    """The pictures of all steps, in their order: what one answer cannot show lies in files of the session."""

    def __init__(self, session: Session) -> None:
        self.shown: list[Image] = []
        self._session = session

    def take(self, images: list[Image]) -> tuple[dict[str, Any], str]:
        """What a step's data and its line say of the picture that it took."""
        told: dict[str, Any] = {}
        notes: list[str] = []
        for image in images:
            if self._fits(image):
                self.shown.append(image)
                told["picture"] = len(self.shown)
                notes.append(f"picture {told['picture']}")
            else:
                told, note = self._kept(image)
                notes.append(note)
        return told, f" ({', '.join(notes)})" if notes else ""

    def _fits(self, image: Image) -> bool:
        size = sum(len(one.data) for one in self.shown) + len(image.data)
        return len(self.shown) < MOST_PICTURES and size <= MOST_PICTURE_BYTES

    def _kept(self, image: Image) -> tuple[dict[str, Any], str]:
        try:
            path = str(self._session.files.keep(f"screenshot.{image.mime_type.rpartition('/')[2]}", image.data))
        except (Failure, OSError) as problem:  # the step is done, and so are those before it
            why = problem.message if isinstance(problem, Failure) else problem.strerror or "the disk refuses it"
            return {"lost": why}, f"too much to show here, and it could not be kept: {why}"
        return {"path": path}, f"too much to show here: kept in {path}"


def _stopped(
    index: int,
    count: int,
    name: str,
    error: dict[str, Any],
    lines: list[str],
    results: list[dict[str, Any]],
    pictures: list[Image],
) -> Failure:
    details, suggestions = {**error["details"], "step": index + 1, "results": results}, list(error["suggestions"])
    if index and error["code"] == "approval_pending":  # who repeats the whole call would do these steps again
        details.pop("client_may_answer", None)
        suggestions = ["ask the user to answer: `pilothouse approvals`, or the dashboard"]
    if index:
        suggestions.append(f"steps 1 to {index} are done; go on from step {index + 1}")
    message = "\n".join([f"step {index + 1} of {count} ({name}) failed: {error['message']}", *lines])
    return Failure(error["code"], message, details=details, suggestions=suggestions, images=pictures)
