"""Chrome arguments of a person: what is harmless passes, what weakens anything does not."""

from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.options import Browser
from pilothouse.providers.arguments import ALLOWED, check_arguments
from pilothouse.providers.launch import Launcher
from tests.promises import promise

pytestmark = promise("B04")

HARMFUL = [
    "--remote-debugging-port=9222", "--remote-debugging-address=0.0.0.0", "--remote-allow-origins=*",
    "--proxy-server=direct://", "--no-proxy-server", "--proxy-bypass-list=*", "--proxy-pac-url=http://x/",
    "--host-resolver-rules=MAP * 1.2.3.4", "--host-rules=MAP * x", "--enable-quic", "--origin-to-force-quic-on=x:443",
    "--load-extension=/tmp/x", "--disable-extensions-except=/tmp/x", "--whitelisted-extension-id=x",
    "--no-sandbox", "--disable-setuid-sandbox", "--disable-web-security", "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins", "--enable-features=X", "--enable-blink-features=X", "--single-process",
    "--allow-file-access-from-files", "--allow-running-insecure-content", "--ignore-certificate-errors",
    "--ignore-certificate-errors-spki-list=x", "--unsafely-treat-insecure-origin-as-secure=http://x",
    "--user-data-dir=/home", "--profile-directory=Default", "--disk-cache-dir=/tmp", "--crash-dumps-dir=/tmp",
    "--log-file=/tmp/x", "--enable-logging", "--log-net-log=/tmp/x", "--ssl-key-log-file=/tmp/x", "--trace-startup",
    "--webrtc-ip-handling-policy=default", "--renderer-cmd-prefix=sh", "--utility-cmd-prefix=sh", "--gpu-launcher=sh",
    "--browser-subprocess-path=/bin/sh", "--js-flags=--allow-natives-syntax", "--app=http://x", "--kiosk",
    "--headless=old", "--user-agent=x", "--auth-server-allowlist=*", "--use-file-for-fake-audio-capture=/etc/passwd",
    "--use-file-for-fake-video-capture=/etc/passwd", "--register-pepper-plugins=x", "--import=x",
    "http://example.com/", "-lang=de", "--LANG=de", "", "--", "--lang=de\n--no-sandbox",
]  # fmt: skip


@pytest.mark.parametrize("argument", HARMFUL)
def test_what_weakens_anything_is_refused_by_name(argument: str) -> None:
    with pytest.raises(Failure, match="is not among the Chrome arguments") as caught:
        check_arguments(["--lang=de", argument], "browser.args")
    assert caught.value.code == "bad_request"
    assert caught.value.message.startswith("browser.args: ")
    assert caught.value.details["argument"] == argument.partition("=")[0]


@pytest.mark.parametrize("argument", sorted(ALLOWED - {"--blink-settings", "--use-fake-ui-for-media-stream"}))
def test_what_is_harmless_passes(argument: str) -> None:
    assert check_arguments([f"{argument}=1"], "x") == [f"{argument}=1"]


def test_settings_of_blink_are_looked_into() -> None:
    check_arguments(["--blink-settings=imagesEnabled=false,minimumFontSize=12"], "x")
    with pytest.raises(Failure, match="may only hold"):
        check_arguments(["--blink-settings=imagesEnabled=false,webSecurityEnabled=false"], "x")


def test_pages_never_get_the_real_microphone() -> None:
    with pytest.raises(Failure, match="or pages get the real microphone"):
        check_arguments(["--use-fake-ui-for-media-stream"], "x")
    check_arguments(["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"], "x")


def test_a_slip_of_the_pen_is_helped() -> None:
    with pytest.raises(Failure) as caught:
        check_arguments(["--windowsize=1,2"], "x")
    assert "--window-size" in caught.value.suggestions[0]


def test_a_launcher_does_not_take_them(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"browser\.args: '--no-sandbox'"):
        Launcher(Browser(args=["--no-sandbox"]), tmp_path)
