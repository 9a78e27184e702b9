"""What a tab pretends to be: size, touch, names, place, time, colours, network, speed.

Above: tab (new frames and workers put it on before they run), emulation, browser. Below: cdp. Chrome keeps these for as
long as its session with a target lasts, so they outlive navigations; frames of other sites and workers are targets of
their own and must be told too.
"""

import asyncio
from typing import Any, Literal

import msgspec

from pilothouse.cdp.connection import Channel

Kind = Literal["tab", "frame", "worker", "lone_worker"]  # the last: shared and service workers, of no tab
Replies = list[asyncio.Future[dict[str, Any]]]

# Latency in ms, down and up in bytes a second, as DevTools has them.
NETWORKS: dict[str, tuple[float, float, float]] = {
    "none": (0, -1, -1),
    "slow-3g": (2000, 50_000, 50_000),
    "fast-3g": (562.5, 180_000, 84_375),
    "4g": (165, 1_012_500, 168_750),
}

TOUCH_POINTS = 5


class Guise(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything at its default is the browser as it is."""

    width: int = 1280
    height: int = 800
    scale: float = 1
    mobile: bool = False
    touch: bool = False
    user_agent: str = ""
    platform: str = ""
    model: str = ""
    locale: str = ""
    timezone: str = ""
    geolocation: tuple[float, float, float] | None = None  # latitude, longitude, accuracy
    color_scheme: str = ""
    reduced_motion: bool | None = None
    offline: bool = False
    network: str = "none"
    cpu: float = 1


PLAIN = Guise()
NOTHING = Guise(width=0, height=0)  # a tab's size is always told: windows have sizes of their own


def put_on(channel: Channel, guise: Guise, *, over: Guise | None, kind: Kind) -> Replies:
    """Tell a target what differs from what it wears already; `over` is None when nobody knows."""

    def differs(*names: str) -> bool:
        return over is None or any(getattr(guise, name) != getattr(over, name) for name in names)

    replies: Replies = []
    if differs("user_agent", "platform", "model", "mobile", "locale"):
        replies.append(_names(channel, guise))
    if differs("locale"):
        replies.append(channel.post("Emulation.setLocaleOverride", locale=guise.locale))
    if differs("timezone"):
        replies.append(channel.post("Emulation.setTimezoneOverride", timezoneId=guise.timezone))
    if kind != "worker" and differs("offline", "network"):  # a tab's own workers share its network
        replies.append(_network(channel, guise))
    if kind in ("worker", "lone_worker"):
        return replies
    if kind == "tab" and differs("width", "height", "scale", "mobile"):
        replies.append(_size(channel, guise))
    if differs("touch"):
        points = TOUCH_POINTS if guise.touch else 1
        replies.append(channel.post("Emulation.setTouchEmulationEnabled", enabled=guise.touch, maxTouchPoints=points))
    if differs("color_scheme", "reduced_motion"):
        replies.append(_media(channel, guise))
    if differs("geolocation"):
        replies.append(_place(channel, guise))
    if differs("cpu"):
        replies.append(channel.post("Emulation.setCPUThrottlingRate", rate=guise.cpu))
    return replies


def _size(channel: Channel, guise: Guise) -> asyncio.Future[dict[str, Any]]:
    return channel.post(
        "Emulation.setDeviceMetricsOverride",
        width=guise.width,
        height=guise.height,
        deviceScaleFactor=guise.scale,
        mobile=guise.mobile,
    )


def _names(channel: Channel, guise: Guise) -> asyncio.Future[dict[str, Any]]:
    """An empty user agent is the browser's own; the language goes with it."""
    hints: dict[str, Any] = {}
    if guise.platform == "Android":
        hints["userAgentMetadata"] = {
            "platform": "Android",
            "platformVersion": "16.0.0",
            "architecture": "",
            "model": guise.model,
            "mobile": guise.mobile,
        }
    return channel.post(
        "Emulation.setUserAgentOverride", userAgent=guise.user_agent, acceptLanguage=guise.locale, **hints
    )


def _media(channel: Channel, guise: Guise) -> asyncio.Future[dict[str, Any]]:
    motion = {None: "", True: "reduce", False: "no-preference"}[guise.reduced_motion]
    return channel.post(
        "Emulation.setEmulatedMedia",
        features=[
            {"name": "prefers-color-scheme", "value": guise.color_scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ],
    )


def _place(channel: Channel, guise: Guise) -> asyncio.Future[dict[str, Any]]:
    if guise.geolocation is None:
        return channel.post("Emulation.clearGeolocationOverride")
    latitude, longitude, accuracy = guise.geolocation
    return channel.post("Emulation.setGeolocationOverride", latitude=latitude, longitude=longitude, accuracy=accuracy)


def _network(channel: Channel, guise: Guise) -> asyncio.Future[dict[str, Any]]:
    latency, down, up = NETWORKS[guise.network]
    return channel.post(
        "Network.emulateNetworkConditions",
        offline=guise.offline,
        latency=latency,
        downloadThroughput=down,
        uploadThroughput=up,
    )
