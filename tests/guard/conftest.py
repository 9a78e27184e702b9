"""What tests of the sluice share: somebody to reach."""

from collections.abc import AsyncIterator

import pytest

from tests.guard.test_sluice import echo, serve


@pytest.fixture
async def echo_port() -> AsyncIterator[int]:
    server, port = await serve(echo)
    yield port
    server.close()
