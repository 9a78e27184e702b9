"""Documents that a person is being asked about."""

import asyncio
from typing import Any, cast

import pytest

from pilothouse.browser.asking import Asking
from pilothouse.browser.border import Border
from tests.promises import promise

URL = "http://shop.test/"


class _Border:
    """Says yes when it is let."""

    def __init__(self, asks: bool) -> None:
        self.may_answer = asyncio.Event()
        self._asks = asks

    def asks(self, url: str) -> bool:
        return self._asks

    async def document(self, url: str) -> Any:
        await self.may_answer.wait()


@promise("D04", "D10")
@pytest.mark.parametrize("asks", [False, True])
async def test_only_who_is_asked_is_waited_for(asks: bool) -> None:
    """A load that fails while its document is judged was told as one that waits for a person."""
    asking, border = Asking(), _Border(asks)
    judged = asyncio.ensure_future(asking.judged(cast("Border", border), "tab", URL))
    await asyncio.sleep(0)
    assert asking.about("tab") == (URL if asks else "")
    border.may_answer.set()
    assert await judged is None
    assert asking.about("tab") == ""
