"""Which Chrome arguments a person may add: those that change how pages look or which devices they see.

Above: launch. Below: errors. Everything else is refused: an argument can open a debugging port, leave the network
boundary, load an extension, switch off the sandbox or the web's own rules, or write files.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from pilothouse.errors import Failure

ALLOWED = {
    # language, size and looks
    "--accept-lang", "--lang", "--window-size", "--window-position", "--start-maximized", "--start-fullscreen",
    "--force-device-scale-factor", "--high-dpi-support", "--force-dark-mode", "--force-prefers-reduced-motion",
    "--force-high-contrast", "--hide-scrollbars", "--blink-settings", "--default-background-color",
    # fonts and colours
    "--font-render-hinting", "--disable-font-subpixel-positioning", "--disable-lcd-text", "--enable-font-antialiasing",
    "--force-color-profile",
    # graphics
    "--disable-gpu", "--disable-gpu-compositing", "--disable-software-rasterizer", "--disable-3d-apis",
    "--disable-accelerated-2d-canvas", "--disable-accelerated-video-decode",
    "--enable-gpu", "--ignore-gpu-blocklist", "--use-angle", "--use-gl", "--ozone-platform",
    "--ozone-platform-hint",
    # sound, camera, microphone
    "--mute-audio", "--autoplay-policy", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
    # input
    "--touch-events", "--disable-touch-drag-drop", "--disable-smooth-scrolling", "--enable-smooth-scrolling",
    # what a machine with little room needs
    "--disable-dev-shm-usage", "--renderer-process-limit", "--disk-cache-size", "--media-cache-size",
    "--disable-extensions", "--disable-notifications", "--no-pings", "--disable-webgl",
}  # fmt: skip
# The first says yes to every page that asks for the microphone: only together with the second.
_FAKE_UI, _FAKE_DEVICE = "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"
# The settings of Blink that are about looks; others switch off the web's own rules.
_BLINK = {"imagesEnabled", "preferredColorScheme", "primaryHoverType", "primaryPointerType", "minimumFontSize"}


def check_arguments(arguments: Iterable[str], place: str) -> list[str]:
    """The arguments, or `bad_request` for the first that may not be given; `place` is where they were written."""
    given = list(arguments)
    if _FAKE_UI in given and _FAKE_DEVICE not in given:
        raise Failure("bad_request", f"{place}: {_FAKE_UI} needs {_FAKE_DEVICE}, or pages get the real microphone")
    for one in given:
        name, _, value = one.partition("=")
        if name not in ALLOWED or any(ord(letter) < 32 for letter in one):
            raise _refused(name, place)
        if name == "--blink-settings" and not {part.partition("=")[0] for part in value.split(",")} <= _BLINK:
            raise Failure(
                "bad_request",
                f"{place}: --blink-settings may only hold {', '.join(sorted(_BLINK))}",
                suggestions=["take the others out"],
            )
    return given


def _refused(name: str, place: str) -> Failure:
    alike = get_close_matches(name, ALLOWED, n=3, cutoff=0.6)
    hint = "did you mean " + " or ".join(alike) + "?" if alike else "docs/options.md tells which arguments there are"
    return Failure(
        "bad_request",
        f"{place}: {name[:100]!r} is not among the Chrome arguments that may be given",
        details={"argument": name[:100], "allowed": sorted(ALLOWED)},
        suggestions=[hint],
    )
