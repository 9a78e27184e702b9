"""Ground truth: the walker's roles and names against Chrome's own accessibility tree, and whether everything a person
could act on is marked. Prints the numbers and every disagreement."""

from collections import Counter

import pytest
from chrome import PAGES, Chrome, serve
from judge import MINIWOB, Score

from tests.promises import promise

pytestmark = promise("A10")


@pytest.fixture(scope="module")
def miniwob_site():
    server, base = serve(MINIWOB)
    yield base
    server.shutdown()


def report(title: str, score: Score, *, least: int) -> None:
    """`least`: so many elements there are to judge; with fewer a page has not come."""
    names = 100 * score.agreed / max(score.compared, 1)
    marks = 100 * score.marked / max(score.wanted, 1)
    print(f"\n{title}: role and name {score.agreed}/{score.compared} = {names:.2f} %")
    print(f"{title}: marked {score.marked}/{score.wanted} = {marks:.2f} %")
    for note, count in Counter(score.notes).most_common(60):
        print("  ", note, f"x{count}" if count > 1 else "")
    assert names >= 99.5
    assert min(score.compared, score.wanted) >= least
    assert score.marked == score.wanted


def test_own_pages(chrome: Chrome, pages_site: str) -> None:
    score = Score()
    for file in sorted(PAGES.glob("*.html")):
        chrome.open(f"{pages_site}/{file.name}")
        score.judge(chrome, file.stem)
    report("own pages", score, least=1900)


def test_miniwob(chrome: Chrome, miniwob_site: str) -> None:
    score = Score()
    for file in sorted((MINIWOB / "miniwob").glob("*.html")):
        chrome.open(f"{miniwob_site}/miniwob/{file.name}")
        chrome.page("Math.seedrandom('7'); typeof core !== 'undefined' && core.startEpisodeReal(); 0")
        score.judge(chrome, file.stem)
    report("MiniWoB++", score, least=290)
