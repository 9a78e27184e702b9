"""extract_data: fields, repeated records, tables."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import fails
from tests.house import Agent
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("C01")

SHOP = """<!doctype html><h1>  Blue
 shop </h1><ul><li class=item data-id=1><a href=/mug>Mug</a> <b class=price>$18</b></li>
<li class=item data-id=2><a href=/cup>Cup</a></li></ul><input id=q value=typed><input id=p type=password value=hunter22>
<input id=c type=checkbox checked><select id=s><option>One<option selected>Two</select><p hidden id=h>unseen</p>"""


async def rows(agent: Agent, site: PageServer, html: str, **options: Any) -> list[dict[str, Any]]:
    await agent.call("navigate", url=site.inline(f"<!doctype html>{html}"))
    return (await agent.call("extract_data", table="table", **options))["records"]


async def test_fields(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SHOP))
    fields = {
        "title": "h1", "link": "a@href", "id": ".item@data-id", "typed": "#q", "value": "#q@value", "box": "#c",
        "choice": "#s", "hidden": "#h", "hid": "#p", "secret too": "#p@value", "role": 'role=link[name="Cup"]',
        "text": "text=Cup@href",
    }  # fmt: skip
    (found,) = (await agent.call("extract_data", fields=fields))["records"]
    assert found == {
        "title": "Blue shop", "link": site.url("mug"), "id": "1", "typed": "typed", "value": "typed", "box": True,
        "choice": "Two", "hidden": "unseen", "hid": "••••", "secret too": "••••", "role": "Cup",
        "text": site.url("cup"),
    }  # fmt: skip


async def test_what_is_missing_is_null_and_said(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SHOP))
    answer = await agent.ask("extract_data", fields={"title": "h1", "none": "h6", "no attribute": "h1@href"})
    assert answer.data["records"] == [{"title": "Blue shop", "none": None, "no attribute": None}]
    assert answer.data["missing"] == ["none", "no attribute"]
    assert "nowhere found: none, no attribute" in answer.text


async def test_repeated_records(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.inline(SHOP))
    fields = {"id": "@data-id", "name": "a", "price": ".price", "all": "."}
    found = await agent.call("extract_data", each="li.item", fields=fields)
    assert found["records"] == [
        {"id": "1", "name": "Mug", "price": "$18", "all": "Mug $18"},
        {"id": "2", "name": "Cup", "price": None, "all": "Cup"},
    ]
    assert "missing" not in found
    cut = await agent.ask("extract_data", each="li", fields={"name": "a"}, limit=1)
    assert (len(cut.data["records"]), cut.data["total"]) == (1, 2)
    assert "1 of 2 records" in cut.text
    assert (await agent.call("extract_data", each=".none", fields={"name": "a"}))["records"] == []


async def test_in_shadow_roots_and_frames(agent: Agent, site: PageServer) -> None:
    page = """<x-a></x-a><x-b></x-b><iframe srcdoc="<h2>Framed</h2>"></iframe><script>
      for (const [name, mode] of [['x-a', 'open'], ['x-b', 'closed']])
        document.querySelector(name).attachShadow({mode}).innerHTML = `<p class=${mode}>in ${mode}</p>`</script>"""
    await agent.call("navigate", url=site.inline(page))
    (found,) = (await agent.call("extract_data", fields={"a": ".open", "b": ".closed", "c": "h2"}))["records"]
    assert found == {"a": "in open", "b": "in closed", "c": None}
    (inner,) = (await agent.call("extract_data", each="x-a", fields={"a": "p"}))["records"]
    assert inner == {"a": "in open"}
    await agent.call("switch_frame", frame="iframe")
    assert (await agent.call("extract_data", fields={"c": "h2"}))["records"] == [{"c": "Framed"}]


async def test_a_plain_table(agent: Agent, site: PageServer) -> None:
    html = "<table><thead><tr><th>Name<th>Price</thead><tbody><tr><td>Mug<td>18<tr><td>Cup<td></tbody></table>"
    assert await rows(agent, site, html) == [{"Name": "Mug", "Price": "18"}, {"Name": "Cup", "Price": ""}]
    answer = await agent.ask("extract_data", table="table", limit=1)
    assert answer.data["total"] == 2
    assert "1 of 2 records" in answer.text
    assert (await agent.call("extract_data", table="td"))["total"] == 2


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", [{"A": "1", "B": "2"}]),
        ("<table><tr><td>1<td>2<tr><td>3</table>", [{"column 1": "1", "column 2": "2"}, {"column 1": "3", "column 2": None}]),
        ("<table><tr><th scope=row>A<td>1<tr><th scope=row>B<td>2</table>", [{"column 1": "A", "column 2": "1"}, {"column 1": "B", "column 2": "2"}]),
        ("<table><tr><th>A<th>A<th><tr><td>1<td>2<td>3</table>", [{"A": "1", "A 2": "2", "column 3": "3"}]),
        (
            "<table><thead><tr><th rowspan=2>Who<th colspan=2>Size<tr><th>W<th>H</thead><tr><td>x<td>1<td>2</table>",
            [{"Who": "x", "Size / W": "1", "Size / H": "2"}],
        ),
        (
            "<table><tr><th>A<th>B<tr><td rowspan=2>x<td>1<tr><td>2<tr><td colspan=2>both</table>",
            [{"A": "x", "B": "1"}, {"A": "x", "B": "2"}, {"A": "both", "B": "both"}],
        ),
        (
            "<table><tr><th>A<tr><td>1<table><tr><th>In<tr><td>ner</table><tr style='display:none'><td>unseen</table>",
            [{"A": "1\nIn\nner"}],
        ),
        ("<table><tr><th>A<tr><td><img alt=Yes src=data:,></table>", [{"A": "Yes"}]),
        ("<table><tr><th>A<tr><td colspan=99999 rowspan=99999>1</table>", [{"A": "1"} | {f"column {n}": "1" for n in range(2, 201)}]),
        ("<table></table>", []),
    ],
)  # fmt: skip
async def test_tables_of_all_kinds(agent: Agent, site: PageServer, html: str, wanted: list[dict[str, Any]]) -> None:
    found = await rows(agent, site, html)
    plain = [{key: value and " ".join(value.replace("|", " ").split()) for key, value in one.items()} for one in found]
    assert plain == [{key: value and " ".join(value.split()) for key, value in one.items()} for one in wanted]


async def test_a_table_made_of_roles(agent: Agent, site: PageServer) -> None:
    html = """<div role=grid><div role=row><div role=columnheader>A</div><div role=columnheader>B</div></div>
      <div role=rowgroup><div role=row><div role=gridcell>1</div><div role=gridcell>2</div></div></div></div>"""
    await agent.call("navigate", url=site.inline(html))
    assert (await agent.call("extract_data", table="role=grid"))["records"] == [{"A": "1", "B": "2"}]


async def test_much_goes_into_a_file(agent: Agent, site: PageServer) -> None:
    await agent.call("navigate", url=site.url("big.html"))
    answer = await agent.ask("extract_data", each="*", fields={"all": "."}, limit=5000)
    assert len(answer.text) < 2000
    assert answer.data["records"] == []
    assert len(Path(answer.data["path"]).read_bytes()) > 20_000


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({}, "bad_request"),
        ({"each": "li"}, "bad_request"),
        ({"fields": {"a": "h1"}, "table": "table"}, "bad_request"),
        ({"fields": {"a": "h1[["}}, "bad_request"),
        ({"fields": {"a": "h1"}, "each": "li["}, "bad_request"),
        ({"table": "#nowhere"}, "not_found"),
        ({"table": "h1"}, "not_found"),
    ],
)
async def test_what_cannot_be(agent: Agent, site: PageServer, args: dict[str, Any], code: str) -> None:
    await agent.call("navigate", url=site.inline(SHOP))
    await fails(agent, code, "extract_data", **args)
