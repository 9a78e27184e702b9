"""E06: whatever the OpenAPI document allows or forbids, tools that read answer as it says, and nothing breaks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pilothouse.options import options
from tests.processes import Process, kill_daemon
from tests.promises import promise
from tests.server import PageServer

from .test_openapi import DOCUMENT

pytestmark = promise("E06")

CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
NO_RATE = {option.env: "0" for option in options() if option.name == "limits.requests_per_minute"}
FUZZ = settings(
    max_examples=8,
    deadline=None,
    database=None,
    derandomize=True,  # a failure here must be one that the next run shows too
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
)


def _is_quick_read(operation: Any) -> bool:
    """What waits for something, or for the person, would only let time pass here."""
    told = operation.definition.raw
    return told.get("x-access") == "read" and not told["operationId"].startswith(("wait", "ask_user"))


OPERATIONS: Any = schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()
READING = [one.ok() for one in OPERATIONS if _is_quick_read(one.ok())]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, site: PageServer) -> Iterator[httpx.Client]:
    """A daemon of its own, with a form open."""
    home: Path = tmp_path_factory.mktemp("fuzz")
    home.chmod(0o700)
    process = Process("serve", home=home, **NO_RATE)
    try:
        url, key = process.read()["url"], (home / "agent.key").read_text().strip()
        with httpx.Client(base_url=url, headers={"X-API-Key": key}, timeout=30) as one:
            assert one.post("/api/browser/default/navigate", json={"url": site.url("form.html")}).status_code == 200
            yield one
    finally:
        process.end()
        kill_daemon(home)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "forbidden"])
@pytest.mark.parametrize("operation", READING, ids=lambda one: one.definition.raw["operationId"])
def test_tools_that_read_take_anything(operation: Any, mode: GenerationMode, client: httpx.Client):
    @FUZZ
    @given(case=operation.as_strategy(generation_mode=mode))
    def fuzz(case: Any) -> None:
        if mode is GenerationMode.POSITIVE and "id" in case.path_parameters:
            case.path_parameters["id"] = "default"
        response = case.call(
            base_url=str(client.base_url), headers={"X-API-Key": client.headers["X-API-Key"]}, timeout=30
        )
        if not response.json()["success"]:
            assert response.json()["error"]["code"] not in ("system", "over_limit"), response.text
        case.validate_response(response, checks=CHECKS)

    fuzz()
