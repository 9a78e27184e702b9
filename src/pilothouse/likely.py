"""Which tool was likely meant by a name that none of ours has: what other servers call it, or what is spelled alike.

Above: tool, the command line. Below: the standard library.
"""

import re
from collections.abc import Collection

# As other servers for browsers call theirs, without the word that all their names begin with.
_ELSEWHERE = {
    "accessibility_snapshot": "get_page_state", "console": "get_console_logs", "console_messages": "get_console_logs",
    "content": "get_page_text", "drag_and_drop": "drag", "eval": "evaluate_js", "evaluate": "evaluate_js",
    "evaluate_script": "evaluate_js", "execute_javascript": "evaluate_js", "execute_script": "evaluate_js",
    "file_upload": "upload_file", "fill": "type_text", "get_html": "get_dom_context", "get_state": "get_page_state",
    "get_text": "get_page_text", "get_url": "get_current_url", "goto": "navigate", "html": "get_dom_context",
    "input": "type_text", "input_text": "type_text", "list_console_messages": "get_console_logs",
    "list_network_requests": "get_network_log", "list_pages": "list_tabs", "navigate_back": "go_back",
    "navigate_forward": "go_forward", "navigate_page": "navigate", "network_requests": "get_network_log",
    "new_page": "new_tab", "open": "navigate", "pdf_save": "print_to_pdf", "press": "press_key",
    "read_page": "get_page_text", "refresh": "reload", "resize": "emulate", "resize_page": "emulate",
    "run_code": "evaluate_js", "select": "select_option", "select_page": "switch_tab", "select_tab": "switch_tab",
    "send_keys": "type_text", "sleep": "wait", "snapshot": "get_page_state", "state": "get_page_state",
    "tab_list": "list_tabs", "tab_new": "new_tab", "tab_select": "switch_tab", "tabs": "list_tabs",
    "take_screenshot": "screenshot", "take_snapshot": "get_page_state", "type": "type_text", "visit": "navigate",
}  # fmt: skip
_FIRST_WORD = re.compile(r"(?:mcp_+)?(?:pilothouse|browser|page|playwright|puppeteer|chrome|selenium)_+(?=[a-z])")
# What ends or empties something is named only to who has asked for just that.
_GRAVE = ("kill", "delete", "clear", "close", "stop", "restore", "revoke", "block")
MOST = 3


def likely(name: str, names: Collection[str], cutoff: float = 0.5) -> list[str]:
    """The nearest of these, best first; a name that clearly means one of them gives that one alone."""
    bare = _bare(name[:80])
    meant = bare if bare in names else _ELSEWHERE.get(bare, "")
    if meant in names and not _is_graver(meant, bare):
        return [meant]
    from difflib import get_close_matches

    safe = [one for one in names if not _is_graver(one, bare)]
    return get_close_matches(bare, safe, n=MOST, cutoff=cutoff)


def _bare(name: str) -> str:
    """`browserClick`, `browser.click` and `mcp__playwright__browser_click` are `click`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[.\s/-]", "_", name.strip()).lower()
    while first := _FIRST_WORD.match(words):
        words = words[first.end() :]
    return words


def _is_graver(one: str, asked: str) -> bool:
    verb = one.partition("_")[0]
    return verb in _GRAVE and verb not in asked.split("_")
