"""Every line of the corpora with the gate forced to say yes, and every deletion that goes taken back by /rewind.

python tests/faults/campaign_lines.py [--every N] [--at-once N] [--only run|rewind]. Exit 1 when a line reached anything
beyond its grant, or a tree did not come back as it was.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.forced_lines import deleting, lines, reached, taken_back


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/faults lines", description="Run every line of the corpora.")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th line")
    parser.add_argument("--at-once", type=int, default=4, metavar="N", help="projects side by side (4)")
    parser.add_argument("--only", choices=("run", "rewind"), help="one of the two parts")
    arguments = parser.parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quintet-lines-") as folder:
        place = Path(folder)
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(place / name.lower())
        if arguments.only != "rewind":
            wanted, began = lines()[:: arguments.every], time.monotonic()
            found += (touched := asyncio.run(reached(place / "field", wanted, arguments.at_once)))
            print(f"{len(wanted)} lines run, {len(touched)} reached more, {time.monotonic() - began:.0f} s", flush=True)
        if arguments.only != "run":
            wanted, began = deleting()[:: arguments.every], time.monotonic()
            root = repository(place / "project")
            ran, wrong = taken_back(root, wanted)
            found += wrong
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{len(wanted)} deleting lines, {len(ran)} ran, {len(wrong)} trees not as before, {took}")
    for line in found:
        print(f"  {line}")
    return 1 if found else 0


def repository(root: Path) -> Path:
    root.mkdir(parents=True)
    (root / "README").write_text("A project to delete things in.\n")
    git = ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run((*git, *words), check=True)
    return root


if __name__ == "__main__":
    sys.exit(main())
