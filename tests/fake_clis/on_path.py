"""Puts the fake AI CLIs on PATH."""

import os
import sys
from pathlib import Path

from tests.places import TESTS

FAKE = TESTS / "fake_clis" / "fake_cli.py"


def put_on_path(folder: Path) -> str:
    """Fakes by every name, in front of whatever is installed; returns the PATH that finds them."""
    folder.mkdir()
    for name in ("codex", "claude", "gemini", "agent"):
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        path.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
