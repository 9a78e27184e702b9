"""The npm packages the bench compares with and counts by, in `.tools/bench` (git-ignored), installed when missing."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".tools" / "bench"
MODULES = HOME / "node_modules"

PLAYWRIGHT = ("@playwright/mcp", "0.0.83")
DEVTOOLS = ("chrome-devtools-mcp", "1.11.0")
TOKENIZER = ("gpt-tokenizer", "4.0.0")


class Unavailable(Exception):
    """Node or a package cannot be had on this machine."""


def ensure(*packages: tuple[str, str]) -> None:
    """Install what is missing; raises `Unavailable` with the reason."""
    missing = [f"{name}@{version}" for name, version in packages if not (MODULES / name / "package.json").exists()]
    if not missing:
        return
    npm = shutil.which("npm")
    if not npm:
        raise Unavailable(f"npm is not installed, and {', '.join(missing)} is needed")
    HOME.mkdir(parents=True, exist_ok=True)
    if not (HOME / "package.json").exists():
        (HOME / "package.json").write_text('{"private": true}\n')
    command = [
        npm,
        "install",
        "--prefix",
        str(HOME),
        "--no-audit",
        "--no-fund",
        "--silent",
        "--ignore-scripts",
        *missing,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise Unavailable(f"npm could not install {', '.join(missing)}: {done.stderr.strip()[-300:]}")
