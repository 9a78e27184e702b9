"""The docs are true: made from the declarations and fresh, nothing missing, no link that leads nowhere."""

import re
from pathlib import Path

import pytest

from pilothouse.config import options, table_keys
from pilothouse.errors import CODES
from scripts import generate_docs
from tests.promises import promise

ROOT = Path(__file__).parent.parent

pytestmark = promise("C04", "E09")

WRITTEN = [
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/architecture.md", "docs/design-principles.md",
]  # fmt: skip
TOOLS = list(generate_docs.registry())
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|src=\"([^\"]+)\"")
# What must never stand in a page for everyone: a person's home directory, or where one machine gets its packages.
_PRIVATE = re.compile(r"/(?:home|Users|root)/\w+|registry\.|index-url", re.IGNORECASE)


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def every_page() -> list[str]:
    return [*WRITTEN, *generate_docs.pages()]


def test_what_is_made_is_fresh():
    assert not generate_docs.stale(), "run scripts/docs"


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.name)
def test_every_tool_has_its_section(one: generate_docs.Tool):
    page = read(f"docs/tools/{one.group}.md")
    assert f"## {one.name}\n" in page
    assert one.description in page
    for argument in one.takes:
        assert f"| `{argument}` |" in page
    assert f"`{one.name}`" in read("docs/tools.md")


@pytest.mark.parametrize("option", [option.name for option in options()])
def test_every_option_is_told(option: str):
    section, key = option.split(".")
    chapter = read("docs/options.md").partition(f"## [{section}]\n")[2].partition("\n## ")[0]
    assert f"| `{key}` |" in chapter
    assert f"`PILOTHOUSE_{section}_{key}`".upper() in chapter.upper()


@pytest.mark.parametrize("key", [key.name for key in table_keys()])
def test_every_key_of_a_table_is_told(key: str):
    table, name = key.split(".")
    chapter = read("docs/options.md").partition(f"## [[{table}]]\n")[2].partition("\n## ")[0]
    assert f"| `{name}` |" in chapter


@pytest.mark.parametrize("code", CODES)
@promise("C08")
def test_every_error_is_told(code: str):
    assert f"| `{code}` |" in read("docs/errors.md")


def test_the_readme_shows_the_way_in():
    readme = read("README.md")
    for needed in ("scripts/start", "scripts/test", "PILOTHOUSE_HOME", "agent.key", "docs/tools.md", "docs/options.md"):
        assert needed in readme
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"):
        assert client in readme


def test_the_readme_names_every_core_tool():
    missing = [one.name for one in TOOLS if one.core and f"`{one.name}`" not in read("README.md")]
    assert not missing


@pytest.mark.parametrize("page", every_page())
def test_links_lead_somewhere(page: str):
    for first, second in _LINK.findall(read(page)):
        target = first or second
        if "://" not in target and not target.startswith("mailto:"):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


@pytest.mark.parametrize("page", every_page())
def test_no_page_tells_of_one_machine(page: str):
    assert not _PRIVATE.findall(read(page))


def test_pictures_are_small():
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large for a README"


def test_the_scripts_that_the_pages_name_exist():
    named = {name for page in WRITTEN for name in re.findall(r"`?(scripts/\w+)\b(?!\.)", read(page))}
    assert named
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing
