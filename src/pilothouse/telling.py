"""What a caller is told: the result or the error, completed with news nobody has heard yet, cleaned and redacted.

Above: the gate. Below: call, guard's redaction, envelope, result. Lines of ours quote what a page says, each in one
line; a page's own text stands in an envelope.
"""

import time
from typing import Any

import msgspec

from pilothouse.browser import unreached, viewer
from pilothouse.browser.session import Session
from pilothouse.browser.tab import Tab, taken
from pilothouse.browser.watch import Event
from pilothouse.call import Answer, Visit
from pilothouse.envelope import enveloped
from pilothouse.errors import Failure
from pilothouse.guard.redact import REGISTERED, SAID, SHOWN, Degree, redact_text, redact_tree
from pilothouse.result import Result, clean, clean_tree, counted, plain_url, quoted
from pilothouse.tool import Access, Tool

EVENTS_SHOWN = 8
DIALOG_CHARS = 500
EVENT_CHARS = 400


def completed(visit: Visit, result: Result[Any]) -> Answer:
    assert visit.tool
    news: dict[str, Any] = {}
    lines = [result.text] if result.text else []
    _add_beginning(visit, lines, news)
    _add_news(visit, lines, news)
    _note_done(visit, result)
    degree = _degree(visit.tool, result)
    data, page = degree.tree(clean_tree(msgspec.to_builtins(result.data))), degree.text(clean(result.page))
    text = redact_text(clean("\n".join(lines)))
    return Answer(
        tool=visit.call.tool,
        text="\n".join(part for part in (text, _wrapped(visit.tab_of(result), page)) if part),
        data={**data, **redact_tree(clean_tree(news))},
        images=result.images,
        session=visit.session.id if visit.session else "",
        tab=visit.tab_name,
    )


def _note_done(visit: Visit, result: Result[Any]) -> None:
    """What comes from now on, in the window of what was done, is told with it in a later answer."""
    mark = visit.tab.mark if visit.tab else None
    if mark and not mark.did and visit.tool and visit.tool.access is not Access.READ:
        mark.did = getattr(result.data, "done", "") or visit.tool.name


def _degree(tool: Tool, result: Result[Any]) -> Degree:
    """How much an answer loses. Each step of a larger tool has been through here by itself."""
    if tool.reveals or tool.runner_name:
        return REGISTERED
    return SHOWN if tool.shows or getattr(result.data, "snapshot", "") else SAID


def _wrapped(tab: Tab | None, page: str) -> str:
    return enveloped(page, tab.url if tab else "") if page else ""


def _add_beginning(visit: Visit, lines: list[str], data: dict[str, Any]) -> None:
    """A session that the call opened, and what went with the daemon of before: whether the call succeeded or not."""
    if visit.is_new and visit.session:
        data["session"] = visit.session.id
        lines.append(f"session: {visit.session.id}")
        if limits := visit.session.limits:
            data["limits"] = limits
            lines.append(limits)
    if visit.comes_back:
        browser = visit.session.options.browser if visit.session else visit.call.caller.defaults.browser
        gone = "session and its refs" if browser == "extension" else "session, its tabs, cookies and refs"
        lines.append(f"Pilothouse was started anew: the {gone} of before are gone")


def _add_news(visit: Visit, lines: list[str], data: dict[str, Any], failure: Failure | None = None) -> None:
    """What changed and what happened that no result has told of yet."""
    session, tab = visit.session, visit.tab
    if session is None:
        return
    for one in session.tabs:
        one.complaints.sum_up()
    news = [event for event in session.watch.unseen() if not _is_hidden(event, visit)]
    if tab and not tab.closed:
        came = (one.after for one in reversed(news) if one.kind == "navigation" and one.tab == tab.name)
        _add_place(tab, lines, data, after=next(came, ""))
    events = [event for event in news if event.kind != "navigation"]
    if events:
        data["events"] = [msgspec.to_builtins(event) for event in events[-50:]]
        said = _said(events, visit, failure)
        lines += [f"it came after {said.after}"] if said and said.after else []
        lines += _event_lines([event for event in events if event is not said], tab, session)


def _said(events: list[Event], visit: Visit, failure: Failure | None) -> Event | None:
    """The dialog that the call failed at: its failure says all that the event would."""
    if failure is None or failure.code != "dialog_open":
        return None
    return next((one for one in reversed(events) if one.kind == "dialog" and one.tab == visit.tab_name), None)


def _add_place(tab: Tab, lines: list[str], data: dict[str, Any], after: str) -> None:
    """Where the tab is now, `after` what, and if what is there could not be loaded, why."""
    why = unreached.why(tab)
    is_missed = bool(why) and tab.document.loader_id != tab.told_missed
    if tab.url == tab.told_url and not is_missed:
        return
    data["url"] = tab.url
    said, place = "\n".join(lines), plain_url(tab.url, 300)
    if is_missed and why not in said:
        data["not_loaded"] = why
        lines.append(f"now at {place}, which could not be loaded: {why}")
    elif place not in said:
        pdf = viewer.note(tab)
        came = f", after {after}" if after else ""
        lines.append(f"now at {place} {quoted(tab.title)}{came}{f': {pdf}' if pdf else ''}")
    tab.place_told()


def _is_hidden(event: Event, visit: Visit) -> bool:
    return event.tab in visit.hidden


def failed(visit: Visit, failure: Failure) -> Answer:
    tab, failure = visit.tab, _honest(visit, failure)
    metadata: dict[str, Any] = {"tool": visit.call.tool[:80], "timestamp": int(time.time() * 1000)}
    if tab:
        metadata |= {"tab": tab.name, "url": tab.url}
    data: dict[str, Any] = {"error": failure.to_dict(**metadata)}
    lines = [failure.to_text()]
    if failure.code == "dialog_open":
        lines.append(_dialog_says(failure.details))
    lines += _for_policy(failure)
    _add_beginning(visit, lines, data)
    _add_news(visit, lines, data, failure)
    text, page = redact_text(clean("\n".join(lines))), redact_text(clean("\n".join(_near(failure))))
    return Answer(
        tool=visit.call.tool,
        text="\n".join(part for part in (text, _wrapped(visit.tab, page)) if part),
        data=_with_schema(redact_tree(clean_tree(data)), failure),
        images=failure.images,
        failed=True,
        status=failure.status,
        session=visit.session.id if visit.session else "",
        tab=visit.tab_name,
    )


def _dialog_says(details: dict[str, Any]) -> str:
    if details["message"]:
        default = f", default {quoted(details['default'], 100)}" if details.get("default") else ""
        return f"it says {quoted(details['message'], DIALOG_CHARS)}{default}"
    return "it asks whether to leave the page" if details["kind"] == "beforeunload" else "it says nothing"


def _with_schema(data: dict[str, Any], failure: Failure) -> dict[str, Any]:
    """A schema of ours stays one: an argument that is called `token` is described there, not given."""
    if schema := failure.details.get("expected"):
        error = data["error"]
        return {**data, "error": {**error, "details": {**error["details"], "expected": SHOWN.tree(schema)}}}
    return data


def _honest(visit: Visit, failure: Failure) -> Failure:
    """A browser that went away in the middle of a tool may come back with what the tool did: nobody is to believe that
    nothing was done because the last thing that was asked found it gone."""
    tool, session = visit.tool, visit.session
    if failure.code == "tab_closed" and visit.tab and visit.tab.withdrawn:
        return taken(f"{visit.tab.withdrawn} during the call")
    lives_on = session is not None and session.options.browser == "extension"
    may_have_run = visit.acting and lives_on and tool and tool.access is not Access.READ
    if failure.code == "browser_gone" and session and session.end:
        said = f"{session.end.message}; {tool.name} may have run" if tool and may_have_run else session.end.message
        return Failure(session.end.code, said, suggestions=session.end.suggestions, images=failure.images)
    if failure.code != "browser_gone" or not (tool and may_have_run):
        return failure
    return Failure(
        failure.code,
        failure.message if "may_have_run" in failure.details else f"{failure.message}; {tool.name} may have run",
        details={**failure.details, "may_have_run": True},
        suggestions=["look at the page before you repeat anything"],
        retryable=False,
        images=failure.images,
    )


def _for_policy(failure: Failure) -> list[str]:
    """What a person could write into policy.toml; it may name an address of the page's."""
    line = failure.details.get("line") if failure.code == "denied" else None
    if not isinstance(line, str):
        return []
    shown = "".join(one if one.isprintable() or one == "\n" else "?" for one in line)
    return ["the line for policy.toml:", *(f"    {part}" for part in shown.split("\n"))]


def _near(failure: Failure) -> list[str]:
    """What the page has instead of what was asked for, or too often; and why a person is asked, in the page's words."""
    if failure.code == "approval_pending" and (why := failure.details.get("why")):
        return [f"asked because: {why}"]
    candidates = failure.details.get("candidates")
    what = "on the page:" if failure.code == "ambiguous" else "nearest on the page:"
    return [what, *candidates] if candidates else []


def _event_lines(events: list[Event], tab: Tab | None, session: Session) -> list[str]:
    """The newest, each once with how often it happened; the others are counted."""
    often: dict[str, int] = {}
    for event in events:
        line = _event_line(event, tab, session)
        often[line] = often.pop(line, 0) + event.count
    lines = [f"{line} x{count}" if count > 1 else line for line, count in often.items()]
    if left := sum(list(often.values())[:-EVENTS_SHOWN]):
        return [f"({counted(left, 'earlier event')} left out)", *lines[-EVENTS_SHOWN:]]
    return lines


def _event_line(event: Event, tab: Tab | None, session: Session) -> str:
    where = f" in {event.tab}" if tab and event.tab not in ("", tab.name) and event.kind != "tab_opened" else ""
    said = quoted(event.text, EVENT_CHARS) if event.kind == "console_error" else event.text
    after = f" after {event.after}" if event.after else ""
    line = f"{event.kind.replace('_', ' ')}{where}{after}: {said}"
    if event.kind == "dialog":
        return f"{line} (answer with handle_dialog)"
    opened = next((one for one in session.tabs if one.name == event.tab), None)
    if event.kind == "tab_opened" and opened:
        url = opened.route.bound_for or opened.url
        current = session.current
        stays = f" ({current.name} stays current)" if current and current is not opened else ""
        return f"{line}{stays}: {'still empty' if url == 'about:blank' else plain_url(url)}"
    return line
