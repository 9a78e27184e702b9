"""Every promise by its id, and how a test says which one it proves.

A promise moves from `LATER` to `KEPT` when the work that closes it is done; from then on it must have a test, and every
test must name a promise (tests/test_promises.py holds both).
"""

import pytest

# fmt: off
KEPT = {
    "A01": 'One CDP client in flatten mode',
    "A02": 'Launched Chrome is driven over --remote-debugging-pipe',
    "A03": 'The same client, unchanged, drives Chrome over a browser WebSocket (remote), and over the exten',
    "A04": 'Callers subscribe before they act: no event that an action causes is ever missed',
    "A05": 'Every CDP call races its reply, a deadline, target crash or detach, and an opening dialog; whic',
    "A06": 'A hung page (while(1)) is freed by Runtime.terminateExecution; a crashed tab is reported and re',
    "A07": 'Text from pages is cleaned at the CDP edge',
    "A08": 'navigate waits for load, domcontentloaded or networkidle (no request in flight for 500 ms) with',
    "A09": 'Actions check that the element is attached, visible, stable, enabled and hit by the pointer; sc',
    "A10": 'Open and closed shadow roots, same-origin and cross-origin iframes, and clickable divs appear i',
    "A11": 'A ref (e12) names one element',
    "A12": 'A snapshot never exceeds its budget (default and per call; tokens by a conservative estimate, s',
    "A13": 'A snapshot can be a difference from the last one this session saw',
    "A14": 'Visually hidden text is marked as hidden; password values never appear',
    "A15": 'Screenshots',
    "A16": 'Console',
    "A17": 'Network',
    "A18": 'block_url and mock_url with  globs through the Fetch domain; clear_intercepts removes the sessi',
    "A19": 'Dialogs, file choosers, downloads, permissions, new tabs and popups, basic auth, beforeunload a',
    "A20": 'Emulation',
    "A21": 'Frames: list, switch, back to main; refs from any frame work without switching',
    "A22": 'Touch (tap, swipe), PDF, cookies, local and session storage, file upload (path inside declared ',
    "A23": 'Storage state (cookies and storage) can be saved under a name, encrypted at rest (key from the ',
    "B01": 'Four kinds of browser behind one interface',
    "B02": 'Profiles',
    "B03": 'launch_browser, kill_browser, get_running_browsers; Chrome is found on Linux, macOS and Windows',
    "B04": 'Chrome arguments from users are checked against an allow-list',
    "B05": 'A session is a server-minted handle (128 random bits) with its browser, its tabs, its current t',
    "B06": 'A session is named explicitly (argument session, REST path, X-Instance-ID), or found in this or',
    "B07": 'The current tab changes only by an explicit act of its session (open, switch, a tab its own act',
    "B08": 'Limits with defaults',
    "B09": 'Session options (they can only narrow the policy)',
    "B10": 'Chrome starts with the first session (or at once with browser.prewarm); from then on a pool kee',
    "B11": 'Failures in one session never touch another; a failing operation is broken off by a circuit bre',
    "B12": 'Many agents at once',
    "C01": 'The 73 tools of seed 003 under their own names and categories (tools.md), each with a schema th',
    "C02": 'The names of seeds 001 and 002 (browser.goto, browser.click, browser.type, browser.select, brow',
    "C03": 'The three browser_debug_ tools of seed 000 with their schemas',
    "C04": 'One declaration per tool yields the MCP tool, the REST route, the CLI command, the policy class',
    "C05": 'Tool sets',
    "C06": 'Element tools take one target',
    "C07": 'Results are short text for the model plus structuredContent with an outputSchema; bodies over t',
    "C08": 'Errors carry code, category (protocol, security, browser, system), message, details, suggestion',
    "C09": 'Fill a whole form in one call; run a batch of steps in one call that stops at the first failure',
    "C10": 'wait_for_new_tab can be started before the click that opens the tab, from the same client; for ',
    "C11": 'Long work reports progress, and can be cancelled; a cancelled call leaves no pressed button or ',
    "D01": 'Per-domain rules',
    "D02": 'Modes auto, ask, readonly per session and globally; templates sandbox, careful, locked, readonl',
    "D03": 'The rule is the rule of the page that is really there',
    "D04": 'The network is held to it too',
    "D05": 'Only http, https and about:blank by default; file:, chrome:, devtools:, data',
    "D06": 'Sensitive actions are recognised (submitting passwords, payment or card fields, deleting, sendi',
    "D07": 'A pending approval can be answered in the side panel, the dashboard, the CLI, or by the MCP cli',
    "D08": 'An approval is bound to session, tool, arguments, tab, document and origin; single use, or scop',
    "D09": 'Step budget per session, steps per hour per domain, rate limit, timeout per tool, on a monotoni',
    "D10": 'A new domain asks once (ask mode), and parallel requests for it raise one question',
    "D11": 'Redaction before storage and before display',
    "D12": 'Registered secrets can be typed by name (secret:github_password) into their own domains; the mo',
    "D13": 'Audit',
    "D14": 'Policies can be edited live (file, dashboard, side panel) without a restart; a bad edit is refu',
    "D15": 'Regular expressions from users run on a linear-time engine',
    "E01": 'One daemon, one loopback port (8777)',
    "E02": 'MCP over Streamable HTTP for both generations',
    "E03": 'MCP over stdio (pilothouse mcp)',
    "E04": 'The official conformance suite passes in full on both wires, in CI',
    "E05": 'Browser events (console errors, dialogs, downloads, navigation, crash) reach the client as noti',
    "E06": 'REST',
    "E07": 'Bridge contract of seed 004 kept for HTTP callers',
    "E08": 'CLI',
    "E09": 'Configuration',
    "E10": 'Health, metrics (Prometheus text',
    "F01": 'A Manifest V3 extension without a build step',
    "F02": 'It relays CDP for the tabs the user shares (one tab, a tab group, or all), reconnects with expo',
    "F03": 'Nothing queued while offline runs later: commands carry a deadline',
    "F04": 'Side panel',
    "F05": 'Selector picker',
    "F06": 'Popup with status; badge; the user can stop everything at once',
    "F07": "The dashboard at the daemon's address",
    "F08": 'All of it is tested in a real Chromium',
    "H01": 'Browsers on many machines through Selenium Grid (an existing engine, nothing of our own)',
    "H02": 'Any other CDP endpoint (ws://, wss://, with headers) works the same',
    "G01": 'A reverse proxy for registered cocoons (id, name, owner, target), HTTP/1.1 with streaming, WebS',
    "G02": 'X-ADI-Debug-Token is put on top-level text/html navigations only (content types configurable, e',
    "G03": 'The token is base64url of {c, p, n, t, s} in canonical form; s is HMAC-SHA256 over an unambiguo',
    "G04": 'In [proxy], overridden per cocoon',
    "G05": 'The extension sees the token on main-frame responses from a configured proxy origin, attaches, ',
    "G06": 'The signaling hub verifies the token, checks that the caller owns the cocoon, keeps active tabs',
    "G07": 'browser_debug_list_tabs, browser_debug_get_network, browser_debug_get_console with all their fi',
    "G08": 'The hub can be remote',
}
# Kept in part: their tests are welcome, their absence is no fault yet.
LATER = {
    "H03": 'A recorded session replays without a model, and exports as a Playwright test (Python)',
    "H04": 'Performance',
}
# fmt: on


def promise(*ids: str) -> pytest.MarkDecorator:
    """`@promise("A07")`: this test proves it. A module may set `pytestmark = promise(…)`."""
    unknown = [one for one in ids if one not in KEPT and one not in LATER]
    assert not unknown, f"no such promise: {unknown}"
    return pytest.mark.promise(*ids)
