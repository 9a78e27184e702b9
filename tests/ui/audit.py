"""An accessibility audit of a page of the person's, by axe."""

from pathlib import Path

from tests.ui.dashboard import Dashboard

AXE = Path(__file__).parents[2] / ".tools" / "node_modules" / "axe-core" / "axe.min.js"
AUDIT = """axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => ({id: one.id, help: one.help, nodes: one.nodes.slice(0, 5).map((node) => node.html.slice(0, 200) + ' | ' + (node.failureSummary ?? '').slice(0, 200))})))"""


async def axe_world(dashboard: Dashboard) -> int:
    """axe in a world of its own: the page's rules let no strange script in."""
    tree = await dashboard.page.channel.send("Page.getFrameTree")
    frame = tree["frameTree"]["frame"]["id"]
    made = await dashboard.page.channel.send("Page.createIsolatedWorld", frameId=frame, worldName="axe")
    world: int = made["executionContextId"]
    await dashboard.page.js(AXE.read_text() + "; 1", contextId=world)
    return world
