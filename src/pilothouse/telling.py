"""What a caller is told: the result or the error, completed with news nobody has heard yet, cleaned and redacted.

Above: the gate. Below: call, guard's redaction, result.
"""

import time
from typing import Any

import msgspec

from pilothouse.browser.navigate import short
from pilothouse.browser.tab import Tab
from pilothouse.browser.watch import Event
from pilothouse.call import Answer, Visit
from pilothouse.errors import Failure
from pilothouse.guard.redact import REGISTERED, SAID, SHOWN, Degree, redact_text, redact_tree
from pilothouse.result import Result, clean, clean_tree
from pilothouse.tool import Tool

EVENTS_SHOWN = 8


def completed(visit: Visit, result: Result[Any]) -> Answer:
    assert visit.tool
    news: dict[str, Any] = {}
    lines = [result.text] if result.text else []
    if visit.is_new and visit.session:
        news["session"] = visit.session.id
        lines.append(f"session: {visit.session.id}")
        if visit.call.caller.defaults.again:
            lines.append("Pilothouse was started anew: the tabs, cookies and refs of before are gone")
    _add_news(visit, lines, news)
    degree = _degree(visit.tool)
    data, page = degree.tree(clean_tree(msgspec.to_builtins(result.data))), degree.text(clean(result.page))
    text = redact_text(clean("\n".join(lines)))
    return Answer(
        tool=visit.call.tool,
        text="\n".join(part for part in (text, page) if part),
        data={**data, **redact_tree(clean_tree(news))},
        images=result.images,
        session=visit.session.id if visit.session else "",
    )


def _degree(tool: Tool) -> Degree:
    """How much an answer loses. Each step of a larger tool has been through here by itself."""
    return REGISTERED if tool.reveals or tool.runner_name else SHOWN if tool.shows else SAID


def _add_news(visit: Visit, lines: list[str], data: dict[str, Any]) -> None:
    """What changed and what happened that no result has told of yet."""
    session, tab = visit.session, visit.tab
    if session is None:
        return
    if tab and not tab.closed and tab.url != tab.told_url:
        tab.told_url = data["url"] = tab.url
        if short(tab.url) not in "\n".join(lines):
            lines.append(f'now at {short(tab.url)} "{tab.title}"')
    events = [event for event in session.watch.unseen() if event.kind != "navigation" and not _is_hidden(event, visit)]
    if events:
        data["events"] = [msgspec.to_builtins(event) for event in events[-50:]]
        lines += _event_lines(events, tab, {one.name: one.url for one in session.tabs})


def _is_hidden(event: Event, visit: Visit) -> bool:
    return event.tab in visit.hidden and event.kind in ("dialog", "console_error")


def failed(visit: Visit, failure: Failure) -> Answer:
    tab = visit.tab
    metadata: dict[str, Any] = {"tool": visit.call.tool[:80], "timestamp": int(time.time() * 1000)}
    if tab:
        metadata |= {"tab": tab.name, "url": tab.url}
    data: dict[str, Any] = {"error": failure.to_dict(**metadata)}
    lines = [failure.to_text()]
    if failure.details.get("candidates"):
        lines += ["nearest on the page:", *failure.details["candidates"]]
    if failure.code == "dialog_open":
        lines.append(f'it says "{failure.details["message"]}"')
    _add_news(visit, lines, data)
    return Answer(
        tool=visit.call.tool,
        text=redact_text(clean("\n".join(lines))),
        data=redact_tree(clean_tree(data)),
        failed=True,
        status=failure.status,
        session=visit.session.id if visit.session else "",
    )


def _event_lines(events: list[Event], tab: Tab | None, urls: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for event in events[-EVENTS_SHOWN:]:
        where = f" in {event.tab}" if tab and event.tab != tab.name and event.kind != "tab_opened" else ""
        line = f"{event.kind.replace('_', ' ')}{where}: {event.text}"
        if event.kind == "dialog":
            line += " (answer with handle_dialog)"
        if event.kind == "tab_opened" and event.tab in urls:
            line += f": {urls[event.tab] or 'still empty'}"
        if line not in lines:
            lines.append(line)
    if len(events) > EVENTS_SHOWN:
        lines.insert(0, f"({len(events) - EVENTS_SHOWN} earlier events left out)")
    return lines
