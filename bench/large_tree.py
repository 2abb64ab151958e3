"""A folder of 100,000 files without git: the first prompt, the first checkpoint, leaving it, and the second one.

python bench/large_tree.py [--files 100000] [--folder DIR] [--json]. Seconds on the wall. The first prompt is from the
start of the program at a terminal until its prompt is drawn. A checkpoint is from the decision about a call until the
files are saved, as the journal has it; leaving is an interrupt in the middle of the first one until the program has
ended. It fails if the first checkpoint of a large folder says nothing of its progress.
Where others work on the machine, `chrt --rr 1` as root measures without them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from _table import measured_in_a_folder, table, verdict

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.surfaces.tui.at_pty import at_pty

PROGRAM = (sys.executable, "-m", "quintet")
ENTRY = "import sys; from quintet.cli.main import main; sys.exit(main(sys.argv[1:]))"
DIALS = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")
TARGETS = {"first prompt": 1.5, "leaving the first checkpoint": 1.0, "second checkpoint": 1.5}
PROMPT = "›".encode()
LARGE = 20_000


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, files=(100_000, "how many"))


def _text(figures: dict[str, float]) -> str:
    rows = [
        (name, f"{took:.2f} s", f"{TARGETS[name]} s {verdict(took <= TARGETS[name])}" if name in TARGETS else "")
        for name, took in figures.items()
    ]
    return table(("", "wall", "target"), rows)


def _plant(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"d{number // 10_000}" / f"e{number // 500}"
        if number % 500 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number}.txt").write_text(f"{number} and some text\n")


async def _measure(folder: str, files: int) -> dict[str, float]:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = os.path.join(folder, name.lower())
        os.mkdir(os.environ[name])
    root = Path(folder, "project")
    _plant(root, files)
    found = {"first prompt": min(_prompt(root) for _ in range(3))}
    found["leaving the first checkpoint"] = _leave(root)
    session, found["first checkpoint"], said = _checkpoint(root, "! touch x1", *DIALS)
    if files >= LARGE and "saving the project's files" not in said:
        raise SystemExit("the first checkpoint said nothing of its progress")
    found["second checkpoint"] = _checkpoint(root, "! touch x2", "--resume", session)[1]
    return found


def _prompt(root: Path) -> float:
    began = time.monotonic()
    with at_pty(ENTRY, root, *DIALS) as terminal:
        while PROMPT not in terminal.output:
            time.sleep(0.005)
        return time.monotonic() - began


def _leave(root: Path) -> float:
    child = subprocess.Popen(
        [*PROGRAM, "-p", "! true > x0", *DIALS], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr
    for line in child.stderr:
        if "saving" in line:
            break
    time.sleep(1.0)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.communicate()
    return time.monotonic() - began


def _checkpoint(root: Path, line: str, *words: str) -> tuple[str, float, str]:
    """The session, the seconds, and what was said meanwhile."""
    done = subprocess.run([*PROGRAM, "-p", line, *words], cwd=root, capture_output=True, text=True, check=True)
    listed = subprocess.run([*PROGRAM, "sessions", "list", "--json"], cwd=root, capture_output=True, check=True)
    session = json.loads(listed.stdout)[0]["session"]
    shown = subprocess.run(
        [*PROGRAM, "sessions", "show", session, "--events"], cwd=root, capture_output=True, check=True
    )
    events = [json.loads(line) for line in shown.stdout.splitlines()]
    last = {event["type"]: datetime.fromisoformat(event["at"]) for event in events}
    return session, (last["checkpoint_taken"] - last["call_decided"]).total_seconds(), done.stderr


if __name__ == "__main__":
    sys.exit(main())
