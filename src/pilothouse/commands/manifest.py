"""`tools.json` in the home: what the command line knows of the tools without importing one.

Above: the command line reads it at every call. Below: home; without a file, or with one of another version, the tools
themselves are asked, which takes most of a second, once. The daemon writes it at each start.
"""

from __future__ import annotations

import os

from pilothouse import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]


def path(home: str) -> str:
    return os.path.join(home, "tools.json")


def read(home: str) -> Entry:
    """The manifest, made now if there is none that fits."""
    import json

    try:
        with open(path(home), encoding="utf-8") as file:
            manifest: Entry = json.load(file)
        if manifest["version"] == __version__ and isinstance(manifest["tools"], list):
            return manifest
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or not ours: made anew
    from pilothouse.commands.describe import describe_all

    manifest = describe_all()
    write(home, manifest)
    return manifest


def write(home: str, manifest: Entry) -> None:
    """Others may only ever see it whole. A home that cannot be written to costs time, not the call."""
    import contextlib
    import json

    from pilothouse.written import publish

    with contextlib.suppress(OSError):
        publish(path(home), json.dumps(manifest, separators=(",", ":")).encode() + b"\n")


def find(manifest: Entry, name: str) -> Entry | None:
    """A tool by its name, by its name with dashes, or by an alias."""
    plain = name.replace("-", "_")
    for one in manifest["tools"]:
        if one["name"] == plain or name in one["aliases"]:
            return one
    return None
