"""What is there and not drawn: who asks for it hears so, and what would show it."""

import pytest

from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C08")

TABS = """<div role=tablist><button role=tab aria-selected=true aria-controls=a>One</button>
<button role=tab aria-controls=b>Two</button></div><div id=a role=tabpanel>First</div>
<div id=b role=tabpanel hidden><p>Second</p><button>Deep end</button></div>"""
NAMED = "<button id=t onclick=0>More</button><section aria-labelledby=t hidden><button>Deep end</button></section>"
DETAILS = "<details><summary>More</summary><p>Some</p><button>Deep end</button></details>"
BOOTSTRAP = "<a href='#b' data-bs-target='#b'>More</a><div id=b style='display:none'><button>Deep end</button></div>"
LABELLED = (
    "<button aria-expanded=false aria-controls=b>More</button><div id=b hidden><label>Deep end <input></label></div>"
)
SPOKEN = "<button popovertarget=b>More</button><div id=b popover><button aria-label='Deep end'>x</button></div>"


@pytest.mark.parametrize(
    ("page", "target", "opener"),
    [
        (TABS, "text=Deep", 'tab "Two"'),
        (TABS, 'role=button[name="Deep end"]', 'tab "Two"'),
        (NAMED, "text=Deep end", 'button "More"'),
        (DETAILS, 'text="Deep end"', 'button "More"'),
        (BOOTSTRAP, "text=deep", 'link "More"'),
        (LABELLED, "label=Deep end", 'button "More"'),
        (SPOKEN, "text=Deep end", 'button "More"'),
    ],
)
async def test_what_shows_it_is_named(agent: Agent, site: PageServer, page: str, target: str, opener: str) -> None:
    await agent.call("navigate", url=site.inline(page))
    failure = await fails(agent, "not_found", "click", target=target)
    assert "hidden" in failure.message
    (told,) = failure.details["candidates"]
    assert told.startswith(opener)
    await agent.call("click", target=told.split()[-1])


async def test_who_searches_hears_so_too(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(TABS))
    found = await agent.text("find", text="deep end")
    assert "0 found; it is in the page, but hidden" in found
    assert 'tab "Two" e' in found
    assert "hidden" not in await agent.text("find", text="No such words")


async def test_what_does_not_fit_a_pattern_is_not_hidden(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<p>Save all</p><p hidden>Save draft</p>"))
    assert "hidden" not in await agent.text("find", text="Save", pattern="zzz")


async def test_what_nothing_shows_is_hidden_all_the_same(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline("<button>Save</button><div hidden><button>Deep end</button></div>"))
    failure = await fails(agent, "not_found", "click", target="text=Deep end")
    assert "something hidden does" in failure.message
    assert "open what it is in" in failure.suggestions[0]


async def test_neither_scripts_nor_parts_of_words_are_hidden_words(agent: Agent, site: PageServer) -> None:
    page = "<button>Save</button><script>'Deep end'</script><template>Deep end</template><p hidden>Indeep ending</p>"
    await agent.call("navigate", url=site.inline(page))
    assert "hidden" not in (await fails(agent, "not_found", "click", target="text=Deep end")).message
