"""How the corpus of shell lines is decided: what bad lines meet, and how many good ones go unasked."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.domain.hostile_lines import bad, decided, good

from quintet.domain.dials.axes import WorkMode
from quintet.domain.permission.gate import Sandbox, Verdict


def main() -> int:
    lines = [row["line"] for row in bad()]
    went = [line for line in lines if decided(line, "restricted", Sandbox.NONE, WorkMode.PLAN).verdict is Verdict.ALLOW]
    print(f"{len(lines)} bad lines, plan | restricted, sandbox none: {len(went)} go")
    walls = Counter(row["wall"] for row in bad())
    print(f"behind bwrap, up to trusted: {walls['gate']} stopped by the gate, {walls['sandbox']} held by the sandbox")
    for sandbox in Sandbox:
        for profile in ("normal", "trusted"):
            verdicts = Counter(str(decided(row["line"], profile, sandbox).verdict) for row in good())
            print(f"{len(good())} good lines, {sandbox}, {profile}: {verdicts['allow']} go, {verdicts['ask']} ask")
    return 1 if went else 0


if __name__ == "__main__":
    sys.exit(main())
