"""What a person registers: kept encrypted, bound to its domains, told to nobody."""

import stat
from pathlib import Path

import pytest

from pilothouse.errors import Failure
from pilothouse.guard.known import known
from pilothouse.guard.redact import redact_text
from pilothouse.guard.secrets import FILE, MOST, Secrets, named
from pilothouse.guard.vault import Vault
from tests.promises import promise

pytestmark = promise("D12")

VALUE = "correct horse battery"


@pytest.fixture
def secrets(tmp_path: Path):
    one = Secrets(tmp_path, Vault(tmp_path))
    yield one
    known.know(tmp_path / FILE, {})


def refused(code: str, secrets: Secrets, name: str = "a", value: str = VALUE, domains: tuple[str, ...] = ("a.com",)):
    with pytest.raises(Failure) as caught:
        secrets.set(name, value, domains)
    assert caught.value.code == code
    assert value not in str(caught.value.to_dict())
    return caught.value


def denial(secrets: Secrets, name: str, origin: str) -> Failure:
    with pytest.raises(Failure) as caught:
        secrets.reveal(name, origin)
    return caught.value


def test_it_lies_encrypted_in_one_file_of_its_own(secrets: Secrets, tmp_path: Path):
    secrets.set("github", VALUE, ["github.com", "https://Gist.GitHub.com/"], note="the old one")
    path = tmp_path / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and VALUE.encode() in one.read_bytes()]
    again = Secrets(tmp_path, Vault(tmp_path))
    (entry,) = again.entries()
    assert (entry.name, entry.domains, entry.note) == ("github", ("github.com", "gist.github.com"), "the old one")
    assert VALUE not in str(entry)
    assert again.reveal("github", "https://github.com") == (VALUE, False)
    again.set("github", "another value", ["github.com"], any_field=True)
    assert again.reveal("github", "https://github.com") == ("another value", True)
    again.remove("github")
    assert again.entries() == []
    with pytest.raises(Failure, match="no secret"):
        again.remove("github")


def test_a_file_that_was_changed_or_put_there_does_not_open(secrets: Secrets, tmp_path: Path):
    secrets.set("github", VALUE, ["github.com"])
    path = tmp_path / FILE
    sealed = path.read_bytes()
    path.write_bytes(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    with pytest.raises(Failure) as caught:
        Secrets(tmp_path, Vault(tmp_path)).set("b", VALUE, ["b.com"])
    assert caught.value.code == "system"
    Vault(tmp_path).put(FILE, b"[]")  # a state that bears the file's name
    path.write_bytes((tmp_path / "states" / f"{FILE}.state").read_bytes())
    with pytest.raises(Failure):
        Secrets(tmp_path, Vault(tmp_path)).entries()


@pytest.mark.parametrize(
    ("origin", "why"),
    [
        ("https://github.com", ""), ("https://github.com:8443", ""), ("https://api.github.com", "belongs to"),
        ("https://x.github.io", ""), ("https://github.io", "belongs to"), ("https://evilgithub.com", "belongs to"),
        ("https://github.com.evil.com", "belongs to"), ("http://github.com", "not encrypted"), ("null", "no site"),
        ("", "no site"), ("file://", "no site"), ("http://localhost:3000", ""), ("http://localhost:3001", "belongs to"),
        ("http://127.0.0.1:9", ""), ("http://10.0.0.1", "not encrypted"), ("https://10.0.0.1", ""),
        ("http://app.localhost", ""), ("chrome-extension://abc", "no site"),
    ],
)  # fmt: skip
def test_domains_are_compared_label_by_label(secrets: Secrets, origin: str, why: str):
    domains = ["github.com", "*.github.io", "localhost:3000", "127.0.0.1", "10.0.0.1", "*.localhost"]
    secrets.set("one", VALUE, domains)
    if not why:
        assert secrets.reveal("one", origin)[0] == VALUE
        return
    failure = denial(secrets, "one", origin)
    assert failure.code == "denied"
    assert why in failure.message
    assert failure.suggestions
    assert VALUE not in str(failure.to_dict())


def test_an_unknown_name_tells_those_that_fit_here(secrets: Secrets):
    secrets.set("here", VALUE, ["a.com"])
    secrets.set("there", VALUE + "2", ["b.com"])
    failure = denial(secrets, "nobody", "https://a.com")
    assert failure.code == "not_found"
    assert failure.details == {"names": ["here"]}


@pytest.mark.parametrize("domain", ["*", "*.com", "", "a b", "http://a.com", "a.com/path", "*.*.com", "user@a.com"])
def test_domains_that_are_none(secrets: Secrets, domain: str):
    assert refused("bad_request", secrets, domains=(domain,)).suggestions


def test_what_cannot_be_kept(secrets: Secrets):
    for value in ("abc", "x" * 2001, " padded ", "two\nlines", "nul\0byte"):
        refused("bad_request", secrets, value=value)
    for name in ("", "a b", "-x", "x" * 65, "../x", "a:b"):
        refused("bad_request", secrets, name=name)
    refused("bad_request", secrets, domains=())
    refused("bad_request", secrets, domains=("a.com",) * 51)
    refused("bad_request", secrets, name="same", value="same")
    assert secrets.entries() == []
    for number in range(MOST):
        secrets._kept = {**(secrets._kept or {}), f"n{number}": None}  # pyright: ignore
    refused("over_limit", secrets)


def test_without_its_key_one_can_begin_anew(secrets: Secrets, tmp_path: Path):
    secrets.set("github", VALUE, ["github.com"])
    with pytest.raises(Failure, match="can be opened"):
        secrets.start_anew()
    (tmp_path / "state.key").unlink()
    orphaned = Secrets(tmp_path, Vault(tmp_path))
    for act in (orphaned.entries, lambda: orphaned.set("b", VALUE, ["b.com"]), lambda: orphaned.reveal("a", "x")):
        with pytest.raises(Failure, match="the registered secrets cannot be opened") as caught:
            act()
        assert any("secret start-anew" in one for one in caught.value.suggestions)
    aside = orphaned.start_anew()
    assert aside.exists()
    assert orphaned.entries() == []
    orphaned.set("b", VALUE, ["b.com"])
    assert [one.name for one in Secrets(tmp_path, Vault(tmp_path)).entries()] == ["b"]


def test_references():
    assert [named(one) for one in ("secret:a_B.1-", "secret:", "secret:a b", " secret:a", "Secret:a", "x secret:a")] == [
        "a_B.1-", "", "", "", "", ""
    ]  # fmt: skip


def test_redaction_knows_what_is_kept_and_forgets_what_is_removed(secrets: Secrets):
    secrets.set("one", VALUE, ["a.com"])
    assert redact_text(f"it is {VALUE}!") == "it is [secret:one]!"
    assert secrets.known() == {"one": VALUE}
    secrets.remove("one")
    assert redact_text(f"it is {VALUE}!") == f"it is {VALUE}!"


def test_a_locked_vault_is_told_and_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    Secrets(tmp_path, Vault(tmp_path)).set("one", VALUE, ["a.com"])
    (tmp_path / "state.key").rename(tmp_path / "away")
    late = Secrets(tmp_path, Vault(tmp_path))
    late.prepare()
    assert "neither typed nor masked" in caplog.text
    (tmp_path / "away").rename(tmp_path / "state.key")
    assert late.reveal("one", "https://a.com")[0] == VALUE
    known.know(tmp_path / FILE, {})
