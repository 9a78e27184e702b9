"""A few devices that people own, by name: their viewport, and what they call themselves.

Above: emulation. Below: nothing.
"""

import msgspec

from pilothouse.errors import Failure

_ANDROID = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0{phone} "
    "Safari/537.36"
)
_APPLE = (
    "Mozilla/5.0 ({model}; CPU {system} 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 "
    "Mobile/15E148 Safari/604.1"
)


class Device(msgspec.Struct, frozen=True):
    width: int
    height: int
    scale: float
    kind: str  # iphone | ipad | android | tablet | desktop
    model: str = ""

    def user_agent(self, version: str) -> str:
        """`version` is the browser's own major one. Empty: what the browser says by itself."""
        if self.kind in ("android", "tablet"):
            return _ANDROID.format(version=version, phone=" Mobile" if self.kind == "android" else "")
        if self.kind in ("iphone", "ipad"):
            is_phone = self.kind == "iphone"
            return _APPLE.format(model="iPhone" if is_phone else "iPad", system="iPhone OS" if is_phone else "OS")
        return ""


DEVICES = {
    "iPhone SE": Device(375, 667, 2, "iphone"),
    "iPhone 15": Device(393, 852, 3, "iphone"),
    "iPhone 16 Pro": Device(402, 874, 3, "iphone"),
    "iPhone 17 Pro Max": Device(440, 956, 3, "iphone"),
    "Pixel 7": Device(412, 915, 2.625, "android", "Pixel 7"),
    "Pixel 10": Device(412, 923, 2.625, "android", "Pixel 10"),
    "Galaxy S25": Device(360, 780, 3, "android", "SM-S931B"),
    "iPad Mini": Device(744, 1133, 2, "ipad"),
    "iPad Pro 11": Device(834, 1210, 2, "ipad"),
    "Galaxy Tab S10": Device(800, 1280, 2, "tablet", "SM-X820"),
    "Laptop": Device(1366, 768, 1, "desktop"),
    "Desktop": Device(1920, 1080, 1, "desktop"),
}


def device(name: str) -> Device:
    wanted = " ".join(name.lower().replace("-", " ").replace("_", " ").split())
    for known, found in DEVICES.items():
        if known.lower() == wanted:
            return found
    raise Failure("bad_request", f"no device {name[:60]!r} is known", suggestions=[f"known are: {', '.join(DEVICES)}"])
