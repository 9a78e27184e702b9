"""Every core tool on a tab that is not in front, while the tab in front keeps its renderer busy.

Without focus emulation such a tab draws no frames: input lands but never answers, and an agent clicks twice.
"""

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.flows.agent import Agent, ref_of
from tests.mcp_line import Reply
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A09", "B12")


class Back:
    """The tab in the back: every call names it."""

    def __init__(self, agent: Agent, site: PageServer, tab: str) -> None:
        self.agent, self.site, self.tab = agent, site, tab

    def do(self, tool: str, /, **args: Any) -> Reply:
        return self.agent.do(tool, tab=self.tab, **args)

    def js(self, expression: str) -> Any:
        return self.agent.js(expression, tab=self.tab)

    def see(self, *expected: str) -> str:
        return self.agent.see(*expected, tab=self.tab)

    def open(self, page: str) -> None:
        self.do("navigate", url=self.site.url(page))


def navigate(back: Back) -> None:
    back.open("small.html")
    assert back.js("document.title") == "Small"


def go_back(back: Back) -> None:
    back.open("small.html?1")
    back.open("todo.html")
    back.do("go_back")
    assert back.js("location.search") == "?1"


def get_page_state(back: Back) -> None:
    back.open("small.html")
    back.see("Small page", 'button "Go"')


def find(back: Back) -> None:
    back.open("table.html")
    assert "Radia" in back.do("find", text="Radia").text


def get_page_text(back: Back) -> None:
    back.open("table.html")
    assert "Margaret" in back.do("get_page_text").text


def click(back: Back) -> None:
    back.open("small.html")
    ref = ref_of(back.see(), "button", "Go")
    for n in range(1, 6):
        back.do("click", target=ref)
        assert back.js("clicks") == n


def hover(back: Back) -> None:
    back.open("hover.html")
    back.do("hover", target="#tip")
    assert back.js("document.getElementById('status').textContent") == "A tooltip"


def type_text(back: Back) -> None:
    back.open("form.html")
    back.do("type_text", target="#controlled", text="kept by state")
    assert back.js("values().controlled") == "kept by state"


def fill_form(back: Back) -> None:
    back.open("form.html")
    wanted = {"text": "Ada", "date": "2026-11-15", "range": "35", "color": "#ff0000", "notes": "a\nb"}
    back.do("fill_form", fields=[{"target": f"#{field}", "value": value} for field, value in wanted.items()])
    values = back.js("values()")
    assert {field: values[field] for field in wanted} == wanted


def select_option(back: Back) -> None:
    back.open("form.html")
    back.do("select_option", target="#colours", values=["Red", "Blue"])
    assert back.js("values().colours") == ["r", "b"]


def press_key(back: Back) -> None:
    back.open("keyboard.html")
    back.do("click", target="#pad")
    back.do("press_key", key="Control+k")
    assert back.js("log.includes('shortcut')")


def upload_file(back: Back) -> None:
    back.open("upload.html")
    note = {"name": "note.txt", "mime_type": "text/plain", "data": base64.b64encode(b"hello file").decode()}
    back.do("upload_file", target="#one", files=[note])
    back.see("note.txt (10")


def scroll(back: Back) -> None:
    back.open("scroll.html")
    back.do("scroll", direction="down")
    assert back.js("scrollY") > 100
    back.do("scroll", to="bottom")
    assert back.js("scrollY + innerHeight >= document.documentElement.scrollHeight - 700")


def wait_for(back: Back) -> None:
    back.open("small.html")
    back.js("void setTimeout(() => { late.textContent = 'Now'; }, 300)")
    back.do("wait_for", text="Now", timeout_ms=5000)
    assert back.js("late.textContent") == "Now"


def screenshot(back: Back) -> None:
    back.open("small.html")
    images = [part for part in back.do("screenshot").raw["content"] if part["type"] == "image"]
    assert len(base64.b64decode(images[0]["data"])) > 1000


def evaluate_js(back: Back) -> None:
    back.open("small.html")
    assert back.js("new Promise(done => requestAnimationFrame(() => done('a frame')))") == "a frame"


def get_console_logs(back: Back) -> None:
    back.open("console.html?all=1")
    assert "a warning" in back.do("get_console_logs", level=["warn"]).text


def get_network(back: Back) -> None:
    back.open("network.html")
    back.do("click", target=ref_of(back.see(), "button", "Post JSON"))
    log = back.do("get_network_log", url_pattern="/echo", method=["POST"])
    request = log.data["requests"][-1]
    assert '"hello' in back.do("get_network_request", id=request["id"]).text


def handle_dialog(back: Back) -> None:
    back.open("dialogs.html")
    assert "Sure?" in back.do("click", target=ref_of(back.see(), "button", "Confirm")).text
    back.do("handle_dialog", accept=True)
    back.see("confirm true")


def batch(back: Back) -> None:
    back.open("small.html")
    back.agent.do("batch", steps=[{"tool": "click", "args": {"target": "#go", "tab": back.tab}}] * 3)
    assert back.js("clicks") == 3


JOBS: list[Callable[[Back], None]] = [
    navigate,
    go_back,
    get_page_state,
    find,
    get_page_text,
    click,
    hover,
    type_text,
    fill_form,
    select_option,
    press_key,
    upload_file,
    scroll,
    wait_for,
    screenshot,
    evaluate_js,
    get_console_logs,
    get_network,
    handle_dialog,
    batch,
]


class Pair(NamedTuple):
    back: Back
    front: str


@pytest.fixture(scope="module")
def pair(new_agent: Callable[[], Agent], site: PageServer) -> Iterator[Pair]:
    agent = new_agent()
    agent.do("navigate", url=site.url("small.html"))
    back = agent.do("list_tabs").data["tabs"][0]["tab"]
    front = agent.do("new_tab", url=site.url("busy.html")).data["tab"]
    yield Pair(Back(agent, site, back), front)
    agent.close()


@pytest.mark.parametrize("job", JOBS, ids=[job.__name__ for job in JOBS])
def test_in_the_back(pair: Pair, job: Callable[[Back], None]) -> None:
    before = pair.back.agent.js("frames", tab=pair.front)
    began = time.monotonic()
    job(pair.back)
    assert time.monotonic() - began < 15
    drawn = f"new Promise(done => {{ const look = () => frames > {before} ? done(1) : setTimeout(look, 5); look(); }})"
    assert pair.back.agent.js(drawn, tab=pair.front) == 1, "the tab in front stood still"


def test_tabs_come_and_go_behind(pair: Pair, site: PageServer) -> None:
    agent = pair.back.agent
    third = agent.do("new_tab", url=site.url("small.html"), background=True).data["tab"]
    assert agent.js("document.title") == "Busy", "a tab in the background came to the front"
    agent.do("switch_tab", tab=third)
    assert agent.js("document.title") == "Small"
    agent.do("close_tab", tab=third)
    assert third not in [tab["tab"] for tab in agent.do("list_tabs").data["tabs"]]
    agent.do("switch_tab", tab=pair.front)
    assert agent.js("document.title") == "Busy"
