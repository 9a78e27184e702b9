"""What a tab's session was told to be: domains that are on, scripts, emulation. Told again when it is attached again.

Above: relay. Below: nothing. A tab of the person's is attached only while it is used; whoever drives it says once what
it wants of it and need not know when that holds.
"""

from collections.abc import Iterator

import msgspec

_DOMAINS = {"Runtime", "Log", "Network", "Page", "Inspector", "Fetch", "Debugger"}
_LASTING = {f"{domain}.{verb}" for domain in _DOMAINS for verb in ("enable", "disable")} | {
    "Debugger.setBreakpointsActive",
    "Emulation.clearGeolocationOverride",
    "Emulation.setCPUThrottlingRate",
    "Emulation.setDeviceMetricsOverride",
    "Emulation.clearDeviceMetricsOverride",
    "Emulation.setEmulatedMedia",
    "Emulation.setFocusEmulationEnabled",
    "Emulation.setGeolocationOverride",
    "Emulation.setLocaleOverride",
    "Emulation.setTimezoneOverride",
    "Emulation.setTouchEmulationEnabled",
    "Emulation.setUserAgentOverride",
    "Network.configureDurableMessages",
    "Network.emulateNetworkConditions",
    "Network.setBlockedURLs",
    "Network.setBypassServiceWorker",
    "Page.addScriptToEvaluateOnNewDocument",
    "Page.setInterceptFileChooserDialog",
    "Page.setPrerenderingAllowed",
    "Page.startScreencast",
    "Page.stopScreencast",
    "Runtime.addBinding",
    "Runtime.runIfWaitingForDebugger",
    "Target.setAutoAttach",
}
# What takes back what another command said.
_UNDOES = {f"{domain}.disable": f"{domain}.enable" for domain in _DOMAINS} | {
    "Emulation.clearGeolocationOverride": "Emulation.setGeolocationOverride",
    "Emulation.clearDeviceMetricsOverride": "Emulation.setDeviceMetricsOverride",
    "Page.stopScreencast": "Page.startScreencast",
}
_MANY = {"Page.addScriptToEvaluateOnNewDocument", "Runtime.addBinding"}
_NOT_KEPT = {"Runtime.runIfWaitingForDebugger"}


class Entry(msgspec.Struct):
    method: str
    params: bytes
    heard: bool = False  # the browser has said that it did it


class Ledger:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def note(self, method: str, params: bytes) -> Entry | None:
        """Keep it if it lasts; None if it is a thing of the moment."""
        if method not in _LASTING:
            return None
        entry = Entry(method, params)
        if undone := _UNDOES.get(method):
            self._entries.pop(undone, None)
        elif method not in _NOT_KEPT:
            key = f"{method} {params!r}" if method in _MANY else method
            self._entries[key] = entry
        return entry

    @property
    def cast(self) -> Entry | None:
        """The live picture that is sent."""
        return self._entries.get("Page.startScreencast")

    def unheard(self) -> list[Entry]:
        """What may not have reached the browser."""
        return [entry for entry in self if not entry.heard]

    def forget_heard(self) -> None:
        """The session they were told to is over."""
        for entry in self:
            entry.heard = False
