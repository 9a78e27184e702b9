"""What an answer leaves on the disk of who asked."""

from pathlib import Path
from typing import Any

import pytest

from pilothouse.commands.show import show
from tests.promises import promise

pytestmark = promise("E08")


def answer(path: Path) -> dict[str, Any]:
    return {"text": "kept", "data": {"path": str(path)}, "images": [], "failed": False}


def test_only_files_of_sessions_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, output = tmp_path / "home", tmp_path / "out"
    (home / "sessions" / "s1").mkdir(parents=True)
    home.chmod(0o700)
    monkeypatch.setenv("PILOTHOUSE_HOME", str(home))
    own, key, link = home / "sessions" / "s1" / "a.pdf", home / "agent.key", home / "sessions" / "s1" / "link"
    own.write_text("mine")
    key.write_text("secret")
    link.symlink_to(key)
    for other in (key, link, home / "sessions" / ".." / "agent.key"):
        show(answer(other), as_json=False, output=str(output))
        assert not output.exists()
    show(answer(own), as_json=False, output=str(output))
    assert output.read_text() == "mine"
