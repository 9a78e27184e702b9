"""One session's border without a browser: what is judged, who is asked, what a change undoes."""

import asyncio

import pytest

from pilothouse.errors import Failure
from pilothouse.guard import border as module
from pilothouse.guard.border import PAGE, Border, Borders
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.policy import Decision, Policy, Question
from pilothouse.guard.rules import read_rules
from tests.guard.views import ByHand
from tests.promises import promise

pytestmark = promise("D04", "D05")


class Person:
    """Answers, or lets wait until somebody says what."""

    def __init__(self, says: str = "yes") -> None:
        self.says = says
        self.asked: list[Question] = []
        self.heard = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, question: Question, decision: Decision) -> None:
        self.asked.append(question)
        self.heard.set()
        if self.says == "wait":
            await self.go.wait()
        if self.says == "no":
            raise Failure("approval_denied", "a person said no")


def opened(view: ByHand, judge: Person | None = None) -> tuple[Borders, Border]:
    borders = Borders(lambda browser, mode: view, judge or Person())
    return borders, borders.open("s1", caller="agent", browser="isolated", mode="auto")


async def test_documents_are_allowed_denied_or_asked_about():
    person = Person()
    _, border = opened(ByHand(["good.test"], ask=["new.test"]), person)
    assert await border.document("http://good.test/") is None
    refusal = await border.document("https://evil.test/x")
    assert refusal
    assert (refusal.why, refusal.rule) == ("evil.test is not allowed", "the rule for evil.test")
    assert not person.asked
    assert await border.document("http://new.test/a") is None
    (question,) = person.asked
    assert (question.tool, question.session, question.caller, question.urls) == (
        PAGE, "s1", "agent", ("http://new.test/a",)
    )  # fmt: skip


async def test_who_was_asked_is_asked_once_and_the_network_opens():
    person = Person()
    _, border = opened(ByHand(["good.test"], ask=["new.test"]), person)
    assert border.host("new.test", 80)
    await border.document("http://new.test/a")
    assert await border.document("http://new.test/b") is None
    assert len(person.asked) == 1
    assert border.host("new.test", 443) is None
    assert border.host("new.test", 8080), "that is another domain"
    border.expel("new.test")
    assert border.host("new.test", 80)


async def test_a_no_and_a_silence_deny(monkeypatch: pytest.MonkeyPatch):
    _, border = opened(ByHand([], ask=["new.test"]), Person("no"))
    refusal = await border.document("http://new.test/")
    assert refusal
    assert refusal.why == "a person said no"
    assert border.host("new.test", 80)
    monkeypatch.setattr(module, "HOLD_S", 0.01)
    _, border = opened(ByHand([], ask=["new.test"]), Person("wait"))
    refusal = await border.document("http://new.test/")
    assert refusal
    assert "in time" in refusal.why


async def test_a_yes_that_comes_after_the_rule_changed_is_none():
    person, view = Person("wait"), ByHand([], ask=["new.test"])
    _, border = opened(view, person)
    asking = asyncio.ensure_future(border.document("http://new.test/"))
    await person.heard.wait()
    view.become([])
    person.go.set()
    refusal = await asking
    assert refusal
    assert refusal.why == "new.test is not allowed"


async def test_a_change_of_the_policy_undoes_what_was_admitted_and_is_told():
    view = ByHand(["good.test"], ask=["new.test"])
    borders, border = opened(view)
    told: list[str] = []
    stop = border.follow(lambda: told.append("changed"))
    await border.document("http://new.test/")
    borders.changed()
    assert border.host("new.test", 80) is None
    view.become(["good.test"])
    borders.changed()
    assert border.host("new.test", 80)
    view.become(["good.test"], ask=["new.test"])
    assert border.host("new.test", 80), "what was taken back does not come back by itself"
    stop()
    border.close()
    borders.changed()
    assert told == ["changed", "changed"]
    assert borders.of("s1") is None


def test_a_page_loads_from_its_own_list_only():
    _, border = opened(ByHand(resources={"a.test": ["cdn.test", "*.img.test", "api.test:8443"], "b.test": ["*"]}))
    page = "http://a.test/page"
    for url in ("http://cdn.test/x", "https://x.img.test/", "https://api.test:8443/", "http://a.test/own", "data:,x"):
        assert border.resource(url, page) is None, url
    for url in ("http://other.test/", "https://img.test/", "https://api.test/", "http://a.test:81/"):
        refusal = border.resource(url, page)
        assert refusal, url
        assert "a.test may not load from" in refusal.why
    assert border.resource("http://other.test/", "http://b.test/") is None
    assert border.resource("http://other.test/", "http://no-list.test/") is None


async def test_what_a_page_made_itself_is_of_its_origin():
    _, border = opened(ByHand(["good.test"], resources={"good.test": ["cdn.test"]}))
    assert await border.document("blob:http://good.test/1234") is None
    assert border.refused("blob:http://evil.test/1234")
    assert border.resource("http://other.test/", "blob:http://good.test/1234")
    for url in ("data:text/html,x", "file:///etc/passwd", "chrome://version", "blob:null/12"):
        assert border.refused(url), url


def test_nobody_is_asked_for_what_a_page_loads():
    """Only documents are worth a question: an unknown host of a picture is refused."""
    person = Person()
    _, border = opened(ByHand(["good.test"], ask=["new.test"]), person)
    assert border.host("new.test", 80)
    assert not person.asked


async def test_whether_a_person_has_to_say_yes_first():
    _, border = opened(ByHand(["good.test"], ask=["new.test"]))
    assert border.asks("http://new.test/a")
    assert border.asks("blob:http://new.test/1")
    assert border.asks_about("new.test", 80)
    unasked = border.unasked("http://new.test/a")
    assert unasked
    assert unasked.why == "nobody has said yes to new.test"
    for url in ("http://good.test/", "http://evil.test/", "data:,x"):
        assert not border.asks(url)
        assert border.unasked(url) is None
    assert not border.asks_about("evil.test", 443)
    await border.document("http://new.test/a")
    assert not border.asks("https://new.test/b")
    assert not border.asks_about("new.test", 443)
    assert border.asks_about("new.test", 8080), "that is another domain"


def held_to(text: str, keepers: Keepers | None = None) -> tuple[Policy, Border]:
    """A border of a real policy, and a person who says yes."""
    policy = Policy(read_rules(text), keepers=keepers)
    borders = Borders(policy.view, Person())
    policy.on_change(borders.changed)
    return policy, borders.open("s1", caller="agent", browser="isolated", mode="auto")


CAREFUL = 'template = "careful"\n'
NOT_443 = CAREFUL + '[[rules]]\nhost = "h.test:443"\nread = false\n'


async def test_a_yes_to_one_port_opens_no_other_that_a_rule_denies():
    policy, border = held_to(NOT_443)
    assert await border.document("http://h.test/") is None
    assert border.host("h.test", 80) is None
    assert border.host("h.test", 443)
    policy.replace(read_rules(CAREFUL))
    assert border.host("h.test", 443) is None, "one yes is for the site, as it is shown"
    policy.replace(read_rules(NOT_443))
    assert border.host("h.test", 443), "and a rule that comes later closes that port alone"
    assert border.host("h.test", 80) is None


async def test_a_yes_opens_no_keeper_of_browsers():
    keepers = Keepers()
    keepers.replace(["https://grid.test/"])
    _, border = held_to(CAREFUL, keepers)
    assert await border.document("http://grid.test/") is None
    assert border.host("grid.test", 443)


@pytest.mark.parametrize(
    ("url", "port", "domain"),
    [("http://odd.test:443/", 443, "odd.test:443"), ("https://odd.test:80/", 80, "odd.test:80")],
)
async def test_an_odd_port_is_admitted_and_expelled_as_it_was_shown(url: str, port: int, domain: str):
    _, border = held_to(CAREFUL)
    assert border.asks_about("odd.test", port)
    assert await border.document(url) is None
    assert border.host("odd.test", port) is None
    assert not border.asks_about("odd.test", port)
    assert border.host("odd.test", 523 - port), "the yes was for that port"
    border.expel(domain)
    assert border.host("odd.test", port)
    assert border.asks(url)
