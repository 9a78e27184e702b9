"""Pages that bend the language or the DOM under us: our world has its own built-ins, and names do not fool it."""

import pytest

from tests.hostile.conftest import code
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A10", "A11")

BODY = "<h1>Real</h1><button onclick='this.textContent = \"Pressed\"'>Press</button><input aria-label=Name>"
OVERRIDES = {
    "built-ins": """
      Array.prototype.map = Array.prototype.push = Array.prototype.filter = () => { throw "no" };
      Array.prototype[Symbol.iterator] = () => { throw "no" };
      JSON.stringify = () => "fooled"; JSON.parse = () => "fooled";
      Promise.prototype.then = () => { throw "no" };
      Object.prototype.fail = "hidden"; Object.prototype.error = "fooled"; Object.prototype.toJSON = () => "fooled";
      String.prototype.trim = () => "fooled"; RegExp.prototype.exec = () => null; Map = Set = WeakMap = null;""",
    "observers": "MutationObserver = IntersectionObserver = ResizeObserver = class { observe() { throw 'no' } };",
    "elements": """
      for (const name of Object.getOwnPropertyNames(Element.prototype)) try {
        Object.defineProperty(Element.prototype, name, { get() { throw "no" }, value: undefined }) } catch {}
      for (const name of ["textContent", "childNodes", "parentNode", "firstChild", "nodeType", "isConnected"])
        Object.defineProperty(Node.prototype, name, { get() { throw "no" } });
      EventTarget.prototype.addEventListener = () => { throw "no" };""",
    "window": """
      setTimeout = requestAnimationFrame = getComputedStyle = queueMicrotask = () => { throw "no" };
      document.querySelector = document.querySelectorAll = document.elementFromPoint = () => { throw "no" };
      performance.now = Date.now = () => NaN;""",
}
CLOBBERED = {
    "document": "".join(
        f"<img name={name}><form name={name} id={name}></form>"
        for name in ("body", "title", "documentElement", "querySelector", "querySelectorAll", "activeElement",
                     "elementFromPoint", "scrollingElement", "getElementById", "defaultView", "head", "ph", "location")
    ),
    "form": "<form>" + "".join(
        f"<input name={name} aria-label={name}>"
        for name in ("children", "childNodes", "parentElement", "parentNode", "nodeType", "tagName", "attributes",
                     "getAttribute", "hasAttribute", "shadowRoot", "ownerDocument", "getBoundingClientRect", "id",
                     "isConnected", "matches", "closest", "contains", "checkVisibility", "style", "localName",
                     "nodeName", "firstChild", "nextSibling", "textContent", "innerText", "getClientRects", "role",
                     "title", "hidden", "scrollIntoView", "querySelector", "querySelectorAll", "getRootNode",
                     "assignedSlot", "labels", "disabled", "namespaceURI", "firstElementChild")
    ) + "</form>",
}  # fmt: skip


async def works(agent: Agent) -> None:
    state = await agent.text("get_page_state", full=True)
    assert 'heading "Real"' in state
    assert 'button "Press"' in state
    await agent.call("click", target="text=Press")
    await agent.call("type_text", target='role=textbox[name="Name"]', text="Ada")
    assert "Pressed" in await agent.text("get_page_state", full=True)
    assert "Real" in await agent.text("get_page_text")
    assert code(await agent.ask("wait_for", text="Pressed", timeout_ms=2000)) == "ok"
    assert (await agent.call("find", text="Pressed"))["total"] >= 1


@pytest.mark.parametrize("what", OVERRIDES)
async def test_overridden(agent: Agent, site: PageServer, what: str) -> None:
    await agent.call("navigate", url=site.inline(f"<script>{OVERRIDES[what]}</script>{BODY}"))
    await works(agent)


@pytest.mark.parametrize("what", CLOBBERED)
async def test_clobbered(agent: Agent, site: PageServer, what: str) -> None:
    await agent.call("navigate", url=site.inline(BODY + CLOBBERED[what]))
    await works(agent)
