"""How the corpora of shell lines are decided behind a whole sandbox, and how many harmless ones go without a question.

`--list` names the harmless lines that ask although their profile could let them go.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.domain.hostile_lines import (
    CORPORA,
    WAITS,
    bad,
    counted,
    decided,
    due,
    harmful,
    harmless,
    in_session,
    too_soon,
)

from quintet.domain.dials.axes import WorkMode
from quintet.domain.permission.gate import Sandbox, Verdict

LEAST = 0.92  # of the harmless lines go


def main() -> int:
    failed = False
    lines = [row["line"] for row in bad()]
    went = [line for line in lines if decided(line, "restricted", Sandbox.NONE, WorkMode.PLAN).verdict is Verdict.ALLOW]
    print(f"{len(lines)} bad lines, plan | restricted, sandbox none: {len(went)} go")
    walls = Counter(row["wall"] for row in bad())
    print(f"behind bwrap, up to trusted: {walls['gate']} stopped by the gate, {walls['sandbox']} held by the sandbox")
    for corpus in CORPORA:
        print(f"{corpus}, bwrap:")
        for profile in WAITS:
            rows = due(harmless(corpus), profile)
            kept, unkept = counted(rows, profile, kept=True), counted(rows, profile, kept=False)
            share = len(kept) / len(rows)
            failed |= share < LEAST
            unsafe = f"{len(unkept)} if nothing is kept"
            print(f"  {profile}: {len(kept)} of {len(rows)} harmless lines go ({share:.0%}), {unsafe}")
            for row in rows if "--list" in sys.argv else ():
                if row not in kept:
                    print(f"    {row['line']!r}: {in_session(row['line'], profile).reason}")
        everything = {p: len(counted(harmless(corpus), p, kept=True)) for p in WAITS}
        print(f"  of all {len(harmless(corpus))}: {everything['normal']} at normal, {everything['trusted']} at trusted")
        early = [f"{row['line']!r} at {profile}" for row in harmful(corpus) for profile in too_soon(row)]
        print(f"  {len(harmful(corpus))} harmful lines: {len(early)} go below their need")
        print("".join(f"    {line}\n" for line in early), end="")
        failed |= bool(early)
    return 1 if went or failed else 0


if __name__ == "__main__":
    sys.exit(main())
