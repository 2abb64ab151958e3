"""Every test with all combinations of its parameters, where the suite runs only enough to have every value and pair.

python tests/faults/campaign_products.py [PYTEST ARGS…]. Exit code of pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.places import ROOT
from tests.products import ROOMS


def main() -> int:
    words = sys.argv[1:] or ("-p", "no:xdist", "-n", str(2 * (os.cpu_count() or 1)), *ROOMS)
    argv = (sys.executable, "-m", "pytest", *words)
    return subprocess.run(argv, cwd=ROOT, env={**os.environ, "QUINTET_TEST_PRODUCTS": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
