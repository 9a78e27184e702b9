"""The docs are true: made from the declarations and fresh, nothing missing, no link that leads nowhere."""

import re
from pathlib import Path

import pytest

from pilothouse.commands.arguments import OWN_OPTIONS
from pilothouse.commands.call import ADMINISTRATIVE
from pilothouse.commands.clients import CLIENTS
from pilothouse.commands.show import BROWSER, INTERRUPTED, OK, SECURITY, SYSTEM, TIMEOUT, TROUBLE, USAGE
from pilothouse.doors.http import OPEN_PATHS
from pilothouse.doors.openapi import document
from pilothouse.doors.places import SHORTCUTS
from pilothouse.doors.rest import HEADER_ARGS
from pilothouse.errors import CODES
from pilothouse.options import options, table_keys
from scripts import generate_docs
from tests.promises import promise

ROOT = Path(__file__).parent.parent

pytestmark = promise("C04", "E09")

WRITTEN = [
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/architecture.md", "docs/design-principles.md",
    "docs/rest.md", "docs/contracts.md", "docs/cli.md", "docs/profiles.md", "docs/operations.md", "docs/security.md",
    "docs/extension.md", "docs/remote.md", "docs/debug-proxy.md", "docs/dashboard.md",
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


def test_an_object_has_items_not_characters():
    assert "| `headers` | object |  | at most 50 items |" in read("docs/tools/network.md")


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


@promise("E06")
@pytest.mark.parametrize("path", [one.path for one in SHORTCUTS])
def test_every_short_address_is_told(path: str):
    assert f"`/api/{path}`" in read("docs/rest.md")


@promise("E06")
def test_every_kind_of_route_is_told():
    """The addresses of the description, with the tool's name left open, and those that it cannot describe."""
    page, tools = read("docs/rest.md"), generate_docs.registry()
    kinds = {re.sub(r"^(/api/(?:browser/{id}|tools))/\w+$", r"\1/{tool}", path) for path in document(tools)["paths"]}
    kinds |= {*OPEN_PATHS, "/metrics", "/api/browser/{id}/follow"}
    kinds = {one for one in kinds if not one.startswith("/api/docs/") and one != "/health"}
    assert len(kinds) >= 12
    assert not [one for one in kinds if f"`{one}`" not in page]
    for header in (*HEADER_ARGS, "authorization", "x-api-key", "retry-after"):
        assert header in page.lower()


@promise("E08")
def test_every_command_client_and_exit_code_is_told():
    page = read("docs/cli.md")
    assert not [one for one in ADMINISTRATIVE if f"pilothouse {one}" not in page and f", `{one}`" not in page]
    assert not [one.name for one in CLIENTS.values() if f"| `{one.name}` | {one.title} |" not in page]
    for code in (OK, TROUBLE, USAGE, SECURITY, BROWSER, SYSTEM, TIMEOUT, INTERRUPTED):
        assert f"\n| {code} | " in page
    assert not [one for one in OWN_OPTIONS if f"--{one}" not in page.replace("-o FILE", "--output")]


@pytest.mark.parametrize("key", [key.key for key in table_keys() if key.section == "profiles"])
def test_every_key_of_a_profile_is_shown(key: str):
    assert re.search(rf"^{key} = ", read("docs/profiles.md"), re.MULTILINE)


def test_every_limit_is_told():
    named = [option.name for option in options() if option.section in ("limits", "files")]
    assert not [one for one in named if f"| `{one}` |" not in read("docs/operations.md")]


def test_every_metric_is_told():
    names = [name for name, *_ in generate_docs.metrics()]
    assert len(names) >= 15
    assert not [one for one in names if f"| `{one}` |" not in read("docs/operations.md")]


def test_the_readme_leads_to_every_page():
    readme = read("README.md")
    assert not [one for one in WRITTEN[1:] if f"({one})" not in readme]


def test_the_readme_shows_the_way_in():
    readme = read("README.md")
    for needed in ("scripts/start", "scripts/test", "PILOTHOUSE_HOME", "agent.key", "docs/tools.md", "docs/options.md"):
        assert needed in readme
    assert not [one.title for one in CLIENTS.values() if one.title not in readme or one.name not in readme]


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
