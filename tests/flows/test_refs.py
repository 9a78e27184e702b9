"""A ref means one element for ever: it works while that element lives, fails when it is gone, and is never another's.

A few tries each here, more in scripts/afar, 200 with FLOW_TRIES=200. The pages count their own clicks by element, and
those counts are the judge, not our replies.
"""

import os
import re

from tests.flows.agent import Agent, ref_of
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A11")

TRIES = range(int(os.environ.get("FLOW_TRIES", "5")))


def hits(agent: Agent) -> dict[str, int]:
    """What was clicked since the last look."""
    return agent.js("(() => { const now = { ...hits }; for (const key in hits) delete hits[key]; return now; })()")


def test_a_document_that_is_gone(agent: Agent, site: PageServer) -> None:
    """The next document has the very same elements, which makes a wrong click easy."""
    agent.do("navigate", url=site.url("table.html?-1"))
    for n in TRIES:
        page = agent.see("Grace")
        old = [ref_of(page, "button", "Grace"), ref_of(page, "button", "Refresh")]
        agent.do("navigate", url=site.url(f"table.html?{n}"))
        if n % 2:
            agent.see("Grace")  # refs given out anew must not be the old numbers
        assert agent.fail("click", target=old[n // 2 % 2]) == "stale_ref"
        assert agent.fail("type_text", target=old[0], text="x") == "stale_ref"
        assert hits(agent) == {}
        assert agent.js("renders") == 1


def test_a_document_that_back_restored(agent: Agent, site: PageServer) -> None:
    restored = 0
    for n in TRIES:
        agent.do("navigate", url=site.url(f"table.html?{n}"))
        agent.js("window.mark = true")
        page = agent.see("Edsger")
        ref = ref_of(page, "button", ["Edsger", "Ken"][n % 2])
        agent.do("navigate", url=site.url("small.html"))
        assert agent.fail("click", target=ref) == "stale_ref"
        agent.do("go_back")
        if agent.js("window.mark === true"):
            restored += 1
            agent.do("click", target=ref)
            assert hits(agent) == {["4:select", "9:select"][n % 2]: 1}
        else:
            assert agent.fail("click", target=ref) == "stale_ref"
            assert hits(agent) == {}
    assert restored > len(TRIES) * 0.8


def test_an_element_whose_text_changed(agent: Agent, site: PageServer) -> None:
    agent.do("navigate", url=site.url("table.html"))
    ref = ref_of(agent.see("Donald"), "button", "Donald")
    for n in TRIES:
        # Its old name goes to another element: a lookup by name would click that one.
        agent.js(
            f"(() => {{ const all = [...document.querySelectorAll('[data-verb=select]')];"
            f" window.kept ||= all[5]; kept.textContent = 'Like ({n})';"
            f" all.find(b => b !== kept).textContent = 'Donald';"
            f" rows.onclick = event => {{ const b = event.target.closest('button'); if (b) {{"
            f" const key = b === kept ? 'kept' : 'other'; hits[key] = (hits[key] || 0) + 1; }} }}; }})()"
        )
        agent.do("click", target=ref)
        assert hits(agent) == {"kept": 1}
        if n % 10 == 0:
            assert ref_of(agent.see(), "button", f"Like ({n})") == ref


def test_an_element_rendered_anew_with_one_twin(agent: Agent, site: PageServer) -> None:
    agent.do("navigate", url=site.url("table.html"))
    names = agent.js("names")
    page = agent.see("Ken")
    for n in TRIES:
        who = n % 10
        ref = ref_of(page, "button", names[who])
        agent.js("render()" if n % 3 else "(people.reverse(), render())")
        agent.do("click", target=ref)
        assert hits(agent) == {f"{who}:select": 1}
        page = agent.see("Ken")


def test_an_element_rendered_anew_among_many_twins(agent: Agent, site: PageServer) -> None:
    """Equal buttons in rows with names: right or refused. In rows without names: refused."""
    found = 0
    for twins in ("", "?twins=1"):
        agent.do("navigate", url=site.url(f"table.html{twins}"))
        for n in TRIES:
            who = n % 10
            page = agent.see("Edit")
            start = 0
            for _ in range(who + 1):
                start = page.index('button "Edit"', start + 1)
            ref = ref_of(page[start:], "button", "Edit")
            agent.js("render()" if n % 3 else "(people.reverse(), render(), people.reverse())")
            reply = agent.call("click", target=ref)
            clicked = hits(agent)
            if reply.ok:
                assert not twins, f"one of many twins was chosen: {clicked}"
                found += 1
                assert clicked == {f"{who}:edit": 1}
            else:
                assert reply.error == "stale_ref"
                assert clicked == {}
            agent.js("render()")
    assert found == len(TRIES), "a row with a name of its own tells its button from all others"


def test_an_element_that_was_removed(agent: Agent, site: PageServer) -> None:
    agent.do("navigate", url=site.url("table.html"))
    for n in TRIES:
        who = n % 10
        page = agent.see("Refresh")
        ref = ref_of(page, "button", agent.js(f"names[{who}]"))
        agent.js(f"(window.all ||= people, people = all.filter(p => p.id !== {who}), render())")
        assert agent.fail("click", target=ref) == "stale_ref"
        assert hits(agent) == {}
        agent.js("(people = all, render())")


def refs_in(page: str) -> list[str]:
    return re.findall(r"\be\d+\b", page)


def test_refs_of_two_tabs_and_of_frames(agent: Agent, site: PageServer) -> None:
    """A number is used once per tab over all its documents and frames; a frame's ref dies with its document; a tab knows
    no ref of another, and a number that both gave out is each one's own element."""
    for n in range(max(len(TRIES) // 10, 1)):
        agent.do("navigate", url=site.url(f"frames.html?{n}&other={site.other_origin}"))
        agent.do("wait_for", text="Home button")
        page = agent.see("Cross button")
        refs = {
            name: ref_of(page, "button", f"{name} button") for name in ("Top", "Same", "Inner", "Cross", "Far", "Home")
        }
        assert len(set(refs.values())) == len(refs)
        agent.js(
            "new Promise(done => { const f = document.getElementById('same'); f.onload = done; f.src += '&again'; })"
        )
        assert agent.fail("click", target=refs["Same"]) == "stale_ref"
        agent.do("click", target=refs["Cross"])
        agent.do("click", target=refs["Home"])
        page += agent.see("Cross button")
        texts = agent.js("document.getElementById('same').contentDocument.getElementById('out').textContent")
        assert texts == "0"
        check_another_tab(agent, site, page, refs["Top"])


def check_another_tab(agent: Agent, site: PageServer, page: str, top: str) -> None:
    """`page` is what the tab in front has shown, `top` its ref of "Top button"."""
    first = next(tab["tab"] for tab in agent.do("list_tabs").data["tabs"] if tab["current"])
    second = agent.do("new_tab", url=site.url("table.html")).data["tab"]
    assert agent.fail("click", target=top, tab=second) == "not_found"
    assert hits(agent) == {}
    table = agent.see("Grace", tab=second)
    only_there = next(ref for ref in refs_in(table) if ref not in refs_in(page))
    assert agent.fail("click", target=only_there, tab=first) in ("not_found", "stale_ref")
    agent.do("click", target=ref_of(table, "button", "Grace"), tab=second)
    assert hits(agent) == {"1:select": 1}
    agent.do("close_tab", tab=second)
    agent.do("switch_tab", tab=first)
    assert ref_of(agent.see(), "button", "Top button") == top, "what was done in the other tab pressed it"
    agent.do("click", target=top)
    agent.see("Top clicked")
