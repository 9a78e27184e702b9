"""F07, D11: a page whose every word is an injection. In the dashboard it is text, in every view; nothing of it runs."""

import asyncio

from tests.daemon_here import Here, asks_for_writes
from tests.promises import promise
from tests.server import PageServer
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import Dashboard

pytestmark = promise("F07", "D08", "F08")

EVIL = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=2</script>'
SAID = repr(EVIL.replace("</", "<\\/"))
PAGE = f"""<!doctype html><title>{EVIL.replace("<", "&lt;")}</title>
<label for=one>{EVIL.replace("<", "&lt;")}</label><input id=one>
<button aria-label='"><svg onload=globalThis.pwned=3>' onclick="1">x</button>
<script>
console.error({SAID});
console.log('%c<b>styled</b>', 'color:red', '<iframe src=javascript:pwned=4>');
fetch('/small.html?<svg onload=globalThis.pwned=5>').catch(() => {{}});
history.replaceState(null, '', '#<img src=x onerror=globalThis.pwned=6>');
</script>"""
FOREIGN = "document.querySelectorAll('main img, main script, main iframe, main svg[onload], main [onerror], main [onload], main b[style]').length"


async def test_it_is_text_everywhere(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.inline(PAGE))
    await dashboard.sees("onerror", ".tile")
    await dashboard.go(f"session/{agent.session}")
    await dashboard.sees("<img src=x onerror", "h1")
    await dashboard.sees("pwned", ".lines-card")
    for kind in ("Network", "Events"):
        await dashboard.press(kind, ".lines-card .tab")
        await dashboard.sees("pwned", ".lines-card")
    await _clean(dashboard)
    await _asked(here, dashboard, agent)
    await dashboard.go("activity")
    await dashboard.sees("click", ".timeline")
    await dashboard.press("click", ".event")
    await dashboard.sees("svg onload", ".detail")
    await _clean(dashboard)


async def _asked(here: Here, dashboard: Dashboard, agent: RestAgent) -> None:
    here.decide = asks_for_writes
    await dashboard.go("approvals")
    call = asyncio.create_task(agent.call("click", target="button"))
    await dashboard.sees("<svg onload", ".question")
    await _clean(dashboard)
    await here.gate.approvals.answer(here.gate.approvals.pending()[0]["id"], "allow", "once")
    assert (await call)["success"]
    await dashboard.sees("<svg onload", "main")


async def _clean(dashboard: Dashboard) -> None:
    assert await dashboard.page.js(FOREIGN) == 0
    assert await dashboard.page.js("globalThis.pwned ?? null") is None
