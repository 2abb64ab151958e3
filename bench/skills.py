"""What 200 skills cost: the start of Quintet, its first turn, and the first request.

python bench/skills.py [--runs 15] [--skills 200] [--json]. User and system time of each command, in turns, in one home
without skills and one with them; the ratio is of medians, with skills to without. The first turn is that of a session
with a scripted model, whose first request is measured as JSON.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from statistics import median

from _table import say, table, verdict

BIN = os.path.dirname(sys.executable)
QUINTET = os.path.join(BIN, "quintet")
TURN = """
import asyncio, sys, msgspec
from quintet import open
from quintet.testing import ScriptedModel

async def main():
    model = ScriptedModel(["done"])
    async with open(".", model=model) as session:
        followed = session.follow(await session.say("hello"))
        async for _ in followed:
            pass
    print(len(msgspec.json.encode(model.requests[0])))

asyncio.run(main())
"""
COMMANDS = {
    "quintet --version": [QUINTET, "--version"],
    "quintet status --json": [QUINTET, "status", "--json"],
    "quintet -p 'git status'": [QUINTET, "-p", "git status"],
    "the first turn": [sys.executable, "-c", TURN],
}
MOST_RATIO, MOST_BYTES = 1.05, 6_000
ABOUT = "Use when the task is about this very thing, and not when it is about something else that sounds alike."


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15, metavar="N", help="of each command (15)")
    parser.add_argument("--skills", type=int, default=200, metavar="N", help="how many skills (200)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        homes = {name: _home(folder, name, count) for name, count in (("without", 0), ("with", wanted.skills))}
        times, sizes = _measure(homes, max(wanted.runs, 1))
    _show(times, sizes, wanted.json)
    return 0


def _home(folder: str, name: str, skills: int) -> tuple[str, dict[str, str]]:
    """A project, and the variables of a home with so many skills."""
    home = os.path.join(folder, name)
    project = os.path.join(home, "project")
    os.makedirs(project)
    for number in range(skills):
        place = os.path.join(home, ".agents/skills", f"skill-for-thing-{number}")
        os.makedirs(place)
        with open(os.path.join(place, "SKILL.md"), "w", encoding="utf-8") as file:
            file.write(f"---\nname: skill-for-thing-{number}\ndescription: {ABOUT}\n---\n\n" + "Do it well.\n" * 100)
    environment = {
        "PATH": f"{BIN}:{os.environ.get('PATH', os.defpath)}",
        "HOME": home,
        **{f"XDG_{kind.upper()}_HOME": os.path.join(home, kind) for kind in ("state", "config", "cache")},
    }
    subprocess.run(["git", "init", "-q"], cwd=project, env=environment, check=True)
    return project, environment


Homes = dict[str, tuple[str, dict[str, str]]]
Times = dict[str, dict[str, list[float]]]


def _measure(homes: Homes, runs: int) -> tuple[Times, dict[str, int]]:
    """Seconds of CPU; the first round only warms the caches."""
    times: Times = {name: {home: [] for home in homes} for name in COMMANDS}
    sizes: dict[str, int] = {}
    for round_number in range(runs + 1):
        for name, words in COMMANDS.items():
            for home, (project, environment) in homes.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run(words, cwd=project, env=environment, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                if round_number:
                    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
                    times[name][home].append(used)
                if words[-1] is TURN:
                    sizes[home] = int(done.stdout)
    return times, sizes


def _show(times: Times, sizes: dict[str, int], as_json: bool) -> None:
    figures = []
    for name, of_homes in times.items():
        without, with_them = (median(of_homes[home]) for home in ("without", "with"))
        ratio = with_them / without
        figures.append(
            {
                "command": name,
                "without_ms": round(without * 1000, 1),
                "with_ms": round(with_them * 1000, 1),
                "ratio": round(ratio, 3),
                "target": MOST_RATIO,
                "met": ratio <= MOST_RATIO,
            }
        )
    grown = sizes["with"] - sizes["without"]
    rows = [
        (str(one["command"]), str(one["without_ms"]), str(one["with_ms"]), str(one["ratio"]), verdict(bool(one["met"])))
        for one in figures
    ]
    text = table(("CPU ms", "without", "with", "ratio", f"≤ {MOST_RATIO}"), rows)
    text += f"\nfirst request: {grown:,} bytes more (≤ {MOST_BYTES:,}: {verdict(grown <= MOST_BYTES)})"
    say(text, {"commands": figures, "first_request_bytes": grown, "target_bytes": MOST_BYTES}, as_json)


if __name__ == "__main__":
    sys.exit(main())
