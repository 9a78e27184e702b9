"""`pilothouse doctor`: looks at everything a daemon needs and says what is wrong and how to mend it.

Above: admin. Below: config, providers (a browser is really started), instance, clients.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import click

import pilothouse
from pilothouse import __version__, instance
from pilothouse.commands import person
from pilothouse.commands.clients import CLIENTS, Unreadable
from pilothouse.commands.extension import back_from, elsewhere, folder
from pilothouse.commands.show import BOLD, DIM, RED, YELLOW, paint
from pilothouse.config import load
from pilothouse.errors import Failure
from pilothouse.home import directory
from pilothouse.options import Config
from pilothouse.options import Sluice as Gateways
from pilothouse.providers.find import find_chrome
from pilothouse.providers.launch import Launcher

LOW_DISK_BYTES, NO_DISK_BYTES = 1_000_000_000, 100_000_000
SMALL_SHM_BYTES = 64_000_000
_KEYS = ("agent.key", "person.key")


class Finding(NamedTuple):
    """`state` is ok, note, warn or fail; `fix` says what to do about the last two."""

    check: str
    state: str
    found: str
    fix: str = ""


class Patient(NamedTuple):
    home: Path
    config: Config


Check = Callable[[Patient], Iterator[Finding]]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(as_json: bool) -> int:
    """Find out what is wrong, and how to mend it. The exit code is 1 if anything fails."""
    findings: list[Finding] = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            click.echo(_line(finding))
    failed = sum(one.state == "fail" for one in findings)
    if as_json:
        click.echo(
            json.dumps({"ok": not failed, "version": __version__, "checks": [one._asdict() for one in findings]})
        )
    else:
        click.echo(_last_line(findings))
    return 1 if failed else 0


def _last_line(findings: list[Finding]) -> str:
    if failed := sum(one.state == "fail" for one in findings):
        return f"{failed} of {len(findings)} checks failed"
    warned = ", ".join(one.check for one in findings if one.state == "warn")
    return f"no check failed; worth a look: {warned}" if warned else "all is well"


def examine() -> Iterator[Finding]:
    """Every finding, as it is found: starting a browser takes a second."""
    yield from _python()
    yield from _packages()
    try:
        home = Path(directory())
    except OSError as error:
        yield Finding("home", "fail", str(error), "choose a directory of your own with PILOTHOUSE_HOME")
        return
    config = Config()
    try:
        config = load(home / "config.toml", os.environ)
        there = "valid" if (home / "config.toml").exists() else "none: all defaults"
        yield Finding("config.toml", "ok", there)
    except Failure as failure:
        yield Finding("config.toml", "fail", failure.message, "mend it; docs/options.md lists every option")
    patient = Patient(home, config)
    first = (_home, _keys, _browsers, _vault, _policy, _record, _profiles, _disk, _daemon, _port)
    for check in (*first, _chrome, _sandbox, _shared_memory, _clients, _extension, _elsewhere):
        yield from check(patient)


def _policy(patient: Patient) -> Iterator[Finding]:
    """The file as it stands; a daemon that runs may still hold to the one before."""
    from pilothouse.guard.rulebook import NAME, Rulebook

    book = Rulebook(patient.home / NAME)
    try:
        rules = book.read()
    except Failure as failure:
        yield Finding(NAME, "fail", failure.message, "mend it; a daemon that runs keeps the policy it had, none starts")
        return
    if why := _not_taken_over():
        fix = "put it back or mend it, or `pilothouse policy template sandbox`; the daemon keeps the policy it had"
        yield Finding(NAME, "fail", why, fix)
        return
    yield Finding(NAME, "ok", f"{len(rules.rules)} rules" if book.path.exists() else "none: the templates hold")


def _record(patient: Patient) -> Iterator[Finding]:
    """What cannot be recorded is refused: with a log that nobody can write to, nothing is done."""
    from pilothouse.guard.audit import NAME, fault

    if why := fault(patient.home):
        path, mode = (log, "600") if (log := patient.home / NAME).exists() else (patient.home, "700")
        fix = f"chown $(id -u) {path} && chmod {mode} {path}; on Linux chattr -i {path} too; none can call till then"
        yield Finding("audit log", "fail", why, fix)
    else:
        yield Finding("audit log", "ok", "can be written")


def _not_taken_over() -> str:
    """What a daemon that runs says against the file; empty if it says nothing, or none runs."""
    try:
        return person.ask("GET", "/api/policy")["problem"]
    except (Failure, person.NotThere):
        return ""


def _browsers(patient: Patient) -> Iterator[Finding]:
    """The file of paired browsers: with a bad one no daemon starts. Of one that runs `_extension` tells."""
    from pilothouse.guard.pairing import FILE, kept

    try:
        paired = kept(patient.home)
    except Failure as failure:
        yield Finding(FILE, "fail", failure.message, "; ".join(failure.suggestions))
        return
    port, found = patient.config.server.port, f"{len(paired)} paired"
    astray = [one for one in paired if port and one.port not in (0, port)]
    if not astray or instance.published(str(patient.home)):
        yield Finding(FILE, "ok", found)
        return
    where = [f"{one.name} looks for the daemon on port {one.port}, not on {port}" for one in astray]
    yield Finding(FILE, "warn", "; ".join([found, *where]), back_from(astray[0].port))


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    yield Finding("python", "ok" if good else "fail", version, "" if good else "install Python 3.11 or newer")


def _packages() -> Iterator[Finding]:
    """Every package we need, new enough; the pinned version where this is a checkout."""
    pinned = _pinned()
    missing: list[str] = []
    other: list[str] = []
    for requirement in metadata.requires("pilothouse") or []:
        if "extra ==" in requirement or ("sys_platform" in requirement and sys.platform == "win32"):
            continue
        name = re.split(r"[^A-Za-z0-9._-]", requirement)[0]
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if pinned.get(_same(name), found) != found:
            other.append(f"{name} {found} (tested with {pinned[_same(name)]})")
    if missing:
        yield Finding("packages", "fail", f"missing: {', '.join(missing)}", "install Pilothouse again")
    elif other:
        yield Finding("packages", "warn", "; ".join(other), "pip install -c constraints.txt -e .")
    else:
        yield Finding("packages", "ok", "as tested" if pinned else "all there")


def _pinned() -> dict[str, str]:
    path = Path(pilothouse.__file__).parents[2] / "constraints.txt"
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return {}
    pairs = [line.partition(";")[0].strip().partition("==") for line in lines if "==" in line and line[0] != "#"]
    return {_same(name): version for name, _, version in pairs}


def _same(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _home(patient: Patient) -> Iterator[Finding]:
    mode = stat.S_IMODE(patient.home.stat().st_mode)
    open_to_others = sys.platform != "win32" and mode & 0o077
    if open_to_others:
        yield Finding("home", "fail", f"{patient.home} has mode {mode:o}", f"chmod 700 {patient.home}")
    elif not os.access(patient.home, os.W_OK):
        yield Finding("home", "fail", f"{patient.home} cannot be written to", f"chmod 700 {patient.home}")
    else:
        yield Finding("home", "ok", str(patient.home))


def _keys(patient: Patient) -> Iterator[Finding]:
    for name in _KEYS:
        path = patient.home / name
        try:
            status = path.stat()
        except FileNotFoundError:
            yield Finding(name, "note", "not there yet: made at the daemon's first start")
            continue
        if stat.S_IMODE(status.st_mode) & 0o077 and sys.platform != "win32":
            yield Finding(
                name, "fail", f"mode {stat.S_IMODE(status.st_mode):o}: others may read it", f"chmod 600 {path}"
            )
        elif not path.read_bytes().strip():
            yield Finding(name, "fail", "empty", f"rm {path}, then `pilothouse stop`: a new one is made")
        else:
            yield Finding(name, "ok", "present, 0600")


def _vault(patient: Patient) -> Iterator[Finding]:
    from pilothouse.guard.vault import Vault, system_keyring

    if why := Vault(patient.home, system_keyring).problem():
        mending = "put state.key back, or begin without them: pilothouse secret start-anew"
        yield Finding("secrets", "warn", f"saved states and secrets cannot be opened: {why}", mending)


def _profiles(patient: Patient) -> Iterator[Finding]:
    folder = patient.home / "profiles"
    if not folder.exists():
        yield Finding("profiles", "ok", "none")
        return
    names = sorted(one.name for one in folder.iterdir() if one.is_dir())
    shut = [name for name in names if not os.access(folder / name, os.R_OK | os.W_OK | os.X_OK)]
    if shut or not os.access(folder, os.W_OK):
        fix = f"chown -R $(id -u) {folder} && chmod -R u+rwX {folder}"
        yield Finding("profiles", "fail", f"cannot be used: {', '.join(shut) or folder}", fix)
    else:
        yield Finding("profiles", "ok", f"{len(names)} on disk" if names else "none")


def _disk(patient: Patient) -> Iterator[Finding]:
    free = shutil.disk_usage(patient.home).free
    state = "fail" if free < NO_DISK_BYTES else "warn" if free < LOW_DISK_BYTES else "ok"
    fix = "" if state == "ok" else f"make room on the disk of {patient.home}"
    yield Finding("disk", state, f"{free / 1e9:.1f} GB free", fix)


def _daemon(patient: Patient) -> Iterator[Finding]:
    info = instance.published(str(patient.home))
    if info is None:
        yield Finding("daemon", "note", "not running: the first call starts it")
    elif info.get("version") != __version__:
        found = f"version {info.get('version')} runs, this is {__version__}"
        yield Finding("daemon", "warn", found, "`pilothouse stop`; the next call starts the new one")
    elif not _answers(str(patient.home)):
        yield Finding(
            "daemon", "fail", f"pid {info['pid']} does not answer", "`pilothouse stop`, then look at daemon.log"
        )
    else:
        yield Finding("daemon", "ok", f"{info['url']}, pid {info['pid']}, version {info['version']}")


def _answers(home: str) -> bool:
    try:
        link = instance.connect(home, 3)
        with_hello = json.dumps({"pilothouse": __version__, "door": "call"}).encode()
        try:
            return b'"pid"' in instance.greet(link, with_hello)
        finally:
            link.close()
    except OSError:
        return False


def _port(patient: Patient) -> Iterator[Finding]:
    """Only if the next daemon could not have it: one that runs has said where it listens."""
    port = patient.config.server.port
    info = instance.published(str(patient.home))
    if info is None and port and not _is_free(port):
        owner = instance.port_owner(port)
        yield Finding("port", "fail", f"{port} is taken by {owner}", "end that, or set server.port in config.toml")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _chrome(patient: Patient) -> Iterator[Finding]:
    try:
        path = find_chrome(patient.config.browser.path)
    except Failure as failure:
        yield Finding("browser", "fail", failure.message, "; ".join(failure.suggestions))
        return
    yield Finding("browser", "ok", f"{path} {_version(path)}".strip())
    logging.getLogger("pilothouse").addHandler(logging.NullHandler())  # what it would warn of stands below
    began = time.monotonic()
    try:
        asyncio.run(_started(patient))
    except Failure as failure:
        said = str(failure.details.get("stderr", "")).strip().splitlines()
        found = "; ".join([failure.message, *said[-1:]])
        yield Finding("browser start", "fail", found, "; ".join(failure.suggestions))
    else:
        yield Finding("browser start", "ok", f"headless in {time.monotonic() - began:.1f} s")


def _version(path: str) -> str:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else ""


async def _started(patient: Patient) -> None:
    chrome = await Launcher(patient.config.browser, patient.home).start()
    await chrome.close()


def _sandbox(patient: Patient) -> Iterator[Finding]:
    wanted = patient.config.browser.sandbox
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if wanted is False or (wanted == "auto" and root):
        why = "root cannot use it" if root else "browser.sandbox = false"
        yield Finding(
            "sandbox", "warn", f"Chrome runs without its sandbox: {why}", "run Pilothouse as an ordinary user"
        )
    else:
        yield Finding("sandbox", "ok", "on")


def _shared_memory(patient: Patient) -> Iterator[Finding]:
    if not os.path.isdir("/dev/shm"):
        return
    size = shutil.disk_usage("/dev/shm").total
    if size < SMALL_SHM_BYTES:
        found = f"/dev/shm has {size / 1e6:.0f} MB; Chrome is told to use files instead, which is slower"
        yield Finding("shared memory", "warn", found, "docker run --shm-size=512m")
    else:
        yield Finding("shared memory", "ok", f"{size / 1e6:.0f} MB")


def _clients(patient: Patient) -> Iterator[Finding]:
    """Clients that know us, and whether what they would start is there."""
    connected: list[str] = []
    for one in CLIENTS.values():
        try:
            entry: Any = one.get(one.path().read_text("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        except Unreadable as error:
            yield Finding(one.name, "warn", f"{one.path()}: {error}", "mend that file")
            continue
        if not isinstance(entry, dict):
            continue
        command = str(entry.get("command", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if command and not shutil.which(command):
            yield Finding(one.name, "fail", f"starts {command}, which is not there", f"pilothouse install {one.name}")
        else:
            connected.append(one.title)
    none = "none in its user's settings: `pilothouse install CLIENT`"
    yield Finding("clients", "ok" if connected else "note", ", ".join(connected) or none)


def _extension(patient: Patient) -> Iterator[Finding]:
    """The person's own browsers: which are paired, how they are, and whether their extension fits this daemon."""
    manifest = folder() / "manifest.json"
    if not manifest.exists():
        yield Finding("extension", "fail", f"there is none in {folder()}", "install Pilothouse again")
        return
    try:
        told = person.ask("GET", "/api/extension/browsers")
    except person.NotThere:
        yield Finding("extension", "note", f"in {folder()}; while no daemon runs nothing can be said of browsers")
        return
    except Failure as failure:
        yield Finding("extension", "warn", failure.message, "; ".join(failure.suggestions))
        return
    if told["misfit"]:
        yield Finding("extension", "fail", told["misfit"], "make both of one version, then `pilothouse extension list`")
    if not told["browsers"]:
        yield Finding("extension", "note", "no browser is paired: `pilothouse extension pair`, docs/extension.md")
    for one in told["browsers"]:
        yield _own_browser(one, told["port"])


def _elsewhere(patient: Patient) -> Iterator[Finding]:
    """Every endpoint is really connected to; of the Grid it is asked what it has."""
    from pilothouse.guard.secrets import Secrets
    from pilothouse.guard.vault import Vault, system_keyring
    from pilothouse.providers.elsewhere import Elsewhere

    secrets = Secrets(patient.home, Vault(patient.home, system_keyring))
    places = Elsewhere(secrets.written_out)
    places.configure(patient.config.endpoints, patient.config.grid)
    yield from _gateways(patient.config.sluice)
    for name, source in places.sources().items():
        check = "grid" if name == "grid" else f"endpoint {name}"
        try:
            yield Finding(check, "ok", asyncio.run(source.examined()))
        except Failure as failure:
            yield Finding(check, "fail", failure.message, "mend its entry in config.toml, or start what it names")


def _gateways(told: Gateways) -> Iterator[Finding]:
    """One is really opened; whether nodes reach it, only they can say."""
    from pilothouse.guard.abroad import Abroad
    from pilothouse.guard.sluice import Sluice

    async def tried() -> None:
        gateway, _ = await Abroad(Sluice({}, set()), told)()
        gateway.close()

    if not told.advertise:
        return
    try:
        asyncio.run(tried())
    except Failure as failure:
        yield Finding("sluice", "fail", failure.message, "sluice.listen has to be an address of this machine, or empty")
        return
    where = told.listen or "every address of this machine"
    yield Finding("sluice", "ok", f"gateways on {where}, called {told.advertise}, for {', '.join(told.nodes)}")


def _own_browser(one: dict[str, Any], port: int) -> Finding:
    name = f"extension in {one['name']}"
    if where := elsewhere(one, port):
        return Finding(name, "warn", where, back_from(one["port"]))
    if one["state"] == "stopped":
        return Finding(name, "warn", "the person stopped everything there", "press `Allow again` in its popup")
    if one["state"] == "gone":
        fix = f"open Chrome, and its popup says more; or `pilothouse extension forget {one['name']}`"
        return Finding(name, "warn", "not connected: Chrome is closed, or its extension is off or was removed", fix)
    found = f"{one['state']}, version {person.plain(one['version'])}, shares {one['tabs']} tabs"
    if one["version"] != __version__:
        fix = "reload it in chrome://extensions, or update Pilothouse and restart its daemon"
        return Finding(name, "warn", f"{found}; this is {__version__}", fix)
    return Finding(name, "ok", found)


def _line(finding: Finding) -> str:
    colours = {"ok": BOLD, "note": DIM, "warn": YELLOW, "fail": RED}
    state = paint(f"{finding.state:<5}", colours[finding.state], sys.stdout)
    line = f"{state} {finding.check}: {person.plain(finding.found)}"
    return f"{line}\n      fix: {person.plain(finding.fix)}" if finding.fix else line
