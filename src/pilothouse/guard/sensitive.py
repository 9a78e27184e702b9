"""How much is at stake in a call: by its tool, by what it points at, by the page, and by patterns of the person's own.

Above: policy. Below: words, result. The worst that is found counts.

| risk | what |
|---|---|
| high | a card number, or a card's field, is filled; a form with one is sent; something is paid, bought or transferred; an account, or all of something, is deleted, also a profile's data; whatever fits a configured pattern |
| medium | a password or a one-time code is typed, or a form with one is sent; something is deleted, sent, published or permitted; a link that is called like something of high risk; a button on a page of payment; scripts, cookies, storage, saved states, proxies, recordings, uploads, downloads |
| low | any other form is sent; settings of browsers and profiles |
| none | the rest |

A page can call its button what it likes: found is what pages say, in honest words or tricky letters.
"""  # noqa: E501 (a table)

import re
import unicodedata
from collections.abc import Iterable, Iterator
from re import Pattern
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from pilothouse.guard.numbers import luhn
from pilothouse.guard.words import bounded, folded, is_dismissal, is_wordless, meanings
from pilothouse.result import clean, quoted
from pilothouse.tool import Access

if TYPE_CHECKING:
    from pilothouse.guard.policy import Aim, Question, Risk

Found = tuple["Risk", str]

MOST_AIMS = 1000
TYPED_CHARS = 20_000
URL_CHARS = 2000
_RANK: dict["Risk", int] = {"none": 0, "low": 1, "medium": 2, "high": 3}

_TOOLS: dict[str, Found] = {
    "evaluate_js": ("medium", "runs script in the page"),
    "wait_for": ("medium", "runs script in the page"),
    "get_cookies": ("medium", "reads cookies"),
    "set_cookie": ("medium", "sets a cookie"),
    "delete_cookies": ("medium", "deletes cookies"),
    "get_storage": ("medium", "reads what the page has stored"),
    "set_storage": ("medium", "changes what the page has stored"),
    "clear_storage": ("medium", "deletes what the page has stored"),
    "save_state": ("medium", "keeps cookies and storage"),
    "load_state": ("medium", "restores cookies and storage"),
    "close_tab": ("medium", "closes a tab of the person's"),
    "open_session": ("medium", "opens a session with what others left or hear"),
    "mock_url": ("medium", "answers in the place of a site"),
    "export_har": ("medium", "keeps what went over the network"),
    "upload_file": ("medium", "gives files to the page"),
    "create_profile": ("low", "makes a profile"),
    "update_profile": ("low", "changes a profile"),
    "delete_profile": ("medium", "removes a profile"),
    "kill_browser": ("low", "ends a browser"),
}
_OPENED_WITH = {"storage_state": "restores cookies and storage", "proxy": "sends all it asks for through a proxy"}
_LOOKING = {"focus_ref", "evaluate_js"}  # what they point at is not pressed; script is a risk by itself
_MOVING = {"swipe"}  # it sends no form; a drag may: pages press what the pointer leaves, too
_TYPING = {"type_text", "slow_type", "type_ref", "fill_form", "select_option", "press_key"}
_FIELDS = {
    "textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider", "date", "time", "datetime", "month", "week",
    "color", "file",
}  # fmt: skip
_TEXTS = {"heading", "paragraph", "listitem", "row", "cell", "columnheader", "caption"}  # a click there sends nothing
_SUBMITTERS = ("submit", "image")
_PASSWORD = re.compile(r"\b(?:current|new)-password\b")
_ONE_TIME = re.compile(r"\bone-time-code\b")
_CARD_AUTOCOMPLETE = re.compile(r"\bcc-(?:number|csc|exp|exp-month|exp-year|name|given-name|family-name|type)\b")
# Wider than what redaction masks: here a false alarm costs a question, there it costs the text.
_CARD_NUMBER = re.compile(r"(?<!\d)[2-6](?:[ .\-/]?\d){12,18}(?!\d)")
# What is pressed sends a form with it, or stands beside it in a page where script does the sending.
_HELD: dict[str, tuple["Risk", str, str]] = {
    "card": ("high", "a payment card", "a payment card's field"),
    "password": ("medium", "a password", "a password field"),
    "code": ("medium", "a one-time code", "a field for a one-time code"),
    "file": ("medium", "files", "a field with files"),
}


def assess(question: "Question", patterns: Iterable[Pattern[str]] = ()) -> Found:
    """The worst that is found, and why."""
    found = [*_by_tool(question), *_by_typing(question), *_by_aims(question), *_by_pattern(question, patterns)]
    return max(found, key=lambda one: _RANK[one[0]], default=("none", ""))


# By tool


def _by_tool(question: "Question") -> Iterator[Found]:
    if question.tool == "open_session":
        for name, why in _OPENED_WITH.items():
            if name in question.args:
                yield "medium", why
    if question.access is Access.SENSITIVE:
        yield _TOOLS.get(question.tool, ("medium", f"{question.tool} is a sensitive tool"))
    if question.tool == "delete_profile" and question.args.get("data"):
        yield "high", "deletes a profile with its cookies and passwords"


# By what is typed


def _by_typing(question: "Question") -> Iterator[Found]:
    if question.tool not in _TYPING:
        return
    typed = list(_typed(question.args))
    parts = [one for one in typed if one.isdigit() and len(one) <= 6]  # a number that was cut over several fields
    if any(_holds_card(one) for one in (*typed, "".join(parts))):
        yield "high", "types a payment card's number"
    if any(one.startswith("secret:") for one in typed):
        yield "medium", "types a secret"


def _typed(args: dict[str, Any]) -> Iterator[str]:
    fields = args.get("fields")
    values = [args.get("text"), args.get("key"), args.get("values")]
    values += [one.get("value") for one in cast(list[Any], fields) if isinstance(one, dict)] if fields else []  # pyright: ignore[reportUnknownMemberType]
    for value in values:
        for one in cast(list[Any], value) if isinstance(value, list) else [value]:
            if isinstance(one, str | int | float) and not isinstance(one, bool):
                yield _plain_digits(unicodedata.normalize("NFKC", clean(str(one)[:TYPED_CHARS])))


def _plain_digits(text: str) -> str:
    return text if text.isascii() else "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text)


def _holds_card(text: str) -> bool:
    return any(luhn("".join(filter(str.isdigit, found))) for found in _CARD_NUMBER.findall(text))


# By what it points at, and where that is


def _by_aims(question: "Question") -> Iterator[Found]:
    aims = question.aims[:MOST_AIMS]
    types, presses = _means(question)
    pressed = next((aim for aim in aims if aim.role not in _FIELDS), None)
    refuses = pressed is not None and _is_refusal(pressed)
    for aim in aims:
        if aim.role in _FIELDS:
            yield from _by_field(aim) if types else ()
        elif presses:
            yield from _by_press(aim, question, answers_no=refuses)


def _by_press(aim: "Aim", question: "Question", *, answers_no: bool) -> Iterator[Found]:
    """Who presses "Cancel" does nothing of what its dialog asks about; but a form that it sends is sent."""
    refused = answers_no if aim.role == "dialog" else _is_refusal(aim)
    if not refused:
        yield from _by_words(aim)
        yield from _by_page(aim, question.urls)
    if question.tool not in _MOVING and (not refused or aim.kind in _SUBMITTERS):
        yield from _by_form(aim)


def _is_refusal(aim: "Aim") -> bool:
    return aim.role != "dialog" and is_dismissal(aim.name)


def _means(question: "Question") -> tuple[bool, bool]:
    """Whether the call may put something into a field, and whether it may set something off."""
    if question.tool in _LOOKING or (question.tool == "handle_dialog" and not question.args.get("accept")):
        return False, False
    if question.tool == "press_key":
        return _is_character(str(question.args.get("key", ""))), question.presses
    return question.tool in _TYPING, True


def _is_character(key: str) -> bool:
    """With or without modifiers: Control+v puts something into a field, too."""
    return len(key) == 1 or key[-2:-1] == "+"


def _by_field(aim: "Aim") -> Iterator[Found]:
    kinds = meanings(aim.name) | meanings(aim.purpose)
    purpose = folded(aim.purpose)
    if _CARD_AUTOCOMPLETE.search(purpose) or "card" in kinds:
        yield "high", f"fills a payment card's field{_called(aim)}"
    elif aim.kind == "password" or _PASSWORD.search(purpose):
        yield "medium", f"fills a password field{_called(aim)}"
    elif _ONE_TIME.search(purpose) or "code" in kinds:
        yield "medium", f"fills a field for a one-time code{_called(aim)}"


def _by_words(aim: "Aim") -> Iterator[Found]:
    """What nobody named in words is known by its purpose; a link only leads to where it could happen."""
    kinds = meanings(f"{aim.name} {aim.purpose}" if is_wordless(aim.name) else aim.name)
    most: Risk = "medium" if aim.role == "link" and urlsplit_path(aim.leads_to) is not None else "high"
    if "pay" in kinds or folded(aim.name).strip() == "order":
        yield most, f"may pay or buy{_called(aim)}"
    if "delete" in kinds:
        everything = "delete_all" in kinds
        yield (most if everything else "medium"), f"may delete{' all of it' if everything else ''}{_called(aim)}"
    if "send" in kinds:
        yield "medium", f"may send or publish{_called(aim)}"
    if "permit" in kinds:
        yield "medium", f"may grant a permission{_called(aim)}"
    if "submit" in kinds:
        yield "low", f"may confirm or save{_called(aim)}"
    if aim.kind == "download":
        yield "medium", f"downloads a file{_called(aim)}"


def _by_form(aim: "Aim") -> Iterator[Found]:
    if aim.role == "link" or aim.role in _TEXTS:
        return
    sends = aim.kind in _SUBMITTERS or aim.role == "form"
    # The name comes first: after "password:" it would be taken for one, and hidden.
    who = f"{quoted(aim.name)} " if aim.name else ""
    for held in aim.form[:URL_CHARS].split(","):
        if found := _HELD.get(held.strip()):
            risk, held_there, beside = found
            yield risk, f"{who}{f'sends a form that holds {held_there}' if sends else f'stands beside {beside}'}"
    if aim.kind in _SUBMITTERS:
        yield "low", f"sends a form{_called(aim)}"


def _by_page(aim: "Aim", urls: tuple[str, ...]) -> Iterator[Found]:
    """Buttons of pages that are about paying or about deleting an account; and where a form or link goes to."""
    if aim.role != "link":
        for url in {aim.url, *urls[:20]}:
            kinds = meanings(urlsplit_path(url) or "")
            if "delete_all" in kinds:
                yield "high", f"is on a page that deletes an account or all of something{_called(aim)}"
            elif "checkout" in kinds:
                yield "medium", f"is on a page of payment{_called(aim)}"
    goal = meanings(urlsplit_path(aim.leads_to) or "")
    if "delete" in goal:
        yield "medium", f"leads to an address that deletes{_called(aim)}"
    if "pay" in goal and aim.role != "link":
        yield "medium", f"leads to an address of payment{_called(aim)}"


def urlsplit_path(url: str) -> str | None:
    """Path and fragment of a web address, as words; None for any other address."""
    if not url.startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(url[:URL_CHARS])
    except ValueError:
        return ""
    return unquote(f"{parts.path} {parts.fragment}")


def _called(aim: "Aim") -> str:
    return f": {quoted(aim.name)}" if aim.name else ""


# By a person's own patterns


def _by_pattern(question: "Question", patterns: Iterable[Pattern[str]]) -> Iterator[Found]:
    """Names as they are and as they read; addresses; the tool."""
    every = list(patterns)
    if not every:
        return
    texts = [question.tool, *(url[:URL_CHARS] for url in question.urls[:20])]
    for aim in question.aims[:MOST_AIMS]:
        texts += [clean(bounded(aim.name)), folded(aim.name), aim.leads_to[:URL_CHARS], aim.url[:URL_CHARS]]
        texts += [bounded(aim.purpose)]
    one_text = "\n".join(text for text in texts if text).encode("utf-8", "replace").decode()
    for pattern in every:
        if pattern.search(one_text):
            yield "high", f"fits the pattern {quoted(pattern.pattern)}"
