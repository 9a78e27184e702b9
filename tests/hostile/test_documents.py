"""Documents of every kind: whatever is in the tab, it can be read without an error."""

import base64

import pytest

from pilothouse.browser.frames import Frame
from tests.hostile.conftest import code, tab_of, timed
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A05", "A10")

PDF = """%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/MediaBox[0 0 200 200]/Parent 2 0 R>>endobj
trailer<</Root 1 0 R>>"""
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><text y='20'>Drawn</text></svg>"

KINDS = {
    "plain": ("some text", "text/plain", "some text"),
    "json": ('{"a": [1, 2]}', "application/json", "[1, 2]"),
    "xml": ("<?xml version='1.0'?><a><b>inside</b></a>", "application/xml", "inside"),
    "xhtml": (
        "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>Strict</h1></body></html>",
        "application/xhtml+xml",
        "Strict",
    ),
    "svg": (SVG, "image/svg+xml", ""),
    "pdf": (PDF, "application/pdf", ""),
    "empty": ("", "text/html", ""),
    "broken xml": ("<a><b></a>", "application/xml", ""),
    "no body": ("<script>document.documentElement.remove()</script>", "text/html", ""),
    "root replaced": (
        "<script>onload = () => document.replaceChildren(document.createElement('p'))</script>",
        "text/html",
        "",
    ),
    "body removed": ("<p>x<script>onload = () => document.body.remove()</script>", "text/html", ""),
    "frameset": (
        "<frameset cols='50%,50%'><frame src='/small.html'><frame src='/form.html'></frameset>",
        "text/html",
        "",
    ),
    "quirks": ("<table><tr><td>loose<p><b><i>ends", "text/html", "loose"),
    "nulls": ("<h1>nu\x00ll</h1>\x00<p>here</p>", "text/html", "here"),
}


async def read_everything(agent: Agent, expected: str = "") -> None:
    for tool, args in (
        ("get_page_state", {}),
        ("get_page_state", {"full": True}),
        ("get_page_text", {}),
        ("find", {"text": "x"}),
        ("screenshot", {}),
        ("get_frames", {}),
        ("scroll", {"direction": "down"}),
    ):
        answer = await timed(agent, tool, limit_s=8, **args)
        assert code(answer) == "ok", f"{tool}: {answer.text}"
    assert expected in await agent.text("get_page_text")


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind(agent: Agent, site: PageServer, kind: str) -> None:
    body, media_type, expected = KINDS[kind]
    went = await agent.ask("navigate", url=site.inline(body, type=media_type))
    assert code(went) == "ok", went.text
    await read_everything(agent, expected)


async def test_the_empty_tab(agent: Agent) -> None:
    await read_everything(agent)


async def test_an_image(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SVG.replace("Drawn", "x"), type="image/svg+xml"))
    await read_everything(agent)


@pytest.mark.parametrize(
    "policy",
    ["script-src 'none'", "sandbox", "default-src 'none'", "require-trusted-types-for 'script'; trusted-types 'none'"],
)
async def test_content_security_policies(agent: Agent, site: PageServer, policy: str) -> None:
    body = "<h1>Held</h1><button>Press</button><input aria-label=Name>"
    await agent.call("navigate", url=site.inline(body, headers={"Content-Security-Policy": policy}))
    await read_everything(agent, "Held")
    await agent.call("click", target="text=Press")
    await agent.call("type_text", target="input", text="Ada")
    assert await agent.js("document.querySelector('input').value") == "Ada"
    await has_turns(tab_of(agent).frames.main)
    assert await agent.call("wait_for", function="(globalThis.asked = (globalThis.asked ?? 0) + 1) > 1")


@pytest.mark.parametrize("sandbox", ["", "allow-scripts"])
async def test_sandboxed_frames(agent: Agent, site: PageServer, sandbox: str) -> None:
    frame = f"<iframe sandbox='{sandbox}' srcdoc='<button>Boxed</button>'></iframe>"
    await agent.call("navigate", url=site.inline(f"<h1>Outer</h1>{frame}"))
    await read_everything(agent)
    assert "Boxed" in await agent.text("get_page_state")
    await agent.call("click", target="text=Boxed")
    _, boxed = tab_of(agent).frames
    assert not boxed.navigating, "or every click in it would be waited for in vain"
    await has_turns(boxed)


async def has_turns(frame: Frame) -> None:
    """Or every action would wait for them in vain. Timers never end where a sandbox forbids script."""
    assert frame.world
    assert await frame.world.call("tick", timeout=8)
    assert await frame.world.call("waitFor", {"text": "nowhere"}, 10, timeout=8) == {"met": ""}


@pytest.mark.parametrize(
    "rewrite",
    [
        "document.open(); document.write('<h1>Written</h1><button>New</button>'); document.close()",
        "document.documentElement.innerHTML = '<body><h1>Written</h1><button>New</button>'",
        "document.write('<h1>Written</h1><button>New</button>'); window.stop()",
    ],
)
async def test_documents_that_are_replaced_from_within(agent: Agent, site: PageServer, rewrite: str) -> None:
    await agent.call("navigate", url=site.inline("<h1>Old</h1><button>Old one</button>"))
    await agent.call("get_page_state")
    await agent.ask("evaluate_js", expression=rewrite)
    assert "Written" in await agent.text("get_page_state")
    await agent.call("click", target="text=New")
    assert code(await agent.ask("click", target="e1")) in ("stale_ref", "ok")


async def test_a_page_that_stops_its_own_loading(agent: Agent, site: PageServer) -> None:
    page = "<h1>Stopped</h1><script>stop()</script><img src=/hang>"
    assert code(await timed(agent, "navigate", url=site.inline(page), limit_s=6)) == "ok"
    assert "Stopped" in await agent.text("get_page_state")


async def test_half_a_document_can_be_read(agent: Agent, site: PageServer) -> None:
    await agent.call("list_tabs")
    assert code(await timed(agent, "navigate", url=site.url("half"), timeout_ms=700, limit_s=0.7)) == "timeout"
    assert "Half a page" in await agent.text("get_page_state")


async def test_workers_of_every_kind(agent: Agent, site: PageServer) -> None:
    script = base64.b64encode(b"onconnect = e => e.ports[0].postMessage(1)").decode()
    worker = site.inline("onmessage = () => 0", type="text/javascript")
    page = f"""<h1>Workers</h1><script>
      new Worker(URL.createObjectURL(new Blob(["setInterval(() => console.log('tick'), 20)"])));
      new SharedWorker("data:text/javascript;base64,{script}").port.onmessage = () => document.title += "shared ";
      navigator.serviceWorker.register("{worker}", {{scope: "/inline"}}).then(() => document.title += "service ",
        error => document.title += error.name);
    </script>"""
    await agent.call("navigate", url=site.inline(page, headers={"Service-Worker-Allowed": "/"}))
    assert code(await agent.ask("wait_for", function="/shared/.test(document.title)", timeout_ms=8000)) == "ok"
    await read_everything(agent, "Workers")
    await agent.call("reload")
    await read_everything(agent, "Workers")
