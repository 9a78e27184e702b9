"""Every tool that is promised is there, under its own name and those that others use for it."""

import importlib
import pkgutil

import pytest

import pilothouse.tools
from pilothouse.tool import Registry, declared
from tests.promises import promise

# The 71 tools of the third founding document, by its categories.
FOUNDING = {
    "profiles": "list_profiles get_profile create_profile update_profile delete_profile",
    "lifecycle": "launch_browser kill_browser get_running_browsers",
    "navigation": "navigate go_back go_forward reload wait_for_navigation get_current_url get_page_title",
    "mouse": "click hover double_click right_click click_at drag",
    "keyboard": "type_text slow_type press_key",
    "forms": "select_option upload_file",
    "scroll": "scroll scroll_element scroll_into_view",
    "waits": "wait_for_element wait_for_text wait_for_url wait",
    "observe": "get_page_state get_ax_tree screenshot screenshot_element get_dom_context extract_data get_page_text",
    "refs": "click_ref type_ref focus_ref",
    "script": "evaluate_js",
    "tabs": "list_tabs new_tab switch_tab close_tab wait_for_new_tab",
    "cookies": "get_cookies set_cookie delete_cookies",
    "console": "enable_console_capture get_console_logs clear_console",
    "network": "get_network_log clear_network_log block_url mock_url clear_intercepts",
    "dialogs": "handle_dialog",
    "emulation": "emulate",
    "storage": "get_storage set_storage clear_storage",
    "touch": "tap swipe",
    "pdf": "print_to_pdf",
    "frames": "get_frames switch_frame main_frame",
}
OURS = {
    "sessions": "open_session list_sessions close_session save_state load_state",
    "forms": "fill_form",
    "waits": "wait_for",
    "observe": "find",
    "network": "get_network_request export_har",
    "downloads": "list_downloads wait_for_download",
    "batch": "batch",
    "debug": "browser_debug_list_tabs browser_debug_get_network browser_debug_get_console",
    "people": "ask_user_to_pick highlight",
}
ALIASES = {
    "browser.goto": "navigate",
    "browser.click": "click",
    "browser.type": "type_text",
    "browser.select": "select_option",
    "browser.screenshot": "screenshot",
    "browser.domSnapshot": "get_dom_context",
    "browser.network.getRecent": "get_network_log",
    "browser.console.getRecent": "get_console_logs",
    "open_tab": "new_tab",
    "read_text": "get_page_text",
    "browser_navigate": "navigate",
    "js.execute": "evaluate_js",
    "browser_wait": "wait",
}
NAMES = [(group, name) for table in (FOUNDING, OURS) for group, names in table.items() for name in names.split()]


@pytest.fixture(scope="module")
def registry() -> Registry:
    for module in pkgutil.iter_modules(pilothouse.tools.__path__):
        importlib.import_module(f"pilothouse.tools.{module.name}")
    return Registry(one for one in declared() if one.handler.__module__.startswith("pilothouse.tools."))


@promise("C01")
@pytest.mark.parametrize(("group", "name"), NAMES, ids=lambda one: one)
def test_a_promised_tool_is_there_in_its_set(registry: Registry, group: str, name: str):
    assert registry.find(name).name == name
    assert registry.find(name).group == group


@promise("C01")
def test_the_founding_document_has_71_of_them():
    assert sum(len(names.split()) for names in FOUNDING.values()) == 71


@promise("C02")
@pytest.mark.parametrize(("alias", "name"), ALIASES.items(), ids=lambda one: one)
def test_names_of_others_are_understood_and_not_listed(registry: Registry, alias: str, name: str):
    assert registry.find(alias).name == name
    assert alias not in {one.name for one in registry.listed("all")}


@promise("C04")
def test_no_tool_is_there_that_nobody_promised(registry: Registry):
    assert {one.name for one in registry} == {name for _, name in NAMES}
