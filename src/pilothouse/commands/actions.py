"""Tools that have a command of their own beside the one that is called like them: `pilothouse profile add`.

Above: admin (what there is), shorter (what it runs), hints (how one types it). Below: nothing.
"""

# By action: the tool, what it takes, what it does.
Actions = dict[str, tuple[str, str, str]]

PROFILE: Actions = {
    "list": ("list_profiles", "", "All of them."),
    "show": ("get_profile", "PROFILE", "What is set for one."),
    "add": ("create_profile", "NAME", "A new one."),
    "edit": ("update_profile", "PROFILE", "Other settings for one."),
    "remove": ("delete_profile", "PROFILE", "Take one out; with --data its directory too."),
}
DEBUG: Actions = {
    "list-tabs": ("browser_debug_list_tabs", "", "The offered tabs, each with its handle."),
    "network": ("browser_debug_get_network", "HANDLE", "Its requests; with --follow (-f) also those to come."),
    "console": ("browser_debug_get_console", "HANDLE", "Its console; with --follow (-f) also what comes."),
}
