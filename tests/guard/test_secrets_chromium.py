"""Secrets in a real browser: typed by name into their own domains, and found in nothing that comes back."""

import asyncio
import html
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.promises import promise
from tests.server import PageServer

pytestmark = promise("D12", "D11")

VALUE = 'Tr0ub4dor & "3" <x>/é'
FORM = """<form><label>User <input id=user></label><label>Password <input id=pw type=password></label>
<textarea id=area></textarea><input id=day type=date><select id=list><option>a</option></select></form>"""


@pytest.fixture
async def secrets(house: House) -> AsyncIterator[None]:
    house.secrets.set("login", VALUE, ["127.0.0.1"])
    house.secrets.set("card", "a-visible-value-1", ["127.0.0.1"], any_field=True)
    house.secrets.set("elsewhere", "never typed here", ["example.com", "*.example.org"])
    yield
    for name in ("login", "card", "elsewhere"):
        house.secrets.remove(name)


async def refusal(agent: Agent, tool: str, **args: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await agent.call(tool, **args)
    return caught.value


async def held(agent: Agent, field: str) -> str:
    """By its length: the value itself would be masked."""
    return await agent.js(f"[...document.querySelector('{field}').value].map((c) => c.codePointAt(0)).join('.')")


def codes(text: str) -> str:
    return ".".join(str(ord(one)) for one in text)


@pytest.mark.usefixtures("secrets")
async def test_a_secret_is_typed_by_its_name(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM))
    await agent.js("globalThis.heard = []; for (const kind of ['input', 'change', 'keyup']) "
                   "pw.addEventListener(kind, (e) => heard.push(kind + e.isTrusted))")  # fmt: skip
    told = await agent.ask("type_text", target="#pw", text="secret:login", snapshot="full")
    assert not told.failed
    assert "Tr0ub4dor" not in told.text + str(told.data)
    assert await held(agent, "#pw") == codes(VALUE)
    assert await agent.js("heard.join()") == "inputfalse,keyupfalse,changefalse"
    await agent.call(
        "fill_form", fields=[{"target": "#user", "value": "ada"}, {"target": "#pw", "value": "secret:card"}]
    )
    assert await held(agent, "#pw") == codes("a-visible-value-1")
    await agent.call("type_text", target="#pw", text="secret:card", clear=False)
    assert await held(agent, "#pw") == codes("a-visible-value-1" * 2)


@pytest.mark.usefixtures("secrets")
async def test_a_secret_that_the_page_takes_away_again_is_told(agent: Agent, site: PageServer):
    page = "<input id=pw type=password onchange=\"setTimeout(() => pw.value = '', 0)\">"
    await agent.call("navigate", url=site.inline(page))
    done = await agent.call("type_text", target="#pw", text="secret:login")
    assert done["note"] == "the field holds 0 characters now"


@pytest.mark.usefixtures("secrets")
async def test_only_where_nobody_can_read_along(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM))
    for field in ("#user", "#area"):
        failure = await refusal(agent, "type_text", target=field, text="secret:login")
        assert failure.code == "denied"
        assert "--any-field" in str(failure.suggestions)
        assert await held(agent, field) == ""
        await agent.call("type_text", target=field, text="secret:card")
        assert await held(agent, field) == codes("a-visible-value-1")
    for tool, args in (
        ("get_page_state", {"full": True}), ("get_page_text", {}), ("get_ax_tree", {}), ("find", {"pattern": "visible"}),
        ("get_dom_context", {"target": "form"}), ("extract_data", {"fields": {"x": "#user@value", "y": "#area"}}),
        ("evaluate_js", {"expression": "user.value + area.value"}),
    ):  # fmt: skip
        answer = await agent.ask(tool, **args)
        assert not answer.failed, tool
        assert "visible-value" not in answer.text + str(answer.data), tool
    assert (await refusal(agent, "type_text", target="#day", text="secret:card")).code == "bad_request"
    assert (await refusal(agent, "slow_type", target="#pw", text="secret:login")).code == "bad_request"


@pytest.mark.usefixtures("secrets")
async def test_a_page_that_opens_the_field_when_it_gets_the_focus_gets_nothing(agent: Agent, site: PageServer):
    page = "<input id=pw type=password onfocus=\"this.type='text'\">"
    await agent.call("navigate", url=site.inline(page))
    assert (await refusal(agent, "type_text", target="#pw", text="secret:login")).code == "denied"
    assert await held(agent, "#pw") == ""


@pytest.mark.usefixtures("secrets")
async def test_only_its_own_domains_get_it(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM).replace("127.0.0.1", "localhost"))
    failure = await refusal(agent, "type_text", target="#pw", text="secret:login")
    assert failure.code == "denied"
    assert "127.0.0.1" in failure.message
    failure = await refusal(agent, "type_text", target="#pw", text="secret:nobody")
    assert failure.code == "not_found"
    assert failure.details["names"] == []
    await agent.call("navigate", url=site.inline(FORM))
    failure = await refusal(agent, "fill_form", fields=[{"target": "#pw", "value": "secret:nobody"}])
    assert failure.details["names"] == ["card", "login"]
    assert await held(agent, "#pw") == ""


@pytest.mark.usefixtures("secrets")
async def test_the_frame_that_holds_the_field_counts(agent: Agent, site: PageServer):
    inner = site.inline(FORM)
    other = inner.replace("127.0.0.1", "localhost")
    boxed = f"<iframe sandbox='allow-scripts' srcdoc='{html.escape(FORM)}'></iframe>"
    for frame, code in (
        (f"<iframe src='{other}'></iframe>", "denied"),
        (boxed, "denied"),
        (f"<iframe srcdoc='{html.escape(FORM)}'></iframe>", ""),
    ):
        await agent.call("navigate", url=site.inline(f"<h1>Outer</h1>{frame}"))
        await agent.call("wait_for", target="#pw")
        answer = await agent.ask("type_text", target="#pw", text="secret:login")
        assert (answer.data["error"]["code"] if answer.failed else "") == code, frame
    await agent.call(
        "navigate", url=site.inline(f"<iframe src='{inner}'></iframe>").replace("127.0.0.1", "localhost", 1)
    )
    await agent.call("wait_for", target="#pw")
    assert not (await agent.ask("type_text", target="#pw", text="secret:login")).failed


@pytest.mark.usefixtures("secrets")
async def test_a_page_around_the_frame_cannot_catch_it(agent: Agent, site: PageServer):
    """It takes the focus at every chance; what is typed by keys would land in its own field."""
    frame = site.inline(FORM)
    thief = f"""<input id=mine><iframe src='{frame}'></iframe>
    <script>setInterval(() => mine.focus(), 0); addEventListener('blur', () => mine.focus())</script>"""
    await agent.call("navigate", url=site.inline(thief).replace("127.0.0.1", "localhost", 1))
    await agent.call("wait_for", target="#pw")
    for _ in range(5):
        answer = await agent.ask("type_text", target="#pw", text="secret:login")
        assert not answer.failed, answer.text
    assert await agent.js("mine.value") in ("", None)


@pytest.mark.usefixtures("secrets")
async def test_names_mean_nothing_anywhere_else(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM))
    assert await agent.js("'secret:login'") == "secret:login"
    value = await agent.call("evaluate_js", expression="(one) => one", args=["secret:login"])
    assert value["value"] == "secret:login"
    await agent.call("navigate", url=site.inline("x") + "?p=secret:login")
    assert "secret:login" in str(await agent.call("get_page_state")) + await agent.js("location.href")
    assert (await refusal(agent, "click", target="secret:login")).code in ("bad_request", "not_found")
    await agent.call("set_storage", key="k", value="secret:login")
    assert await agent.js("localStorage.k === 'secret:' + 'login'") is True


@pytest.mark.usefixtures("secrets")
async def test_the_log_has_the_name_and_never_the_value(house: House, agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM))
    await agent.call("type_text", target="#pw", text="secret:login")
    await agent.call(
        "fill_form", fields=[{"target": "#pw", "value": "secret:login"}, {"target": "#user", "value": "ada"}]
    )
    text = (house.home / "audit.jsonl").read_text()
    lines = [line for line in text.splitlines() if '"type_text"' in line or '"fill_form"' in line]
    assert '"text":"secret:login"' in lines[-2]
    assert '"value":"secret:login"' in lines[-1]
    assert '"(3 characters)"' in lines[-1]
    assert "Tr0ub4dor" not in text


@pytest.mark.usefixtures("secrets")
async def test_what_the_page_sends_comes_back_masked(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(FORM))
    await agent.call("type_text", target="#pw", text="secret:login")
    sent = """(async () => { const v = pw.value; console.log('typed', v, {v}); document.title = v;
      await fetch('/?q=' + encodeURIComponent(v), {method: 'POST', body: JSON.stringify({v, twice: JSON.stringify(v)})});
      await fetch('/', {headers: {'x-note': 'hi ' + btoa(unescape(encodeURIComponent('ada:' + v)))}});
      localStorage.v = v; document.cookie = 'v=' + encodeURIComponent(v); return [v, encodeURI(v), v.split('').join('\\n')] })()"""
    answers = [await agent.ask("evaluate_js", expression=sent)]
    listed = await agent.ask("get_network_log", limit=50)
    answers += [listed, await agent.ask("get_console_logs"), await agent.ask("list_tabs")]
    for one in listed.data["requests"]:
        answers.append(await agent.ask("get_network_request", id=one["id"]))
    answers += [await agent.ask("get_storage"), await agent.ask("get_cookies"), await agent.ask("get_page_state")]
    told = "".join(one.text + str(one.data) for one in answers)
    assert not [one.text for one in answers if one.failed]
    assert "Tr0ub4dor" not in told
    assert "[secret:login]" in told
    assert "VHIwdWI0ZG9y" not in told
    assert "T\nr\n0" not in told
    assert "cjB1YjRkb3I" not in told


async def test_a_new_secret_is_known_at_once(house: House, agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline("<p>fresh-as-the-morning"))
    assert "fresh-as-the-morning" in await agent.text("get_page_text")
    await asyncio.to_thread(house.secrets.set, "fresh", "fresh-as-the-morning", ["example.com"])
    assert "[secret:fresh]" in await agent.text("get_page_text")
    house.secrets.remove("fresh")
    assert "fresh-as-the-morning" in await agent.text("get_page_text")


@pytest.mark.usefixtures("secrets")
async def test_nobody_finds_a_secret_by_guessing_how_it_begins(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline("<p>your key: a-visible-value-1</p><p>a visible word</p>"))
    assert (await agent.call("find", text="a-vis"))["total"] == 0
    assert (await agent.call("find", pattern="a-v.*-1"))["total"] == 0
    assert (await agent.call("find", text="your key"))["total"] == 1
    problem = await refusal(agent, "wait_for", text="a-visible-v", timeout_ms=700)
    assert problem.code == "timeout"
    assert (await agent.call("wait_for", gone="a-visible-v", timeout_ms=5000))["met"] == "gone"
    assert (await agent.call("wait_for", text="visible", timeout_ms=5000))["met"] == "text"  # shown elsewhere too


@pytest.mark.usefixtures("secrets")
async def test_nor_where_lines_are_cut(agent: Agent, site: PageServer):
    lists = "".join(f"<option>Key {number}" for number in range(60)) + "<option>Key a-visible-value-1"
    ends = f"<p>{'word ' * 600}your key: a-visible-value-1 for life</p><select>{lists}</select>"
    await agent.call("navigate", url=site.inline(ends))
    assert (await agent.call("find", text="a-vis"))["total"] == 0
    assert (await agent.call("find", pattern="a-v.*-1"))["total"] == 0
    (hit,) = (await agent.call("find", text="for life"))["hits"]
    assert "your key: [secret:card] for life" in hit


@pytest.mark.usefixtures("secrets")
async def test_nor_by_what_a_script_holds_or_an_xpath_compares(agent: Agent, site: PageServer):
    page = "<main><h1>Page</h1><p>your key: a-visible-value-1</p></main><i><script>var key = 'a-visible-value-1'</script></i>"
    await agent.call("navigate", url=site.inline(page))
    for target in ("text=a-visible-v", "xpath=//p[contains(., 'a-visible-v')]", "xpath=//i[starts-with(.,'var key = \'a')]",
                   "xpath=//*[substring(normalize-space(text()), 11, 1) = 'a']"):  # fmt: skip
        assert (await refusal(agent, "hover", target=target)).code in ("not_found", "bad_request")
    for target in ("xpath=//h1[contains(., 'Page')]", "xpath=//main/p", "text=your key"):
        await agent.call("hover", target=target)


ECHO = """<p>got Tr0ub4dor &amp; "3" &lt;x&gt;/é now</p><p>got Tea</p><button>got a-visible-value-1</button>
<label>about a-visible-value-1 <input></label>"""


@pytest.mark.usefixtures("secrets")
@pytest.mark.parametrize("guess", ["got Tr0u", "got T", "r0ub4dor", "<x>/é now", "got Tr0x"])
async def test_nor_with_words_around_the_guess(agent: Agent, site: PageServer, guess: str):
    await agent.call("navigate", url=site.inline(ECHO))
    shown = guess == "got T"  # "got Tea" is
    waits: list[tuple[str, dict[str, str]]] = [
        ("wait_for", {"text": guess}), ("wait_for_text", {"text": guess}), ("wait_for", {"target": f"text={guess}"}),
        ("wait_for_element", {"target": f"text={guess}"}),
    ]  # fmt: skip
    patience_ms = 5000 if shown else 700
    answers = await asyncio.gather(*(agent.ask(tool, **args, timeout_ms=patience_ms) for tool, args in waits))
    for answer, wait in zip(answers, waits, strict=True):
        assert answer.failed is not shown, wait
    if not shown:
        assert (await agent.call("wait_for", gone=guess, timeout_ms=5000))["met"] == "gone"
        assert (await agent.call("wait_for", gone=f"text={guess}", timeout_ms=5000))["met"] == "gone"
        assert (await refusal(agent, "hover", target=f"text={guess}")).code == "not_found"


@pytest.mark.usefixtures("secrets")
async def test_nor_by_the_name_of_a_thing(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline(ECHO))
    for target in ("label=about a-v", "label=about a-x", 'role=button[name="got a-visible-value-1"]',
                   "role=button[name=/got a-v/]", "role=button[name=/got a-x/]"):  # fmt: skip
        failure = await refusal(agent, "hover", target=target)
        assert (failure.code, failure.details["candidates"]) == ("not_found", []), target
    for target in ("label=about", "text=got", "role=button[name=/^got/]"):
        assert not (await agent.ask("hover", target=target)).failed, target


@pytest.mark.usefixtures("secrets")
async def test_nor_in_addresses_and_logs(agent: Agent, site: PageServer):
    await agent.call("navigate", url=site.inline("<p>x</p>"))
    await agent.js("history.replaceState(0, '', '#got-a-visible-value-1')")
    await agent.js("console.log('got a-visible-value-1'); fetch('/x?q=got-a-visible-value-1').catch(() => 0)")
    assert (await refusal(agent, "wait_for_url", url="*got-a-vis*", timeout_ms=700)).code == "timeout"
    assert (await agent.call("wait_for_url", url="*#got-*", timeout_ms=5000))["met"] == "url"
    assert (await agent.call("get_console_logs", pattern="got a-vis"))["total"] == 0
    assert (await agent.call("get_console_logs", pattern="got"))["total"] == 1
    assert (await agent.call("get_network_log", url_pattern="q=got-a-vis"))["total"] == 0
    assert (await agent.call("get_network_log", url_pattern="q=got-"))["total"] == 1
    for pattern, stopped in (("*q=got-a-vis*", False), ("*q=got-*", True)):
        await agent.call("block_url", pattern=pattern)
        said = await agent.js("fetch('/x?q=got-a-visible-value-1').then(() => 'went', () => 'stopped')")
        assert said == ("stopped" if stopped else "went")
