"""Where the project and what its tests use lie."""

import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
TEMPORARY = tempfile.gettempdir()  # the suite's; a test has a TMPDIR of its own
