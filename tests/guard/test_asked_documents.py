"""Who waits for which answer: documents by tab and address, connections by host and port."""

import asyncio

from pilothouse.browser.asking import Asking
from pilothouse.guard.policy import Decision, Question
from tests.guard.test_border import Person, opened
from tests.guard.views import ByHand
from tests.promises import promise

pytestmark = promise("D04", "D07")

URL = "http://new.test:81/x"


async def test_one_question_for_one_document_and_its_host_waits():
    person, asking = Person("wait"), Asking()
    _, border = opened(ByHand([], ask=["new.test"]), person)
    twice = [asyncio.ensure_future(asking.judged(border, "tab", URL)) for _ in range(2)]
    await person.heard.wait()
    assert (asking.about("tab"), asking.about("another")) == (URL, "")
    waits = asyncio.ensure_future(asking.answered(border, "new.test", 81))
    await asyncio.wait_for(asking.answered(border, "new.test", 80), 5)  # nobody is being asked about that one
    assert not waits.done()
    person.go.set()
    assert await asyncio.gather(*twice) == [None, None]
    await asyncio.wait_for(waits, 5)
    assert asking.about("tab") == ""
    assert len(person.asked) == 1


async def test_one_yes_is_enough_for_the_host():
    """The other question is still open; its answer could not close the host again."""
    first, second = asyncio.Event(), asyncio.Event()
    answers = {URL: first, f"{URL}2": second}

    class Slow(Person):
        async def __call__(self, question: Question, decision: Decision) -> None:
            await answers[question.urls[0]].wait()

    asking = Asking()
    _, border = opened(ByHand([], ask=["new.test"]), Slow())
    open_ones = [asyncio.ensure_future(asking.judged(border, f"tab of {url}", url)) for url in answers]
    waits = asyncio.ensure_future(asking.answered(border, "new.test", 81))
    await asyncio.sleep(0)
    first.set()
    await asyncio.wait_for(waits, 5)
    assert not border.asks_about("new.test", 81)
    second.set()
    await asyncio.gather(*open_ones)


async def test_a_no_ends_the_wait():
    asking = Asking()
    _, border = opened(ByHand([], ask=["new.test"]), Person("no"))
    judged = asyncio.ensure_future(asking.judged(border, "tab", URL))
    await asyncio.wait_for(asking.answered(border, "new.test", 81), 5)
    refusal = await judged
    assert refusal
    assert refusal.why == "a person said no"
    assert border.asks_about("new.test", 81)


async def test_a_tab_waits_for_one_document():
    """A page that goes from place to place leaves no questions behind; going back to one asks anew."""
    withdrawn: list[str] = []

    class Waiting(Person):
        async def __call__(self, question: Question, decision: Decision) -> None:
            try:
                await super().__call__(question, decision)
            except asyncio.CancelledError:
                withdrawn.extend(question.urls)
                raise

    asking, person = Asking(), Waiting("wait")
    _, border = opened(ByHand([], ask=["one.test", "two.test"]), person)
    one, two = "http://one.test/", "http://two.test/"
    judged = []
    for url in (one, two, one):
        judged.append(asyncio.ensure_future(asking.judged(border, "tab", url)))
        await asyncio.wait_for(person.heard.wait(), 5)
        person.heard.clear()
    others = asyncio.ensure_future(asking.judged(border, "another", two))
    await asyncio.wait_for(person.heard.wait(), 5)
    assert withdrawn == [one, two]
    for refused in await asyncio.gather(*judged[:2]):
        assert refused
        assert "went elsewhere" in refused.why
    assert asking.about("tab") == one
    asking.left("tab")
    refused = await judged[2]
    assert refused
    assert asking.about("tab") == ""
    person.go.set()
    assert await others is None, "the question of another tab was not touched"
