"""Workers in simulated time at full size, each mutant of a rule, and workers for real on a PostgreSQL of its own.

scripts/faults workers [--seed 1] [--workers 1000] [--tasks 100000] [--runs 1] [--rough] [--no-mutants] [--no-real]
[--only-real] [--real-workers 16] [--real-tasks 500] [--every 1] [--stall 300]. The decisions of the simulation are the
program's own (`domain/workers`). For real, a worker is killed every --every seconds and the server is restarted twice.
Exit 1 if a task is lost or done twice, something is written after it was taken, two work at the same, or a mutant of a
rule is not found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.domain.workers.mutants import MUTANTS
from tests.domain.workers.simulator import Faults, Simulation
from tests.domain.workers.test_simulator import CALM, ROUGH
from tests.faults.real_workers import RealWorkers

MOST_SECONDS = 500_000.0  # simulated


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rough", action="store_true", help="with more trouble, as the small runs of the tests have")
    parser.add_argument("--no-mutants", action="store_true")
    parser.add_argument("--no-real", action="store_true", help="the simulation alone")
    parser.add_argument("--only-real", action="store_true", help="no simulation")
    parser.add_argument("--real-workers", type=int, default=16)
    parser.add_argument("--real-tasks", type=int, default=500)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two kills; 0: none is killed")
    parser.add_argument("--stall", type=float, default=300.0, help="seconds without a task done that end it")
    chosen = parser.parse_args()
    wrong = 0 if chosen.only_real else simulated(chosen)
    wrong += 0 if chosen.no_real else real(chosen)
    return 1 if wrong else 0


def real(chosen: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="q.") as folder:
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = os.path.join(folder, name.lower())
            os.mkdir(os.environ[name])
        outcome = RealWorkers(
            Path(folder),
            chosen.real_workers,
            chosen.real_tasks,
            every=chosen.every,
            seed=chosen.seed,
            stall=chosen.stall,
        ).run()
    sys.stdout.write(
        f"real: {chosen.real_workers} workers, {outcome.done} of {chosen.real_tasks} tasks done, "
        f"{outcome.kills} kills, {outcome.restarts} restarts of the server, "
        f"{outcome.sessions} sessions, {outcome.put_back} times put back; "
        f"{len(outcome.problems)} problems; {outcome.seconds:.0f} s\n"
    )
    sys.stdout.writelines(f"  {problem}\n" for problem in outcome.problems[:20])
    return len(outcome.problems)


def simulated(chosen: argparse.Namespace) -> int:
    wrong = 0
    for seed in range(chosen.seed, chosen.seed + chosen.runs):
        began = time.monotonic()
        faults = ROUGH if chosen.rough else Faults()
        made = Simulation(seed, chosen.workers, chosen.tasks, faults=faults).run(MOST_SECONDS)
        wrong += bool(made.wrong)
        met = ", ".join(f"{number:,} {name}" for name, number in sorted(made.seen.items()))
        taken = time.monotonic() - began
        sys.stdout.write(
            f"seed {seed}: {chosen.workers:,} workers, {chosen.tasks:,} tasks, {made.events:,} events, "
            f"{made.now:,.0f} s simulated in {taken:.0f} s: {dict(made.wrong) or 'nothing wrong'}\n  met: {met}\n"
        )
        sys.stdout.flush()
    for name, rules in MUTANTS.items() if not chosen.no_mutants else ():
        faults = CALM if name == "nobody gives way" else ROUGH
        found = next(
            (w for seed in range(8) if (w := Simulation(seed, 12, 120, rules(), faults).run(2_000).wrong)), None
        )
        wrong += not found
        sys.stdout.write(f"{name}: {dict(found) if found else 'NOT FOUND'}\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
