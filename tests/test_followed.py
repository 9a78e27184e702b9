"""D01: a file that is followed: no change is missed, however soon after the first reading it comes."""

import asyncio
from pathlib import Path

import pytest

from pilothouse import reload
from pilothouse.errors import Failure
from pilothouse.reload import Followed
from tests.promises import promise

pytestmark = promise("D01")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reload, "EVERY_S", 0.001)


async def test_what_is_written_between_the_first_reading_and_the_following_is_noticed(tmp_path: Path):
    path = tmp_path / "policy.toml"
    path.write_text("one")
    followed = Followed(path)
    assert path.read_text() == "one"  # as the house is built
    path.write_text("another")  # while it is still being built
    heard: asyncio.Queue[str] = asyncio.Queue()
    following = asyncio.create_task(followed.follow(path.read_text, heard.put_nowait))
    assert await asyncio.wait_for(heard.get(), 5) == "another"
    path.write_text("and more")
    assert await asyncio.wait_for(heard.get(), 5) == "and more"
    following.cancel()


async def test_a_text_that_is_not_taken_is_told_and_the_next_one_is_read(tmp_path: Path):
    path = tmp_path / "policy.toml"
    followed = Followed(path)
    path.write_text("wrong")
    heard: asyncio.Queue[object] = asyncio.Queue()

    def read() -> str:
        if (text := path.read_text()) == "wrong":
            raise Failure("bad_request", "it is wrong")
        return text

    following = asyncio.create_task(followed.follow(read, heard.put_nowait, refused=heard.put_nowait))
    assert isinstance(await asyncio.wait_for(heard.get(), 5), Failure)
    path.write_text("mended")
    assert await asyncio.wait_for(heard.get(), 5) == "mended"
    following.cancel()
