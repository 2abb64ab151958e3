"""Recall from a memory of 10,000 entries: what a turn begins with, and the tool, beside a look through all of them.

Times are of the processor: what others do on the machine does not count.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from quintet.adapters.files.project_files import ProjectFiles
from quintet.domain.base.wording import word_set
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.memory.memory import ProjectMemory
from quintet.features.memory.settings import MemorySettings
from quintet.features.memory.store import MemoryStore
from quintet.features.memory.values import CommandCheck, NewMemory, PathCheck, Tier

ENTRIES, QUESTIONS, BUDGET, MOST_MS = 10_000, 400, 4000, 20.0
VERBS = sorted(
    word_set("add fix change move rename test build remove parse read write count index draw send retry cache sort")
)
NOUNS = sorted(
    word_set("parser store journal gate screen page request model tool task plan cycle worker menu prompt theme")
)
AT = "2026-01-01T00:00:00.000Z"


def entry(number: int, chance: random.Random) -> NewMemory:
    verb, noun, other = chance.choice(VERBS), chance.choice(NOUNS), chance.choice(NOUNS)
    path = f"src/{noun}/{other}_{number}.py"
    if number % 10 == 0:
        return NewMemory(Tier.FACT, f"`make {verb}-{number}` tests the {noun}", "", CommandCheck(f"make {verb}"))
    if number % 10 < 3:
        return NewMemory(Tier.DECISION, f"the {noun} of the {other} {number} is to {verb} first")
    return NewMemory(Tier.OUTCOME, f"{verb} the {noun} of the {other}; changed {path}", "", PathCheck("there.py"))


def question(chance: random.Random) -> str:
    words = [chance.choice(VERBS), "the", chance.choice(NOUNS), "of the", chance.choice(NOUNS)]
    return " ".join([*words, f"in src/{chance.choice(NOUNS)}/{chance.choice(NOUNS)}_{chance.randrange(ENTRIES)}.py"])


def p95(ask: Callable[[str], object], asked: list[str]) -> tuple[float, float]:
    took = []
    for text in asked:
        begun = time.process_time()
        ask(text)
        took.append((time.process_time() - begun) * 1000)
    return statistics.median(took), sorted(took)[int(len(took) * 0.95)]


def main() -> int:
    chance = random.Random(26)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "there.py").touch()
        path = os.path.join(folder, "state", "memory.db")
        begun = time.perf_counter()
        with closing(MemoryStore(path)) as store:
            store.add([entry(number, chance) for number in range(ENTRIES)], "you", AT)
            held = len(store.entries())
        print(f"{held} entries written in {time.perf_counter() - begun:.2f} s, {os.path.getsize(path):,} bytes")
        memory = ProjectMemory(path, ProjectFiles(folder, PROTECTION), MemorySettings())
        asked = [question(chance) for _ in range(QUESTIONS)]
        told = sum(bool(asyncio.run(memory.relevant(text, BUDGET))) for text in asked[:50])
        rows = {
            "a turn begins": p95(lambda text: asyncio.run(memory.relevant(text, BUDGET)), asked),
            "the tool": p95(lambda text: asyncio.run(memory.search(text, 8)), asked),
            "all of them read": p95(lambda text: memory.do(lambda store: store.entries()), asked[:40]),
        }
    print(f"{told} of 50 questions are told something")
    print(f"{'':18}{'median':>10}{'p95':>10}")
    for name, (middle, worst) in rows.items():
        print(f"{name:18}{middle:7.1f} ms{worst:7.1f} ms")
    worst = max(rows["a turn begins"][1], rows["the tool"][1])
    times = rows["all of them read"][1] / worst
    print(f"recall p95 {worst:.1f} ms, limit {MOST_MS:g} ms; {times:.1f} times as fast as reading all")
    return 0 if worst <= MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main())
