"""What an answer leaves on the disk of who asked."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.commands.show import Progress, show
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


@pytest.mark.parametrize("as_json", [False, True])
def test_text_goes_to_the_file_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool):
    told = {"text": "Café", "data": {"text": "Café"}, "images": [], "failed": False}
    output = tmp_path / "t.txt"
    assert show(told, as_json=as_json, output=str(output)) == 0
    assert output.read_text() == "Café\n"
    said = capsys.readouterr().out
    assert json.loads(said)["files"] == [str(output)] if as_json else said == f"saved {output}\n"
    assert show(told, as_json=False, output=str(tmp_path / "no" / "t.txt")) == 1
    assert show(told, as_json=False, output="-") == 0
    assert capsys.readouterr().out == "Café\n"


def pictures(count: int, *, failed: bool = False) -> dict[str, Any]:
    images = [{"mime_type": "image/png", "data": base64.b64encode(b"%d" % one).decode()} for one in range(count)]
    data: dict[str, Any] = {"error": {"code": "not_found", "category": "browser", "details": {}}} if failed else {}
    return {"text": "told", "data": data, "images": images, "failed": failed}


def test_each_picture_has_a_file_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert show(pictures(3), as_json=False, output="page.png") == 0
    assert capfd.readouterr().out == "told\nsaved page.png\nsaved page-2.png\nsaved page-3.png\n"
    assert [(tmp_path / name).read_text() for name in ("page.png", "page-2.png", "page-3.png")] == ["0", "1", "2"]
    assert show(pictures(2, failed=True), as_json=False, output="f.png") == 4
    assert capfd.readouterr().err == "told\nsaved f.png\nsaved f-2.png\n"
    assert show(pictures(2), as_json=False, output="-") == 0
    out, err = capfd.readouterr()
    assert (out, err.startswith("saved screenshot-")) == ("0", True)
    (tmp_path / "page-2.png").write_text("of somebody else")
    assert show(pictures(2), as_json=False, output="page.png") == 0
    assert capfd.readouterr().out.endswith("saved page-4.png\n")
    assert (tmp_path / "page-2.png").read_text() == "of somebody else"


@pytest.mark.parametrize("failed", [True, False])
def test_json_on_the_stream_has_its_pictures_in_it(capfd: pytest.CaptureFixture[str], failed: bool):
    show(pictures(2, failed=failed), as_json=True, output="-")
    assert len(json.loads(capfd.readouterr().out)["images"]) == 2


def test_what_went_wrong_is_told_also_where_no_picture_can_be_put(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    assert show(pictures(1, failed=True), as_json=False, output=str(tmp_path / "no" / "f.png")) == 4
    said = capfd.readouterr().err
    assert "No such file" in said
    assert said.endswith("told\n")


@pytest.mark.parametrize("details", [{"line": 3, "column": 1}, {"line": "[[rules]]"}, {"line": None}, {}])
def test_an_error_is_shown_whatever_its_details_are(capsys: pytest.CaptureFixture[str], details: dict[str, Any]):
    error = {"code": "page_error", "category": "browser", "details": details}
    told = {"text": "page_error: foo is not defined", "data": {"error": error}, "images": [], "failed": True}
    assert show(told, as_json=False, output="") == 4
    assert capsys.readouterr().err == "page_error: foo is not defined\n"


def test_script_that_throws_is_an_error_like_others(capsys: pytest.CaptureFixture[str]):
    error = {"code": "page_error", "category": "browser", "details": {"line": 1, "column": 3}}
    told = {"text": "page_error: foo is not defined", "data": {"error": error}, "images": [], "failed": True}
    assert show(told, as_json=False, output="") == 4
    assert capsys.readouterr().err == "page_error: foo is not defined\n"


def test_who_waits_for_a_person_is_told_once(capsys: pytest.CaptureFixture[str]):
    progress = Progress()
    for left in (60, 55):
        told = f"waiting for approval of click (a1b2c3), {left} s left"
        progress({"done": 1.2405e-08, "total": None, "message": told})
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pilothouse approvals allow a1b2c3" in said
    assert "e-08" not in said
    assert progress.approval == "a1b2c3"
    progress({"done": 1, "total": 2, "message": "navigate"})
    assert progress.approval == ""


def test_a_terminal_shows_how_far_it_is_without_odd_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = Progress()
    progress({"done": 1.2405e-08, "total": None, "message": "waiting for approval of click (a1b2c3), 60 s left"})
    assert "e-08" not in (said := capsys.readouterr().err)
    assert said.endswith("\x1b[Kwaiting for approval of click (a1b2c3), 60 s left")
