"""F07, D14: policy, browsers, secrets and health in the dashboard; small windows; what an accessibility audit finds."""

import asyncio
import json

import httpx
import pytest

from pilothouse.errors import Failure
from pilothouse.guard.policy import Policy
from pilothouse.guard.secrets import Secrets
from tests.daemon_here import Here, asks_for_writes
from tests.promises import promise
from tests.server import PageServer
from tests.ui.audit import AUDIT, axe_world
from tests.ui.conftest import RestAgent
from tests.ui.dashboard import Dashboard

pytestmark = promise("F07", "D14", "F08")

VIEWS = ["", "approvals", "activity", "policy", "browsers", "secrets", "health"]


async def test_the_policy_is_edited_live(here: Here, dashboard: Dashboard):
    await dashboard.go("policy")
    await dashboard.page.until("document.querySelector('.policy-text')")
    await dashboard.type("document.querySelector('[aria-label^=Host]')", "*.example.com")
    await dashboard.press("each write asks", "label.check")
    await dashboard.press("Save rule")
    await dashboard.sees("*.example.com", "table")
    await dashboard.sees("every write", "table")
    assert 'host = "*.example.com"' in (here.home / "policy.toml").read_text()
    assert "person" in await dashboard.page.js("text('table')")  # who set it, and when
    await dashboard.press("Remove", "table button")
    await dashboard.page.until("!document.querySelector('table')")
    assert "example.com" not in (here.home / "policy.toml").read_text()


async def test_a_bad_edit_is_refused(here: Here, dashboard: Dashboard):
    await dashboard.go("policy")
    await dashboard.page.until("document.querySelector('.policy-text')")
    before = (here.home / "policy.toml").read_text() if (here.home / "policy.toml").exists() else ""
    await dashboard.type("document.querySelector('.policy-text')", 'template = "open everything"')
    await dashboard.press("Save the file")
    await dashboard.page.until("document.querySelector('.problem')")
    assert "template" in await dashboard.page.js("text('.problem')")
    now = (here.home / "policy.toml").read_text() if (here.home / "policy.toml").exists() else ""
    assert now == before
    await dashboard.type("document.querySelector('.policy-text')", 'template = "careful"\n')
    await dashboard.press("Save the file")
    await dashboard.page.until("document.querySelector('select').value === 'careful'")
    await dashboard.type("document.querySelector('.policy-text')", "\n")
    await dashboard.press("Save the file")
    await dashboard.page.until("document.querySelector('select').value === ''")


async def test_a_change_from_elsewhere_takes_no_text_away(here: Here, dashboard: Dashboard):
    await dashboard.go("policy")
    await dashboard.page.until("document.querySelector('.policy-text')")
    await dashboard.type("document.querySelector('.policy-text')", "# half a thought")
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        assert (await person.patch("/api/policy", json={"mode": "ask"})).status_code == 200
        await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'ask'")
        assert await dashboard.page.js("document.querySelector('.policy-text').value") == "# half a thought"
        await dashboard.sees("The file has changed since you began")
        await dashboard.press("Undo my changes")
        await dashboard.page.until("document.querySelector('.policy-text').value.includes('mode = \"ask\"')")
        assert (await person.patch("/api/policy", json={"mode": "auto"})).status_code == 200
    await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'auto'")


TEXT = "document.querySelector('.policy-text')"


async def test_a_file_of_windows_is_edited(here: Here, dashboard: Dashboard):
    """Its lines end otherwise, before and after."""
    file = here.home / "policy.toml"
    file.write_bytes(b'# mine\r\nmode = "auto"\r\n')
    await dashboard.go("policy")
    await dashboard.page.until(f"{TEXT}?.value === '# mine\\nmode = \"auto\"\\n'")
    file.write_bytes(b'# yours\r\nmode = "auto"\r\n')
    await dashboard.page.until(f"{TEXT}.value.startsWith('# yours')")  # nobody had begun to write
    await dashboard.type(TEXT, '# ours\nmode = "ask"\n')
    await dashboard.press("Save the file")
    await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'ask'")
    assert file.read_bytes() == b'# ours\r\nmode = "ask"\r\n'
    file.write_text('mode = "auto"\n')
    await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'auto'")


async def test_a_file_that_does_not_hold_is_told_and_mended(here: Here, dashboard: Dashboard):
    """Somebody edits it by hand, badly, while another writes here."""
    file = here.home / "policy.toml"
    await dashboard.go("policy")
    await dashboard.page.until(TEXT)
    file.write_text('mode = "sometimes"\n')
    await dashboard.sees("The file’s newest text does not hold")
    await dashboard.page.until(f"{TEXT}.value.includes('sometimes')")
    await dashboard.type(TEXT, 'mode = "ask"\n')
    await dashboard.press("Save the file")
    await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'ask'")
    await dashboard.page.until("!text('main').includes('does not hold')")
    file.write_text('mode = "auto"\n')
    await dashboard.page.until("document.querySelector('[data-key=mode]').value === 'auto'")


async def test_two_who_write_the_file(here: Here, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch):
    """Who comes second keeps their text, sees the other's, and may still choose."""
    file = here.home / "policy.toml"
    await dashboard.go("policy")
    await dashboard.page.until(TEXT)
    monkeypatch.setattr(Policy, "_tell", lambda policy: None)  # the page hears of nothing
    file.write_text("# theirs\n")
    await dashboard.type(TEXT, "# mine\n")
    await dashboard.press("Save the file")
    await dashboard.sees("was changed meanwhile")
    await dashboard.sees("The file has changed since you began")
    assert await dashboard.page.js(f"{TEXT}.value") == "# mine\n"
    await dashboard.page.js("document.querySelector('.notice details').open = true")
    await dashboard.sees("# theirs", ".notice details")
    await dashboard.press("Save the file")
    await dashboard.sees("Saved; it holds.")
    assert file.read_text() == "# mine\n"
    file.write_text('mode = "auto"\n')


async def test_where_the_rest_starts_from(here: Here, dashboard: Dashboard):
    await dashboard.go("policy")
    for key, value, back in (("template", "careful", ""), ("mode", "readonly", "auto"), ("default", "deny", "")):
        select = f"document.querySelector('[data-key={key}]')"
        await dashboard.page.until(select)
        for chosen in (value, back):
            before = getattr(here.gate._policy.rules, key)
            choose = f"{select}.value = '{chosen}', {select}.dispatchEvent(new Event('change', {{bubbles: true}}))"
            await dashboard.page.js(choose)
            await dashboard.sees("Not applied yet")
            assert (
                getattr(here.gate._policy.rules, key) == before
            )  # who looks through a list by arrow keys sets nothing
            await dashboard.press("Apply")
            await dashboard.page.until("!text('main').includes('Not applied yet')")
            await dashboard.sees("Saved; it holds.")
            rules = here.gate._policy.rules
            await dashboard.page.until(f"{select}.value === '{chosen}'")
            assert (getattr(rules, key) or "") == chosen


async def test_what_does_not_hold_is_not_shown(here: Here, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch):
    def full(*args: object) -> None:
        raise Failure("system", "the disk is full")

    await dashboard.go("policy")
    select = "document.querySelector('[data-key=mode]')"
    await dashboard.page.until(select)
    monkeypatch.setattr("pilothouse.guard.rulebook.Rulebook.set_all", full)
    await dashboard.page.js(f"{select}.value = 'readonly'")
    await dashboard.press("Apply")
    await dashboard.sees("the disk is full")
    assert await dashboard.page.js(f"{select}.value") == "auto"


async def test_what_would_happen(dashboard: Dashboard):
    await dashboard.go("policy")
    await dashboard.page.until("document.querySelector('.policy-text')")
    await dashboard.type("document.querySelector('[aria-label=Address]')", "http://169.254.169.254/latest/")
    await dashboard.press("Test")
    await dashboard.sees("denied", "[aria-label='What would happen']")
    await dashboard.type("document.querySelector('[aria-label=Address]')", "https://example.com/")
    await dashboard.press("Test")
    await dashboard.sees("read", "[aria-label='What would happen']")


async def test_secrets_by_name(here: Here, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch):
    def full(*args: object) -> None:
        raise Failure("system", "the disk is full")

    await dashboard.go("secrets")
    await dashboard.type("document.querySelector('input[placeholder=github_password]')", "shop_password")
    await dashboard.type("document.querySelector('input[type=password]')", "correct horse battery")
    await dashboard.type("document.querySelector('input[placeholder$=com]')", "shop.test")
    await dashboard.type("document.querySelector('input[placeholder^=what]')", "of the shop")
    await dashboard.press("Into any field", "label.check")
    await dashboard.press("Register", "form button")
    await dashboard.sees("secret:shop_password")
    await dashboard.sees("of the shop", "[aria-label=Secrets]")
    await dashboard.sees("any field", "[aria-label=Secrets]")
    assert "correct horse" not in await dashboard.page.js("document.documentElement.outerHTML")
    assert await dashboard.page.js("document.querySelector('input[type=password]').value") == ""
    with monkeypatch.context() as patch:
        patch.setattr(Secrets, "remove", full)
        await dashboard.press("Remove")
        assert await dashboard.page.js("document.activeElement.textContent") == "Cancel"  # a key too soon does no harm
        await dashboard.press("Remove", "dialog button")
        await dashboard.sees("the disk is full")
    await dashboard.press("Remove")
    await dashboard.press("Remove", "dialog button")
    await dashboard.sees("No secret is registered")
    # What is changed elsewhere is seen here.
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        given = {"value": "hunter2", "domains": ["shop.test"]}
        assert (await person.put("/api/secrets/elsewhere", json=given)).status_code == 200
        await dashboard.sees("secret:elsewhere")
        assert (await person.delete("/api/secrets/elsewhere")).status_code == 200
        await dashboard.sees("No secret is registered")


async def test_health_and_browsers(dashboard: Dashboard, agent: RestAgent, site: PageServer):
    await agent.do("navigate", url=site.url("small.html"))
    await dashboard.go("health")
    await dashboard.page.until("document.querySelectorAll('.spark .stroke').length >= 4", 15)
    await dashboard.sees("Open sessions")
    await dashboard.sees("MB in")
    await dashboard.go("browsers")
    await dashboard.sees("No browser is paired")
    await dashboard.sees("There is no profile")


async def test_a_profile_is_listed(dashboard: Dashboard, agent: RestAgent):
    await dashboard.go("browsers")
    await dashboard.sees("There is no profile")
    assert (await agent.line.post("/api/profiles", json={"name": "ledger"})).json()["success"]
    await dashboard.sees("ledger", "[aria-label=Profiles]")
    assert (await agent.line.delete("/api/profiles/ledger")).json()["success"]
    await dashboard.sees("There is no profile")


async def test_the_browser_of_a_profile_is_ended(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer):
    assert (await agent.line.post("/api/profiles", json={"name": "ledger"})).json()["success"]
    launched = await agent.line.post("/api/tools/launch_browser", json={"profile": "ledger"})
    assert launched.json()["success"]
    await dashboard.go("browsers")
    await dashboard.sees("running", "[aria-label=Profiles]")
    await dashboard.press("End browser")
    await dashboard.press("End browser", "dialog button")
    await dashboard.page.until("!find('button', 'End browser')")
    failure = (
        await agent.line.post("/api/tools/list_tabs", json={"session": launched.json()["data"]["session"]})
    ).json()
    assert "the person ended the browser of profile ledger" in failure["error"]["message"]
    running = (await agent.line.post("/api/tools/get_running_browsers", json={})).json()["data"]["browsers"]
    assert not [one for one in running if one["browser"] == "profile"]
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.person}) as person:
        assert (await person.post("/api/dashboard/profiles/ledger/end", json={})).status_code == 404
    async with httpx.AsyncClient(base_url=here.url, headers={"X-API-Key": here.agent}) as other:
        assert (await other.post("/api/dashboard/profiles/ledger/end", json={})).status_code == 403
    assert (await agent.line.delete("/api/profiles/ledger")).json()["success"]


@pytest.mark.parametrize("width", [360, 800, 1600])
async def test_nothing_is_wider_than_the_window(dashboard: Dashboard, agent: RestAgent, site: PageServer, width: int):
    await agent.do("navigate", url=site.url("form.html"))
    await dashboard.resize(width, 740)
    for view in [*VIEWS, f"session/{agent.session}"]:
        await dashboard.go(view)
        await dashboard.page.until("document.querySelector('.view h1')")
        over = await dashboard.page.js("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{view} at {width}: {over} px too wide"


@pytest.mark.parametrize("dark", [False, True])
async def test_accessibility(here: Here, dashboard: Dashboard, agent: RestAgent, site: PageServer, dark: bool):
    """What axe calls serious or critical is in no view, with something in each."""
    await agent.do("navigate", url=site.url("form.html"))
    await dashboard.resize(1280, 800, dark=dark)
    world = await axe_world(dashboard)
    here.decide = asks_for_writes
    call = asyncio.create_task(agent.call("click", target="button"))
    try:
        for view in [*VIEWS, f"session/{agent.session}"]:
            await dashboard.go(view)
            await dashboard.page.until("document.querySelector('.view h1')")
            if view == "approvals":
                await dashboard.page.until("document.querySelector('.question[data-calm]')")
            if view in ("", f"session/{agent.session}"):
                await dashboard.page.until("document.querySelector('canvas')?.dataset.frames > 0")
            found = await dashboard.page.js(AUDIT, contextId=world)
            assert not found, f"{view or 'sessions'}: {json.dumps(found, indent=1)}"
    finally:
        for one in here.gate.approvals.pending():
            await here.gate.approvals.answer(one["id"], "deny")
        await call
        here.gate.approvals._denials.clear()
