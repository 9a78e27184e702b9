"""Every tool that works in a session, on a tab that is not in front, while script in front keeps its renderer busy.

Without focus emulation such a tab draws no frames: input lands but never answers, and an agent clicks twice. Each job
is a call or two and what they must have done; which tools need one is read from the registry, so a new tool without a
job fails here. Jobs that open tabs come last: Chrome puts those in front, and what follows on them is no longer behind.
"""

import base64
import importlib
import json
import pkgutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pilothouse.tools
from pilothouse.tool import declared
from tests.flows.agent import Agent, ref_of
from tests.mcp_line import Reply
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A09", "B12")

for module in pkgutil.iter_modules(pilothouse.tools.__path__):
    importlib.import_module(f"pilothouse.tools.{module.name}")
TOOLS = [one for one in declared() if one.handler.__module__.startswith("pilothouse.tools.") and one.needs_session]

WELL_S = 10.0  # a third of what a call may take
SPIN_MS = 2000
# Script that lets nobody in for two seconds, again and again; frames and messages have their moment in between.
BUSY = f"""<!doctype html><title>Busy</title><h1>Busy</h1><script>
let spun = 0, from = 0;
const spin = () => {{ const end = performance.now() + {SPIN_MS}; while (performance.now() < end); spun += {SPIN_MS}; setTimeout(spin); }};
onload = () => {{ from = performance.now(); setTimeout(spin); }};
</script>"""


class Back:
    """The tab in the back: every call names it, and ends well within its deadline."""

    def __init__(self, agent: Agent, site: PageServer, tab: str) -> None:
        self.agent, self.site, self.tab = agent, site, tab
        self.called: set[str] = set()

    def do(self, tool: str, /, **args: Any) -> Reply:
        return self.beside(tool, tab=self.tab, **args)

    def beside(self, tool: str, /, **args: Any) -> Reply:
        """Of the session, not of the tab."""
        self.called.add(tool)
        began = time.monotonic()
        reply = self.agent.do(tool, **args)
        assert time.monotonic() - began < WELL_S, f"{tool} took too long"
        return reply

    def js(self, expression: str) -> Any:
        return self.do("evaluate_js", expression=expression).data.get("value")

    def see(self, *expected: str) -> str:
        self.called.add("get_page_state")
        return self.agent.see(*expected, tab=self.tab)

    def open(self, page: str) -> None:
        self.do("navigate", url=self.site.url(page))

    def picture(self, **args: Any) -> bytes:
        reply = self.do("screenshot", **args)
        return base64.b64decode(next(part for part in reply.raw["content"] if part["type"] == "image")["data"])


Job = Callable[[Back], None]
JOBS: dict[str, Job] = {}


def proves(*tools: str) -> Callable[[Job], Job]:
    """Which tools a job shows at work."""

    def add(job: Job) -> Job:
        JOBS.update(dict.fromkeys(tools, job))
        return job

    return add


# Going somewhere


@proves("navigate")
def arrives(back: Back) -> None:
    back.open("small.html")
    assert back.js("document.title") == "Small"


@proves("go_back", "go_forward", "reload")
def history(back: Back) -> None:
    back.open("small.html?1")
    back.open("todo.html")
    back.do("go_back")
    assert back.js("location.search") == "?1"
    back.do("go_forward")
    assert back.js("location.pathname") == "/todo.html"
    back.js("window.before = 1")
    back.do("reload")
    assert back.js("window.before === undefined")


@proves("wait_for_navigation", "wait_for_url", "get_current_url", "get_page_title")
def follows(back: Back) -> None:
    back.open("small.html")
    back.js("void setTimeout(() => location.assign('table.html'), 200)")
    assert back.do("wait_for_navigation").data["title"] == "People"
    back.js("void setTimeout(() => history.pushState(0, '', '?later'), 200)")
    back.do("wait_for_url", url="?later")
    assert back.do("get_current_url").data["url"] == back.site.url("table.html?later")
    assert back.do("get_page_title").data["title"] == "People"


# Looking


@proves("get_page_state")
def is_seen(back: Back) -> None:
    back.open("small.html")
    back.see("Small page", 'button "Go"')
    back.js("void (document.querySelector('h1').textContent = 'Changed')")
    assert "Changed" in back.do("get_page_state", diff=True).text


@proves("find", "get_page_text", "extract_data", "get_dom_context", "get_ax_tree")
def is_read(back: Back) -> None:
    back.open("table.html")
    assert "Radia" in back.do("find", text="Radia").text
    assert "Margaret" in back.do("get_page_text").text
    rows = back.do("extract_data", table="table").data["records"]
    assert len(rows) > 3
    assert any("Radia" in str(row) for row in rows)
    assert "<h1" in back.do("get_dom_context", target="h1").text
    assert any(node["role"] == "heading" for node in back.do("get_ax_tree").data["nodes"])


@proves("screenshot", "screenshot_element", "highlight")
def is_drawn(back: Back) -> None:
    back.open("small.html")
    before = back.picture(format="png")
    assert len(before) > 1000
    assert back.do("highlight", target="h1", time_ms=60_000).data["name"] == "Small page"
    assert back.picture(format="png") != before, "the box is not in the picture"
    box = back.js("(({width, height}) => [width, height])(go.getBoundingClientRect())")
    part = back.do("screenshot_element", target="#go").data
    assert [part["width"], part["height"]] == pytest.approx(box, abs=2)


@proves("print_to_pdf")
def is_printed(back: Back) -> None:
    back.open("small.html")
    printed = back.do("print_to_pdf").data
    assert Path(printed["path"]).read_bytes().startswith(b"%PDF")
    assert printed["pages"] == 1


# Pressing


@proves("click", "click_ref", "double_click", "right_click", "click_at")
def is_clicked(back: Back) -> None:
    back.open("small.html")
    back.js(
        "window.also = []; for (const kind of ['dblclick', 'contextmenu']) go.addEventListener(kind, () => also.push(kind))"
    )
    ref = ref_of(back.see(), "button", "Go")
    for n in range(1, 6):
        back.do("click", target=ref)
        assert back.js("clicks") == n
    back.do("click_ref", ref=ref)
    assert back.js("clicks") == 6
    back.do("double_click", target="#go")
    back.do("right_click", target="#go")
    assert back.js("[clicks, also]") == [8, ["dblclick", "contextmenu"]]
    x, y = back.js("(({x, y}) => [Math.ceil(x) + 3, Math.ceil(y) + 3])(go.getBoundingClientRect())")
    back.do("click_at", x=x, y=y)
    assert back.js("clicks") == 9


@proves("hover")
def is_hovered(back: Back) -> None:
    back.open("hover.html")
    back.do("hover", target="#tip")
    assert back.js("document.getElementById('status').textContent") == "A tooltip"


@proves("drag")
def is_dragged(back: Back) -> None:
    back.open("drag.html")
    back.do("drag", target="#one", to="#bin")
    assert back.js("bin.children[0].id") == "one"
    back.do("drag", target="#handle", dx=50)
    assert back.js("Math.abs(handle.getAttribute('aria-valuenow') - 50) < 5")


@proves("tap", "swipe")
def is_touched(back: Back) -> None:
    back.open("small.html")
    back.do("tap", target="#go")
    assert back.js("clicks") == 1
    back.open("scroll.html")
    back.do("swipe", direction="up")
    assert back.js("scrollY") > 50


# Typing and forms


@proves("type_text", "slow_type", "type_ref", "focus_ref")
def is_typed(back: Back) -> None:
    back.open("form.html")
    back.do("type_text", target="#controlled", text="kept by state")
    assert back.js("values().controlled") == "kept by state"
    back.do("slow_type", target="#upper", text="loud", delay_ms=1)
    assert back.js("values().upper") == "LOUD"
    ref = ref_of(back.see(), "textbox", "Text")
    back.do("type_ref", ref=ref, text="Ada")
    assert back.js("values().text") == "Ada"
    back.js("void document.activeElement.blur()")
    back.do("focus_ref", ref=ref)
    assert back.js("[document.activeElement.id, document.hasFocus()]") == ["text", True]


@proves("press_key")
def key_is_heard(back: Back) -> None:
    back.open("keyboard.html")
    back.do("click", target="#pad")
    back.do("press_key", key="Control+k")
    assert back.js("log.includes('shortcut')")


@proves("fill_form", "select_option")
def is_filled(back: Back) -> None:
    back.open("form.html")
    wanted = {"text": "Ada", "date": "2026-11-15", "range": "35", "color": "#ff0000", "notes": "a\nb"}
    back.do("fill_form", fields=[{"target": f"#{field}", "value": value} for field, value in wanted.items()])
    values = back.js("values()")
    assert {field: values[field] for field in wanted} == wanted
    back.do("select_option", target="#colours", values=["Red", "Blue"])
    assert back.js("values().colours") == ["r", "b"]


@proves("upload_file")
def is_uploaded(back: Back) -> None:
    back.open("upload.html")
    note = {"name": "note.txt", "mime_type": "text/plain", "data": base64.b64encode(b"hello file").decode()}
    back.do("upload_file", target="#one", files=[note])
    back.see("note.txt (10")


# Scrolling and waiting


@proves("scroll", "scroll_element", "scroll_into_view")
def is_scrolled(back: Back) -> None:
    back.open("scroll.html")
    back.do("scroll", direction="down")
    assert back.js("scrollY") > 100
    back.do("scroll", to="bottom")
    assert back.js("scrollY + innerHeight >= document.documentElement.scrollHeight - 700")
    back.do("scroll_element", target="#box", dy=120)
    assert back.js("box.scrollTop") == 120
    back.do("scroll_into_view", target="#middle")
    assert back.js("(({top, bottom}) => top >= 0 && bottom <= innerHeight)(middle.getBoundingClientRect())")


@proves("wait_for", "wait_for_text", "wait_for_element", "wait")
def is_waited_for(back: Back) -> None:
    back.open("small.html")
    back.js("void setTimeout(() => { late.textContent = 'Now'; }, 300)")
    back.do("wait_for", text="Now", timeout_ms=5000)
    assert back.js("late.textContent") == "Now"
    back.js("void setTimeout(() => { late.textContent = 'Then'; }, 200)")
    back.do("wait_for_text", text="Then", timeout_ms=5000)
    assert back.js("late.textContent") == "Then"
    back.js("void setTimeout(() => { late.innerHTML = '<b id=bold>!</b>'; }, 200)")
    back.do("wait_for_element", target="#bold", timeout_ms=5000)
    assert back.js("!!document.getElementById('bold')")
    before = back.js("performance.now()")
    back.do("wait", time_ms=150)
    assert back.js("performance.now()") >= before + 150


# Script, frames, storage, guises


@proves("evaluate_js")
def is_asked(back: Back) -> None:
    back.open("small.html")
    assert back.js("new Promise(done => requestAnimationFrame(() => done('a frame')))") == "a frame"


@proves("get_frames", "switch_frame", "main_frame")
def frames(back: Back) -> None:
    back.do("navigate", url=f"{back.site.url('frames.html')}?other={back.site.other_origin}")
    back.do("wait_for", text="Cross button")
    told = back.do("get_frames").data["frames"]
    cross = next(one for one in told if "name=Cross" in one["url"])
    back.do("switch_frame", frame=cross["frame"])
    back.do("click", target="#go")
    assert back.js("clicks") == 1
    back.do("main_frame")
    assert back.js("document.title") == "Frames"


@proves("set_storage", "get_storage", "clear_storage")
def storage(back: Back) -> None:
    back.open("small.html")
    back.do("set_storage", key="theme", value="dark")
    assert back.js("localStorage.theme") == "dark"
    assert back.do("get_storage", key="theme").data["items"] == {"theme": "dark"}
    back.do("clear_storage")
    assert back.js("localStorage.length") == 0


@proves("emulate")
def guise(back: Back) -> None:
    back.open("small.html")
    back.do("emulate", viewport={"width": 640, "height": 480}, color_scheme="dark")
    assert back.js("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [640, True]
    back.do("emulate", reset=True)
    assert back.js("innerWidth") == 1280


@proves("ask_user_to_pick")
def nobody_picks(back: Back) -> None:
    back.open("small.html")
    assert back.do("ask_user_to_pick", prompt="Which one?", timeout_ms=500).data["picked"] is False
    back.do("click", target="#go")  # the page is free again
    assert back.js("clicks") == 1


# What happened


@proves("get_console_logs", "enable_console_capture", "clear_console")
def console(back: Back) -> None:
    back.open("console.html?all=1")
    assert "a warning" in back.do("get_console_logs", level=["warn"]).text
    assert back.do("enable_console_capture").data["lines"] > 0
    back.do("clear_console")
    assert back.do("get_console_logs").data["total"] == 0


@proves("get_network_log", "get_network_request", "clear_network_log", "export_har")
def network(back: Back) -> None:
    back.open("network.html")
    back.do("click", target=ref_of(back.see(), "button", "Post JSON"))
    log = back.do("get_network_log", url_pattern="/echo", method=["POST"])
    request = log.data["requests"][-1]
    assert '"hello' in back.do("get_network_request", id=request["id"]).text
    archive = json.loads(Path(back.do("export_har").data["path"]).read_text())
    assert any(one["request"]["url"].endswith("/echo") for one in archive["log"]["entries"])
    back.do("clear_network_log")
    assert back.do("get_network_log").data["requests"] == []


@proves("block_url", "mock_url", "clear_intercepts")
def intercepts(back: Back) -> None:
    back.open("network.html")
    answer = "fetch('/echo').then(got => got.text(), () => 'failed')"
    back.beside("block_url", pattern="*/echo")
    assert back.js(answer) == "failed"
    back.beside("clear_intercepts")
    back.beside("mock_url", pattern="*/echo", body="in its place")
    assert back.js(answer) == "in its place"
    back.beside("clear_intercepts")
    assert '"method"' in back.js(answer)


@proves("set_cookie", "get_cookies", "delete_cookies", "save_state", "load_state")
def cookies(back: Back) -> None:
    back.open("small.html")
    back.beside("set_cookie", name="theme", value="dark", url=back.site.url("small.html"))
    assert back.js("document.cookie") == "theme=dark"
    back.beside("save_state", name="behind")
    assert [one["value"] for one in back.beside("get_cookies", name="theme").data["cookies"]] == ["dark"]
    back.beside("delete_cookies", all=True)
    assert back.js("document.cookie") == ""
    back.beside("load_state", name="behind")
    assert back.js("document.cookie") == "theme=dark"
    back.beside("delete_cookies", all=True)


@proves("wait_for_download", "list_downloads")
def downloads(back: Back) -> None:
    back.open("download.html")
    back.do("click", target="text=Report")
    given = back.beside("wait_for_download").data
    assert Path(given["path"]).stat().st_size == 5000
    assert [one["name"] for one in back.beside("list_downloads").data["downloads"]] == ["report.bin"]


@proves("handle_dialog")
def dialog(back: Back) -> None:
    back.open("dialogs.html")
    assert "Sure?" in back.do("click", target=ref_of(back.see(), "button", "Confirm")).text
    back.do("handle_dialog", accept=True)
    back.see("confirm true")


@proves("batch")
def steps(back: Back) -> None:
    back.open("small.html")
    back.beside("batch", steps=[{"tool": "click", "args": {"target": "#go", "tab": back.tab}}] * 3)
    assert back.js("clicks") == 3


# What opens tabs


@proves("new_tab", "list_tabs", "switch_tab", "close_tab")
def tabs(back: Back) -> None:
    def current() -> list[str]:
        return [one["tab"] for one in back.beside("list_tabs").data["tabs"] if one["current"]]

    (front,) = current()
    third = back.beside("new_tab", url=back.site.url("small.html"), background=True).data["tab"]
    assert current() == [front], "a tab in the background became current"
    back.beside("switch_tab", tab=third)
    assert current() == [third]
    assert back.agent.js("document.title") == "Small"
    back.beside("close_tab", tab=third)
    assert third not in [one["tab"] for one in back.beside("list_tabs").data["tabs"]]
    back.beside("switch_tab", tab=front)
    assert current() == [front]


@proves("wait_for_new_tab")
def popup(back: Back) -> None:
    back.open("popup.html")
    back.do("click", target="text=New tab without opener")
    opened = back.beside("wait_for_new_tab").data
    assert opened["title"] == "Small"
    back.beside("close_tab", tab=opened["tab"])
    assert back.js("document.title") == "Popups"


class Pair(NamedTuple):
    back: Back
    front: str


@pytest.fixture(scope="module")
def pair(new_agent: Callable[[], Agent], site: PageServer) -> Iterator[Pair]:
    """A session's first tab is in front of the others, which are opened behind it."""
    agent = new_agent()
    agent.do("navigate", url=site.inline(BUSY))
    front = agent.do("list_tabs").data["tabs"][0]["tab"]
    back = agent.do("new_tab", url=site.url("small.html"), background=True).data["tab"]
    yield Pair(Back(agent, site, back), front)
    agent.close()


def test_every_tool_has_a_job() -> None:
    assert {one.name for one in TOOLS} == set(JOBS)


@pytest.mark.parametrize("job", dict.fromkeys(JOBS.values()), ids=lambda job: job.__name__)
def test_in_the_back(pair: Pair, job: Job) -> None:
    pair.back.called.clear()
    job(pair.back)
    assert {tool for tool, one in JOBS.items() if one is job} <= pair.back.called, "a job does not do what it proves"


def test_the_tab_in_front_was_busy_all_the_time(pair: Pair) -> None:
    """Or the others have proved nothing."""
    spun, passed = pair.back.agent.js("[spun, performance.now() - from]", tab=pair.front)
    assert spun > 0.9 * passed - SPIN_MS
    assert spun >= SPIN_MS
