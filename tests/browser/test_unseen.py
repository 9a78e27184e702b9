"""What is asked and rehearsed while an agent thinks changes nothing of what its first snapshot says."""

from pilothouse.browser.tab import Tab
from pilothouse.browser.unseen import told_ahead
from tests.browser.looking import REF, look
from tests.browser.test_memory import session_of, until
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A10")


async def looked_ahead(agent: Agent) -> Tab:
    """The tab, when everything that is done ahead has been done."""
    tab = session_of(agent).tabs[0]
    await until(lambda: told_ahead(tab))
    return tab


async def test_closed_roots_and_numbers_are_as_without_a_rehearsal(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("shadow.html"))
    at_once = await look(agent)
    await agent.call("navigate", url=site.url("shadow.html?again"))
    await looked_ahead(agent)
    later = await look(agent)
    assert REF.sub("e", at_once).splitlines()[1:] == REF.sub("e", later).splitlines()[1:]
    assert 'button "Closed button"' in later


async def test_who_comes_to_listen_after_that_is_in_the_first_snapshot(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("small.html"))
    tab = await looked_ahead(agent)
    await tab.channel.send(
        "Runtime.evaluate",
        expression="document.body.innerHTML = '<div>Press me</div>';"
        "document.body.firstChild.addEventListener('click', () => 0)",
    )
    assert 'clickable "Press me"' in await look(agent)
