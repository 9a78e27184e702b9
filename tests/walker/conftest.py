import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chrome import PAGES, Chrome, serve


@pytest.fixture(scope="session")
def chrome():
    browser = Chrome()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def pages_site():
    server, base = serve(PAGES)
    yield base
    server.shutdown()
