"""Emulation: what the tab pretends to be, until it is changed or reset."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pilothouse.browser import emulation
from pilothouse.browser.tab import Tab
from pilothouse.errors import Failure
from pilothouse.result import Result
from pilothouse.tool import Access, tool


class View(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width: Annotated[int, Meta(ge=50, le=10_000)]
    height: Annotated[int, Meta(ge=50, le=10_000)]
    scale: Annotated[float, Meta(ge=0.1, le=10)] = 1


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]
    accuracy: Annotated[float, Meta(ge=0, le=100_000)] = 10


class Worn(msgspec.Struct):
    emulation: dict[str, Any]


@tool(
    Access.WRITE,
    example={"viewport": {"width": 800, "height": 600}, "color_scheme": "dark"},
    synonyms={"colorScheme": "color_scheme", "userAgent": "user_agent", "reducedMotion": "reduced_motion"},
)
async def emulate(
    tab: Tab,
    device: Annotated[str, Meta(max_length=100, description="iPhone 16 Pro, Pixel 10, iPad Mini, Desktop …")] = "",
    viewport: View | None = None,
    user_agent: Annotated[str, Meta(max_length=1000)] | None = None,
    locale: Annotated[str, Meta(max_length=50)] | None = None,
    timezone: Annotated[str, Meta(max_length=100)] | None = None,
    geolocation: Place | None = None,
    color_scheme: Literal["light", "dark"] | None = None,
    reduced_motion: bool | None = None,
    touch: bool | None = None,
    offline: bool | None = None,
    network: Literal["slow-3g", "fast-3g", "4g", "none"] | None = None,
    cpu: Annotated[float, Meta(ge=1, le=100, description="times slower")] | None = None,
    reset: Annotated[bool, Meta(description="forget all before")] = False,
) -> Result[Worn]:
    """Make the tab pretend; stays until changed."""
    given = {
        "user_agent": user_agent,
        "locale": locale.replace("_", "-") if locale else locale,
        "timezone": timezone,
        "geolocation": (geolocation.latitude, geolocation.longitude, geolocation.accuracy) if geolocation else None,
        "color_scheme": color_scheme,
        "reduced_motion": reduced_motion,
        "touch": touch,
        "offline": offline,
        "network": network,
        "cpu": cpu,
    }
    wishes: dict[str, object] = {name: one for name, one in given.items() if one is not None}
    if viewport:
        wishes |= {"width": viewport.width, "height": viewport.height, "scale": viewport.scale}
    if not (wishes or device or reset):
        raise Failure("bad_request", "nothing to emulate is given", suggestions=["give device, viewport … or reset"])
    guise = await emulation.emulate(tab, wishes, device_name=device, reset=reset)
    worn = msgspec.to_builtins(guise)
    view = f"{guise.width}x{guise.height}" + (f" at {guise.scale:g}" if guise.scale != 1 else "")
    told = [name.replace("_", " ") for name in worn if name not in ("width", "height", "scale", "mobile", "model")]
    text = ", ".join([view, *told])
    return Result(f"now {text}; reload for what pages read while loading", Worn(worn))
