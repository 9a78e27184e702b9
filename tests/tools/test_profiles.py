"""The tools for profiles: what agents may write into a person's config.toml, and what they are told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.config import load
from pilothouse.errors import Failure
from tests.house import Agent, House
from tests.promises import promise

pytestmark = promise("B02")


@pytest.fixture
async def own_house(tmp_path: Path) -> AsyncIterator[House]:
    """No browser is started here; the file is the test's own."""
    one = House(tmp_path)
    yield one
    await one.close()


@pytest.fixture
def own(own_house: House) -> Agent:
    return own_house.agent()


async def refused(agent: Agent, tool: str, **args: object) -> Failure:
    with pytest.raises(Failure) as caught:
        await agent.call(tool, **args)
    return caught.value


async def test_from_creation_to_deletion(own: Agent, tmp_path: Path) -> None:
    made = await own.call(
        "create_profile", name="My Shop", lang="de-DE", tags=["a", "b"], viewport={"width": 800, "height": 600}
    )
    assert made["profile"]["id"] == "my-shop"
    assert made["profile"]["user_data_dir"] == str(tmp_path / "profiles" / "my-shop")
    await own.call("create_profile", name="Other")
    assert (await own.text("list_profiles")) == 'my-shop "My Shop"\nother "Other"'
    assert [one["id"] for one in (await own.call("list_profiles", tag="b"))["profiles"]] == ["my-shop"]
    await own.call("update_profile", profile="my-shop", lang="", timezone="Europe/Berlin", headless=False)
    shown = (await own.call("get_profile", profile_id="My Shop"))["profile"]
    assert (shown["lang"], shown["timezone"], shown["headless"], shown["running"]) == (
        "",
        "Europe/Berlin",
        False,
        False,
    )
    told = await own.text("get_profile", profile="my-shop")
    assert "headless: no\n" in told
    assert "viewport: 800 x 600\ntags: a, b\nrunning: no" in told
    (stored,) = [one for one in load(tmp_path / "config.toml").profiles if one.id == "my-shop"]
    assert (stored.lang, stored.timezone, stored.tags) == ("", "Europe/Berlin", ["a", "b"])
    folder = tmp_path / "profiles" / "my-shop"
    folder.mkdir(parents=True)
    assert "its data stays in" in await own.text("delete_profile", profile="my-shop")
    assert folder.exists()
    assert [one.id for one in load(tmp_path / "config.toml").profiles] == ["other"]


async def test_what_is_not_there_is_told_with_what_is(own: Agent) -> None:
    assert "create_profile" in (await refused(own, "get_profile", profile="x")).suggestions[0]
    await own.call("create_profile", name="one")
    for tool in ("get_profile", "update_profile", "delete_profile", "launch_browser"):
        failure = await refused(own, tool, profile="x")
        assert (failure.code, failure.suggestions) == ("not_found", ["profiles: one"]), tool


async def test_agents_stay_in_our_folder(own: Agent, tmp_path: Path) -> None:
    assert (await refused(own, "create_profile", name="x", user_data_dir="/etc")).code == "denied"
    await own.call("create_profile", name="x")
    assert (await refused(own, "update_profile", profile="x", user_data_dir="../sessions")).code == "denied"
    assert load(tmp_path / "config.toml").profiles[0].user_data_dir == ""


async def test_an_edit_by_hand_holds_at_once_and_a_mistake_in_it_is_told(own: Agent, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[[profiles]]\nid = "hand"  # mine\n')
    assert await own.text("list_profiles") == "hand"
    broken = '[[profiles]]\nid = "hand"\nlanguage = "de"\n'
    file.write_text(broken)
    for tool, args in {
        "list_profiles": {},
        "create_profile": {"name": "x"},
        "open_session": {"profile": "hand"},
    }.items():
        failure = await refused(own, tool, **args)
        assert failure.code == "bad_request", tool
        assert "profiles no. 1 has no key language; did you mean lang?" in failure.message
    assert file.read_text() == broken


async def test_the_password_of_a_proxy_is_not_shown(own: Agent) -> None:
    answer = await own.ask("create_profile", name="x", proxy_server="socks5://me:hunter2@proxy.test:1080")
    shown = await own.ask("get_profile", profile="x")
    assert "hunter2" not in answer.text + shown.text + str(answer.data) + str(shown.data)
    assert "proxy.test:1080" in shown.text


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"timezone": "Mars/Base"}, "no time zone"),
        ({"lang": "no language"}, "lang"),
        ({"viewport": {"width": 1, "height": 1}}, "100"),
        ({"proxy_server": "javascript:alert(1)"}, "proxy_server"),
    ],
)
async def test_values_are_checked_before_anything_is_written(
    own: Agent, tmp_path: Path, values: dict[str, object], complaint: str
) -> None:
    failure = await refused(own, "create_profile", name="x", **values)
    assert failure.code == "bad_request"
    assert complaint in failure.message
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("user:s3cret@proxy.test:1080", "[redacted]@proxy.test:1080"),
        ("http://user:s3cret'x@proxy.test:80", "http://[redacted]@proxy.test:80"),
        ('socks5://u:s3cret"w@[::1]:1', "socks5://[redacted]@[::1]:1"),
        ("http://s3cret@proxy.test", "http://[redacted]@proxy.test"),
        ("http://proxy.test:80", "http://proxy.test:80"),
    ],
)
@promise("D11", "D13")
async def test_who_a_proxy_is_told_to_be_is_shown_and_logged_nowhere(
    own: Agent, tmp_path: Path, address: str, shown: str
) -> None:
    answers = [
        await own.ask("create_profile", name="x", proxy_server=address),
        await own.ask("update_profile", profile="x", proxy_server=address),
        await own.ask("get_profile", profile="x"),
        await own.ask("list_profiles"),
        await own.ask("open_session", browser="remote", proxy=address),
        await own.ask("batch", steps=[{"tool": "open_session", "args": {"browser": "remote", "proxy": address}}]),
    ]
    assert "s3cret" not in "".join(answer.text + str(answer.data) for answer in answers)
    assert answers[2].data["profile"]["proxy_server"] == shown
    assert load(tmp_path / "config.toml").profiles[0].proxy_server == address
    written = (tmp_path / "audit.jsonl").read_text()
    assert "open_session" in written
    assert "s3cret" not in written


async def test_a_masked_proxy_that_comes_back_leaves_the_stored_one(own: Agent, tmp_path: Path) -> None:
    address = "http://u:s3cret@h.test:80"
    shown = (await own.call("create_profile", name="x", proxy_server=address))["profile"]["proxy_server"]
    await own.call("update_profile", profile="x", proxy_server=shown, lang="de")
    (stored,) = load(tmp_path / "config.toml").profiles
    assert (stored.proxy_server, stored.lang) == (address, "de")
    for wrong in ("http://u:[redacted]@h.test:80", "http://[redacted]@other.test:80"):
        assert (await refused(own, "update_profile", profile="x", proxy_server=wrong)).code == "bad_request"
        assert (await refused(own, "create_profile", name="y", proxy_server=wrong)).code == "bad_request"
    await own.call("update_profile", profile="x", proxy_server="http://h.test:80")
    assert load(tmp_path / "config.toml").profiles[0].proxy_server == "http://h.test:80"
