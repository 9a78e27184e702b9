"""What the guide to snapshots shows is what the product prints."""

from pathlib import Path

from tests.browser.looking import look, ref_in
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A12")
PAGE = (Path(__file__).parents[2] / "docs" / "snapshots.md").read_text("utf-8")


async def test_the_guide_shows_what_is_printed(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("order.html"))
    printed = (await look(agent)).replace(site.url("order.html"), "https://shop.test/order.html")
    shown = PAGE.split("```\n")[1].rstrip("\n")
    assert printed == shown, f"docs/snapshots.md should have\n{printed}"


async def test_the_guide_s_difference(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("order.html"))
    button = ref_in(await look(agent), 'clickable "Apply a code"')
    told = await agent.call("click", target=button, snapshot="diff")
    assert told["snapshot"] == f'  main\n-   clickable "Apply a code" {button}\n+   clickable "Code applied" {button}'
