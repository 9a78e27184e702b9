"""Ground truth: the walker's roles and names against Chrome's own accessibility tree, and whether everything a person
could act on is marked. Prints the numbers and every disagreement."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import miniwob
import pytest
from chrome import PAGES, Chrome, serve

from tests.promises import promise

pytestmark = promise("A10")

MINIWOB = Path(miniwob.__file__).parent / "html"
# Chrome's own words for what HTML gives no ARIA role.
SAME = {
    "date": "Date DateTime",
    "time": "InputTime",
    "datetime": "DateTime",
    "month": "Date DateTime",
    "week": "Date DateTime",
    "color": "ColorWell",
    "file": "button FileUploadButton",
    "button": "DisclosureTriangle PopUpButton ToggleButton",
    "combobox": "PopUpButton TextFieldWithComboBox ComboBoxSelect",
    "img": "image ImageMap",
    "textbox": "generic",
    "searchbox": "SearchBox",
    "canvas": "Canvas",
    "video": "Video",
    "audio": "Audio",
    "iframe": "Iframe",
    "listbox": "ListBox",
    "option": "MenuListOption ListBoxOption",
    "treeitem": "TreeItem",
    "svg": "SvgRoot",
    "spinbutton": "SpinButton",
    "progressbar": "ProgressIndicator",
    "menuitemcheckbox": "MenuItemCheckBox",
    "menuitemradio": "MenuItemRadio",
}
ACTING = {
    "button",
    "link",
    "checkbox",
    "radio",
    "textbox",
    "searchbox",
    "combobox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "treeitem",
    "PopUpButton",
    "ColorWell",
    "Date",
    "DateTime",
    "InputTime",
    "DisclosureTriangle",
    "listbox",
    "ToggleButton",
}


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub("[\ue000-\uf8ff\u200b-\u200f\u00ad\ufeff]", "", text)).strip()


def backend_ids(chrome: Chrome, expression: str) -> list[int]:
    """Backend ids of the elements of an array in the isolated world."""
    array = chrome.world(expression, by_value=False)
    properties = chrome.send("Runtime.getProperties", objectId=array, ownProperties=True)["result"]
    items = sorted((p for p in properties if p["name"].isdigit()), key=lambda p: int(p["name"]))
    return [chrome.send("DOM.describeNode", objectId=p["value"]["objectId"])["node"]["backendNodeId"] for p in items]


class Score:
    def __init__(self) -> None:
        self.compared = self.agreed = self.wanted = self.marked = 0
        self.notes: list[str] = []

    def judge(self, chrome: Chrome, page: str) -> None:
        chrome.snapshot(full=True)
        lines = [text for _, text in chrome.last["lines"]]
        marks = list(dict.fromkeys(int(n) for text in lines for n in re.findall("\u0001(\\d+)\u0001", text)))
        chrome.world(f"globalThis.marks = {json.dumps(marks)}.map((n) => ph.element(n)), 0")
        said = chrome.world(
            "marks.map((el) => [ph.roleOf(el), ph.nameOf(el), el.localName + (el.id ? '#' + el.id : '')])"
        )
        ours = backend_ids(chrome, "marks")
        tree = chrome.send("Accessibility.getFullAXTree")["nodes"]
        theirs = {node["backendDOMNodeId"]: node for node in tree if "backendDOMNodeId" in node}
        for backend, (role, name, tag) in zip(ours, said, strict=True):
            self.compare(page, tag, role, name, theirs.get(backend))
        self.cover(chrome, page, set(ours), tree)

    def compare(self, page: str, tag: str, role: str, name: str, node: dict[str, Any] | None) -> None:
        if node is None or node.get("ignored") or role in ("generic", "none", "svg", "paragraph", "listitem"):
            return
        chrome_role, chrome_name = node["role"]["value"], plain(node.get("name", {}).get("value", ""))
        self.compared += 1
        role_ok = role == chrome_role or chrome_role in SAME.get(role, "").split()
        if role_ok and plain(name) == chrome_name:
            self.agreed += 1
        else:
            self.notes.append(f"{page}: {tag}: ours {role} {name!r}, Chrome {chrome_role} {chrome_name!r}")

    def cover(self, chrome: Chrome, page: str, ours: set[int], tree: list[dict[str, Any]]) -> None:
        wanted: dict[int, str] = {}
        for node in tree:
            if node.get("ignored") or "backendDOMNodeId" not in node:
                continue
            focusable = any(p["name"] == "focusable" and p["value"].get("value") for p in node.get("properties", []))
            role = node["role"]["value"]
            if role in ACTING or (focusable and role not in ("RootWebArea", "Iframe", "document")):
                wanted[node["backendDOMNodeId"]] = f"ax {role} {node.get('name', {}).get('value', '')!r}"
        for backend in chrome.listening_nodes():
            wanted.setdefault(backend, "listener")
        for backend in backend_ids(chrome, POINTERS):
            wanted.setdefault(backend, "pointer")
        for backend, why in wanted.items():
            if backend in ours:
                self.wanted += 1
                self.marked += 1
                continue
            verdict = self.excuse(chrome, backend, why)
            if verdict == "ok":
                continue
            self.wanted += 1
            if verdict == "inside":
                self.marked += 1
            else:
                self.notes.append(f"{page}: not marked: {why}: {verdict}")

    def excuse(self, chrome: Chrome, backend: int, why: str) -> str:
        """ "ok": nothing a person could press here; "inside": pressing a marked element is pressing this."""
        try:
            object_id = chrome.send("DOM.resolveNode", backendNodeId=backend, executionContextId=chrome.context)[
                "object"
            ]["objectId"]
        except RuntimeError:
            return "ok"
        reply = chrome.send(
            "Runtime.callFunctionOn",
            objectId=object_id,
            functionDeclaration=EXCUSE,
            arguments=[{"value": why}],
            returnByValue=True,
        )
        return reply["result"]["value"]


POINTERS = """[...document.querySelectorAll("body *")].filter((el) => getComputedStyle(el).cursor === "pointer"
  && el.parentElement && getComputedStyle(el.parentElement).cursor !== "pointer")"""
# Whether an unmarked element is one that a person could press, judged by a hit test on a grid of its box.
EXCUSE = """function(why) {
  const el = this;
  if (el.nodeType !== 1 || el === document.body || el === document.documentElement) return "ok";
  if (el.localName === "option" || el.closest("select")) return "ok";
  if (el.localName === "label" && el.control) return "inside";
  el.scrollIntoView({block: "center", behavior: "instant"});
  const box = el.getBoundingClientRect();
  if (box.width < 1 || box.height < 1 || !el.checkVisibility({visibilityProperty: true})) return "ok";
  let own = 0, onMarked = 0;
  for (let i = 1; i < 8; i++) for (let j = 1; j < 8; j++) {
    const hit = ph.hit(box.left + box.width * i / 8, box.top + box.height * j / 8);
    if (!hit || !ph.holds(el, hit)) continue;
    own++;
    const near = (mark) => mark !== el && ph.holds(mark, hit) && (ph.holds(el, mark) || ph.holds(mark, el));
    if (marks.some(near)) onMarked++;
  }
  if (!own) return "ok";
  if (why === "pointer" || why === "listener") {
    const inside = marks.filter((mark) => mark !== el && ph.holds(el, mark)).length;
    // A container that listens for its children, or a wrapper around one marked control.
    if (onMarked * 3 > own || inside > 1) return "inside";
  } else if (onMarked === own) return "inside";
  return el.outerHTML.slice(0, 140);
}"""


@pytest.fixture(scope="module")
def miniwob_site():
    server, base = serve(MINIWOB)
    yield base
    server.shutdown()


def report(title: str, score: Score) -> None:
    names = 100 * score.agreed / max(score.compared, 1)
    marks = 100 * score.marked / max(score.wanted, 1)
    print(f"\n{title}: role and name {score.agreed}/{score.compared} = {names:.2f} %")
    print(f"{title}: marked {score.marked}/{score.wanted} = {marks:.2f} %")
    for note, count in Counter(score.notes).most_common(60):
        print("  ", note, f"x{count}" if count > 1 else "")
    assert names >= 99.5
    assert marks >= 99.0


def test_own_pages(chrome: Chrome, pages_site: str) -> None:
    score = Score()
    for file in sorted(PAGES.glob("*.html")):
        chrome.open(f"{pages_site}/{file.name}")
        score.judge(chrome, file.stem)
    report("own pages", score)


def test_miniwob(chrome: Chrome, miniwob_site: str) -> None:
    score = Score()
    for file in sorted((MINIWOB / "miniwob").glob("*.html")):
        chrome.open(f"{miniwob_site}/miniwob/{file.name}")
        chrome.page("Math.seedrandom('7'); typeof core !== 'undefined' && core.startEpisodeReal(); 0")
        score.judge(chrome, file.stem)
    report("MiniWoB++", score)
