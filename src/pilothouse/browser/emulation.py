"""Make a tab pretend: from what a caller wishes to what the tab, its frames and its workers wear.

Above: tools. Below: guise, devices, tab, world (whether a locale and a timezone exist, the page's own engine knows).
"""

import asyncio
import re

import msgspec

from pilothouse.browser.devices import device
from pilothouse.browser.guise import Guise, put_on
from pilothouse.browser.tab import Tab
from pilothouse.cdp.connection import ProtocolError
from pilothouse.errors import Failure

ASK_S = 5.0
_KNOWN = """(locale, timezone) => {
  const holds = (work) => { try { return work(); } catch { return false; } };
  return {
    locale: !locale || holds(() => Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0),
    timezone: !timezone || holds(() => !!new Intl.DateTimeFormat("en", { timeZone: timezone })),
  };
}"""
_CHROME = re.compile(r"/(\d+)\.")


async def emulate(tab: Tab, wishes: dict[str, object], *, device_name: str = "", reset: bool = False) -> Guise:
    """Change what `wishes` names (fields of Guise); a device is put on first, a reset comes before both."""
    before = tab.guise
    guise = tab.own_guise if reset else before
    if device_name:
        guise = await _as_device(tab, guise, device_name)
    guise = msgspec.structs.replace(guise, **wishes)
    await _check(tab, guise)
    telling = asyncio.ensure_future(_tell(tab, guise, before))
    telling.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.shield(telling)  # somebody who gives up leaves no tab half dressed
    return guise


async def _tell(tab: Tab, guise: Guise, before: Guise) -> None:
    tab.guise = guise  # at once: what attaches from now on wears it
    try:
        await asyncio.gather(*put_on(tab.channel, guise, over=before, kind="tab"))
    except ProtocolError as error:
        tab.guise = before
        put_on(tab.channel, before, over=None, kind="tab")
        raise _refused(error) from None
    others = [
        reply for channel, kind in tab.inner_channels() for reply in put_on(channel, guise, over=before, kind=kind)
    ]
    await asyncio.gather(*others, return_exceptions=True)  # frames of one process share a locale: the second is refused
    if guise.geolocation != before.geolocation:
        await tab.permit_place()


async def _as_device(tab: Tab, guise: Guise, name: str) -> Guise:
    found = device(name)
    version = _CHROME.search((await tab.channel.send("Browser.getVersion", timeout=ASK_S))["product"])
    is_mobile = found.kind != "desktop"
    return msgspec.structs.replace(
        guise,
        width=found.width,
        height=found.height,
        scale=found.scale,
        mobile=is_mobile,
        touch=is_mobile,
        user_agent=found.user_agent(version[1] if version else "150") or tab.own_guise.user_agent,
        platform="Android" if found.model else "",
        model=found.model,
    )


async def _check(tab: Tab, guise: Guise) -> None:
    if not guise.locale and not guise.timezone:
        return
    known = await tab.ask(_KNOWN, guise.locale, guise.timezone, timeout=ASK_S)
    if not known["locale"]:
        raise Failure("bad_request", f"no locale {guise.locale[:40]!r}", suggestions=["like en-GB, de-DE, ja-JP"])
    if not known["timezone"]:
        raise Failure(
            "bad_request",
            f"no timezone {guise.timezone[:60]!r}",
            suggestions=["like Europe/Berlin, America/New_York, UTC"],
        )


def _refused(error: ProtocolError) -> Failure:
    if "locale" in error.reason:
        return Failure(
            "unsupported",
            "another tab with the same site has another locale, and Chrome knows one for both",
            suggestions=["reset the other tab first, or use another session"],
        )
    return Failure("bad_request", f"the browser refuses: {error.reason}")
