"""Whole tasks at full speed, many times each: every look at the page shows what the last action made of it."""

import os

import pytest

from tests.flows.agent import Agent, ref_of
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("A09", "A04")

RUNS = range(int(os.environ.get("FLOW_RUNS", "2")))


def check_todo(agent: Agent, url: str) -> None:
    agent.do("navigate", url=url)
    for n, task in enumerate(("Milk", "Bread", "Tea"), 1):
        agent.do("type_text", target="#task", text=task)
        agent.do("click", target=ref_of(agent.see("New task"), "button", "Add"))
        agent.see(task, f"{n} open")
    agent.do("click", target=ref_of(agent.see(), "checkbox", "Bread"))
    agent.do("click", target=ref_of(agent.see("2 open"), "button", "Delete Milk"))
    agent.do("click", target=ref_of(agent.see("1 open", unless="Milk"), "button", "Done"))
    agent.see("Bread", unless="Tea")
    assert agent.js("JSON.stringify(state.items.map(i => [i.text, i.done]))") == '[["Bread",true],["Tea",false]]'


@pytest.mark.parametrize("store", ["", "?store=1"])
def test_todo_list(agent: Agent, site: PageServer, store: str) -> None:
    for _ in RUNS:
        check_todo(agent, site.url(f"todo.html{store}"))


def test_login_with_redirect(agent: Agent, site: PageServer) -> None:
    for n in RUNS:
        agent.do("navigate", url=site.url(f"login?ms={(n % 3) * 60}"))
        agent.do(
            "fill_form", fields=[{"target": "[name=user]", "value": "ada"}, {"target": "[name=password]", "value": "x"}]
        )
        agent.do("click", target=ref_of(agent.see("Log in"), "button", "Log in"))
        page = agent.see("Wrong user or password")
        agent.do("type_text", target=ref_of(page, "textbox", "User"), text="ada")
        agent.do("type_text", target=ref_of(page, "textbox", "Password"), text="lovelace", submit=True)
        page = agent.see("/account", "Account of ada", unless="Wrong user")
        agent.do("click", target=ref_of(page, "link", "Log out"))
        agent.see("/login", unless="Account of")


def test_wizard_with_late_timers(agent: Agent, site: PageServer) -> None:
    for n in RUNS:
        agent.do("navigate", url=site.url("wizard.html"))
        agent.do("type_text", target=ref_of(agent.see("Step 1"), "textbox", "Name"), text=f"Ada {n}")
        agent.do("click", target="#next")
        agent.do("select_option", target=ref_of(agent.see("Step 2"), "combobox", "Size"), values=["L"])
        agent.do("click", target="#next")
        agent.do("click", target=ref_of(agent.see("Step 3"), "checkbox", "I agree"))
        agent.do("click", target="#next")
        agent.do("click", target=ref_of(agent.see("Step 4", f"Ada {n}"), "button", "Finish"))
        agent.see("All done")
        assert agent.js("JSON.stringify([answers, seen])") == (
            f'[{{"name":"Ada {n}","size":"L","terms":true}},["name","size","terms","review","done"]]'
        )


def test_wizard_without_looking(agent: Agent, site: PageServer) -> None:
    """Blind, by CSS, in one batch: each step must wait for what the one before it started."""
    for n in RUNS:
        agent.do("navigate", url=site.url("wizard.html"))
        steps = [
            {"tool": "type_text", "args": {"target": "#field", "text": f"Ada {n}"}},
            {"tool": "click", "args": {"target": "#next"}},
            {"tool": "select_option", "args": {"target": "#field", "values": ["M"]}},
            {"tool": "click", "args": {"target": "#next"}},
            {"tool": "click", "args": {"target": "#field"}},
            {"tool": "click", "args": {"target": "#next"}},
            {"tool": "click", "args": {"target": "#next"}},
        ]
        agent.do("batch", steps=steps)
        agent.see("All done")
        assert agent.js("JSON.stringify(answers)") == f'{{"name":"Ada {n}","size":"M","terms":true}}'


@pytest.mark.parametrize("late", ["", "?async=1"])
def test_table_that_renders_anew(agent: Agent, site: PageServer, late: str) -> None:
    for _ in RUNS:
        agent.do("navigate", url=site.url(f"table.html{late}"))
        for verb, name in (
            ("Edit", "Grace"),
            ("Delete", "Linus"),
            ("Edit", "Ken"),
            ("Delete", "Ada"),
            ("Edit", "Radia"),
        ):
            page = agent.see(name)
            agent.do("click", target=ref_of(page, "button", verb, after=f'button "{name}"'))
            agent.see(f"{verb.lower()} {name}")
        page = agent.see(unless='"Linus"')
        agent.do("click", target=ref_of(page, "button", "Shuffle"))
        agent.do("click", target=ref_of(agent.see(), "button", "Delete", after='button "Ken"'))
        agent.see("delete Ken", unless='button "Ken"')
        assert agent.js("JSON.stringify(Object.keys(hits).sort())") == (
            '["0:delete","1:edit","2:delete","6:edit","9:delete","9:edit"]'
        )


def test_router_without_loads(agent: Agent, site: PageServer) -> None:
    for n in RUNS:
        agent.do("navigate", url=site.url("spa.html"))
        agent.do("click", target=ref_of(agent.see("Welcome"), "link", "List"))
        page = agent.see("page=list", f"Item {n % 3 + 1}", unless="Welcome")
        agent.do("click", target=ref_of(page, "link", f"Item {n % 3 + 1}"))
        agent.see(f"Detail of item{n % 3 + 1}")
        agent.do("go_back")
        agent.see("page=list", "Item 3", unless="Detail of")
