"""The judge of snapshots: what Chrome's own accessibility tree, its listeners and its cursors say about a page, and which
of it a snapshot may leave out.

Above: test_truth asks it about the walker, test_seen about what `get_page_state` prints. Below: chrome.
"""

import json
import re
from pathlib import Path
from typing import Any

import miniwob
from chrome import Chrome

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


def acting(tree: list[dict[str, Any]]) -> dict[int, str]:
    """What can be acted on, as the accessibility tree has it, by backend id."""
    wanted: dict[int, str] = {}
    for node in tree:
        if node.get("ignored") or "backendDOMNodeId" not in node:
            continue
        focusable = any(p["name"] == "focusable" and p["value"].get("value") for p in node.get("properties", []))
        role = node["role"]["value"]
        # The page and its frames take the focus, too; there is nothing to press in that.
        if role in ACTING or (focusable and role not in ("RootWebArea", "Iframe", "document")):
            wanted[node["backendDOMNodeId"]] = f"ax {role} {node.get('name', {}).get('value', '')!r}"
    return wanted


def is_same_role(role: str, chrome_role: str) -> bool:
    return role == chrome_role or chrome_role in SAME.get(role, "").split()


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
        """What Chrome has no word for cannot be compared; nor can what has no role of its own, or is a row or an entry:
        the snapshot prints its texts and controls one by one, where Chrome makes one long name of them."""
        if node is None or node.get("ignored") or role in ("generic", "none", "svg", "paragraph", "listitem", "row"):
            return
        chrome_role, chrome_name = node["role"]["value"], plain(node.get("name", {}).get("value", ""))
        self.compared += 1
        if is_same_role(role, chrome_role) and plain(name) == chrome_name:
            self.agreed += 1
        else:
            self.notes.append(f"{page}: {tag}: ours {role} {name!r}, Chrome {chrome_role} {chrome_name!r}")

    def cover(self, chrome: Chrome, page: str, ours: set[int], tree: list[dict[str, Any]]) -> None:
        wanted = acting(tree)
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
        node = chrome.send("DOM.resolveNode", backendNodeId=backend, executionContextId=chrome.context)["object"]
        reply = chrome.send(
            "Runtime.callFunctionOn",
            objectId=node["objectId"],
            functionDeclaration=EXCUSE,
            arguments=[{"value": why}],
            returnByValue=True,
        )
        return reply["result"]["value"]


# A cursor is inherited: only where it begins somebody means the element.
POINTERS = """[...document.querySelectorAll("body *")].filter((el) => getComputedStyle(el).cursor === "pointer"
  && el.parentElement && getComputedStyle(el.parentElement).cursor !== "pointer")"""
# Whether an unmarked element is one that a person could press, judged by a hit test on a grid of its box. What is let
# pass here nobody else finds, so each case says why:
EXCUSE = """function(why) {
  const el = this;
  // The page itself: where an app listens for all that is in it.
  if (el.nodeType !== 1 || el === document.body || el === document.documentElement) return "ok";
  // A select's options are chosen through the select, whose ref there is.
  if (el.localName === "option" || el.closest("select")) return "ok";
  // To press a label is to press its control, which is marked, or judged by itself.
  if (el.localName === "label" && el.control) return "inside";
  el.scrollIntoView({block: "center", behavior: "instant"});
  const box = el.getBoundingClientRect();
  // Not drawn, or nowhere to be hit: nobody can press it.
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
  // Wherever it is pressed, something that is marked is pressed, too.
  if (onMarked === own) return "inside";
  if (why === "pointer" || why === "listener") {
    const inside = marks.filter((mark) => mark !== el && ph.holds(el, mark));
    const beside = [...el.querySelectorAll("*"), el].some((one) => !inside.some((mark) => ph.holds(mark, one)) &&
      (one.localName === "img" || [...one.childNodes].some((kid) => kid.nodeType === 3 && /\\S/.test(kid.data))));
    // A list, or another box of things that are marked, which listens for them: beside them it shows nothing that a
    // person could mean. A track is mostly bare, and can be pressed beside its one handle.
    if (inside.length && !beside && !(inside.length === 1 && onMarked * 2 < own)) return "inside";
    // It listens for its rows, and these may be pressed for it or for what is in them.
    if (inside.length && /^(ul|ol|table|tbody)$/.test(el.localName)) return "inside";
  }
  return el.outerHTML.slice(0, 140);
}"""
