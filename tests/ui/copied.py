"""`scripts/panel` as a module: it has no ending that Python would import."""

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

_PATH = Path(__file__).parents[2] / "scripts" / "panel"
_loader = SourceFileLoader("panel", str(_PATH))
_spec = importlib.util.spec_from_loader("panel", _loader)
assert _spec
panel = importlib.util.module_from_spec(_spec)
_loader.exec_module(panel)
