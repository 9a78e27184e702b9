"""`doctor` looks at every endpoint and at the Grid, and secrets go by name into what is sent to them."""

from pathlib import Path

import pytest

from pilothouse.adjusting import place_elsewhere
from pilothouse.commands.doctor import Finding, Patient, _elsewhere, _line
from pilothouse.config import load
from pilothouse.errors import Failure
from pilothouse.guard.keepers import Keepers
from pilothouse.guard.secrets import Secrets
from pilothouse.guard.vault import Vault
from pilothouse.options import Config, Endpoint, Grid, Sluice
from pilothouse.providers.elsewhere import Elsewhere
from pilothouse.providers.endpoint import EndpointSource
from tests.promises import promise
from tests.remote.afar import Afar

pytestmark = promise("E08", "H02", "H01")


def found(home: Path, **config: object) -> dict[str, tuple[str, str]]:
    return {one.check: (one.state, one.found) for one in _elsewhere(Patient(home, Config(**config)))}  # type: ignore[arg-type]


def test_what_is_there_and_what_is_not(tmp_path: Path, afar: Afar) -> None:
    endpoints = [Endpoint("lab", afar.url), Endpoint("gone", "http://127.0.0.1:9")]
    seen = found(tmp_path, endpoints=endpoints, grid=Grid("http://127.0.0.1:9"))
    assert seen["endpoint lab"][0] == "ok"
    assert "Chrome/" in seen["endpoint lab"][1]
    assert seen["endpoint gone"][0] == seen["grid"][0] == "fail"
    assert "connection refused" in seen["grid"][1]


def test_nothing_is_configured(tmp_path: Path) -> None:
    assert found(tmp_path) == {}


def test_a_file_names_them(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[[endpoints]]\nname = "lab"\nurl = "wss://browsers.example/?token=secret:lab"\n'
        'headers = {Authorization = "Bearer secret:lab"}\n[grid]\nurl = "http://grid.example:4444"\n'
        'capabilities = {"goog:chromeOptions" = {args = ["--headless=new"]}}\n'
    )
    config = load(tmp_path / "config.toml")
    assert config.endpoints[0].headers == {"Authorization": "Bearer secret:lab"}
    assert config.grid.capabilities == {"goog:chromeOptions": {"args": ["--headless=new"]}}


@pytest.mark.parametrize(
    "text",
    [
        '[[endpoints]]\nurl = "ws://a.example"',
        '[[endpoints]]\nname = "grid"',
        '[[endpoints]]\nname = "a"\nurl = "ftp://a.example"',
        '[[endpoints]]\nname = "a"\nurl = "ws://user:word@a.example"',
        '[[endpoints]]\nname = "a"\n[[endpoints]]\nname = "a"',
        '[sluice]\nadvertise = "pilothouse.internal"',
        '[sluice]\nadvertise = "pilothouse.internal"\nnodes = ["10.1.0.0/99"]',
        '[sluice]\nadvertise = "pilothouse.internal"\nnodes = ["10.1.0.0/16"]\nlisten = "this-machine"',
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Failure) as wrong:
        load(tmp_path / "config.toml")
    assert wrong.value.code == "bad_request"


async def test_secrets_go_to_their_own_domains_only(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, Vault(tmp_path))
    secrets.set("lab", "long-enough-token", ["browsers.example"])
    given = Endpoint("lab", "wss://browsers.example/?token=secret:lab", {"Authorization": "Bearer secret:lab"})
    url, headers = EndpointSource(given, secrets.written_out).written_out()
    assert url == "wss://browsers.example/?token=long-enough-token"
    assert headers == {"Authorization": "Bearer long-enough-token"}
    for other in ("wss://elsewhere.example/?token=secret:lab", "ws://browsers.example/?token=secret:lab"):
        with pytest.raises(Failure) as denied:
            EndpointSource(Endpoint("lab", other), secrets.written_out).written_out()
        assert denied.value.code == "denied"
        assert "long-enough-token" not in denied.value.message


@pytest.mark.parametrize(("listen", "state"), [("127.0.0.1", "ok"), ("", "ok"), ("192.0.2.1", "fail")])
def test_a_gateway_is_really_opened(tmp_path: Path, listen: str, state: str) -> None:
    gateways = Sluice(advertise="pilothouse.internal", nodes=["10.1.0.0/16"], listen=listen)
    told = found(tmp_path, sluice=gateways)["sluice"]
    assert told[0] == state
    assert "10.1.0.0/16" in told[1] or "no gateway can be opened" in told[1]


def test_what_a_browser_tells_of_itself_does_not_reach_the_terminal_raw() -> None:
    told = _line(Finding("endpoint lab", "ok", "Chrome\x1b[2J\x07", "do\x1b]0;this"))
    assert "\x1b" not in told.partition("endpoint")[2]
    assert "\x07" not in told


def test_gateways_that_were_changed_hold_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    elsewhere, keepers = Elsewhere(lambda text, origin: text), Keepers()
    began = Config().sluice
    place_elsewhere(elsewhere, keepers, began, Config(grid=Grid("http://127.0.0.1:4444")))
    assert caplog.text == ""
    assert keepers.called("localhost", 4444)
    place_elsewhere(elsewhere, keepers, began, Config(sluice=Sluice("pilothouse.internal", nodes=["10.0.0.1"])))
    assert "until the daemon is started again" in caplog.text
    assert keepers.all() == ()
