"""A yes that came when the network had refused the document already: nothing of it was sent, so it is asked for again.

Above: tab. Below: cdp. Most answers come in time, and the connection that waited for them goes on by itself.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pilothouse.browser.tab import Tab

ARRIVAL_S = 5.0  # until the browser's own page about the refusal is there


async def ask_again(tab: "Tab", announced: dict[str, Any]) -> None:
    """`announced` is the request as the browser told of it."""
    loader, url = announced["loaderId"], announced["request"]["url"]
    if not await tab.signal.until(lambda: loader in tab.route.loaders or tab.closed, ARRIVAL_S):
        return
    refused = tab.document.loader_id == loader and tab.document.unreachable and tab.denies(url)
    if tab.closed or tab.route.navigating or not refused:  # it has come, or the tab is elsewhere by now, or on its way
        return
    if "redirectResponse" not in announced:
        tab.route.leaves_for(url)
        tab.channel.post("Page.reload")  # with all that a form sends
    elif announced["request"]["method"] == "GET":
        tab.route.leaves_for(url)
        tab.channel.post("Page.navigate", url=url)
    else:  # to load it again would begin with the first of the servers, which has got the form already
        tab.report("denied", f"{url[:200]} may be opened now, but the form did not get there: send it again")
