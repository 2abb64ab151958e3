"""What the gate costs for a shell line, parsing included, next to `shlex.split` of the same line.

python bench/gate.py [--rounds 60] [--json]. Ordinary lines of 150 to 200 characters: CPU time of this thread, the best
of the rounds, in batches that take turns. Nothing is remembered between two calls but what the program always keeps.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from statistics import median
from time import thread_time_ns
from typing import Any

from _table import say, table, verdict

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import JudgedLines
from quintet.domain.permission.gate import Sandbox, Terms, decide
from quintet.domain.shell.judge import JudgedLine, judge
from quintet.domain.turn.tool_spec import Touch

BATCH = 20
TARGET_US = 100.0
LINES = (
    "git status --short && git diff --stat HEAD~1 -- src/quintet/domain src/quintet/adapters && git log --oneline -20 "
    "--no-merges -- src/quintet/domain/gate.py | head -40",
    "git add -A src tests && git commit -q -m 'Follow what a line says of its own variables, so that none of them "
    "hides a file from the gate' && git log --oneline -3",
    "git fetch origin && git rebase origin/main && git log --oneline --graph --decorate origin/main..HEAD && git diff "
    "--stat origin/main...HEAD -- src/quintet tests docs",
    "git log --since='2 weeks ago' --author=ada --pretty=format:'%h %ad %s' --date=short -- src/quintet/engine | sort "
    "-k2 | uniq -c | sort -rn | head -n 20",
    "python -m pytest tests/domain/permission/test_gate.py tests/domain/shell/test_judge.py "
    "tests/adapters/shell_grammar/test_parse.py -q -x --maxfail=3 2>&1 | tail -n 40",
    "PYTHONPATH=src python -m pytest tests/engine -q -k 'session and not resume' --durations=5 2>/dev/null | grep -E "
    "'passed|failed|error' | sort | uniq -c | head",
    "ruff format -q src tests && ruff check -q src tests --fix && mypy src && python -m pytest tests/domain "
    "tests/tools -q -n 2 --no-header 2>&1 | tail -20",
    "cd src/quintet && sed -n '1,120p' domain/gate.py && sed -i 's/old_name/new_name/g' domain/gate.py "
    "domain/grants.py && git diff --stat && ruff check domain",
    "cd web && npm ci --no-audit --no-fund && npm run lint && npm run build && npm test -- --watch=false --coverage "
    "2>&1 | tail -n 60 | grep -v 'deprecated'",
    "grep -rn --include='*.py' 'def judge' src/quintet/domain src/quintet/adapters | sort -u | awk -F: '{print $1}' | "
    "uniq -c | sort -rn | head -20",
    "rg -n 'class \\w+\\(Struct' src/quintet/domain --type py -g '!test_*' | cut -d: -f1 | sort | uniq -c | sort -rn | "
    "head -n 15 | column -t -s ' '",
    "find src tests -name '*.py' -not -path './.venv/*' -newer pyproject.toml -type f | xargs wc -l | sort -rn | head "
    "-n 25 | awk '{print $2, $1}'",
    "ls -la src/quintet/domain src/quintet/adapters | grep -v total | awk '{print $5, $9}' | sort -n | tail -n 15 && "
    "du -sh src tests docs | sort -h",
    "cat pyproject.toml | grep -A 12 'dependencies' | grep -v '^#' | tr -d ' \",' | sort | head -n 30 && wc -l "
    "requirements/*.txt && head -n 3 requirements/dev.txt",
    'for f in src/quintet/domain/*.py src/quintet/adapters/*.py src/quintet/engine/*.py; do echo "$f"; wc -l "$f"; '
    'grep -c "^def " "$f"; done | head -n 60',
    'for name in gate grants protected rules; do echo "== $name"; head -n 12 src/quintet/domain/$name.py; git log '
    "--oneline -3 -- src/quintet/domain/$name.py; done",
    "if grep -q 'shell_effects' src/quintet/engine/toolbox.py; then echo used; grep -n 'with_lines' "
    "src/quintet/engine/toolbox.py; else echo unused; fi && git status --short",
    'while read -r name; do echo "$name"; grep -c import "$name"; done < changed.txt | paste - - | sort -k2 -n | tail '
    "-n 20; wc -l changed.txt; git diff --stat | tail -n 1",
    "mkdir -p build/report && cp docs/reference/settings.md build/report/ && tar czf build/report.tgz build/report && "
    "ls -la build/report.tgz && sha256sum build/report.tgz | cut -d' ' -f1",
    "cargo fmt --all -- --check && cargo clippy --workspace --all-targets -- -D warnings && cargo test --workspace "
    "--no-fail-fast 2>&1 | grep -E '^test result' | sort | uniq -c",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60, metavar="N", help="batches of each (60)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    figures = [_measure(line, max(wanted.rounds, 1)) for line in LINES]
    whole = [float(figure["all_us"]) for figure in figures]
    share = sum(us <= TARGET_US for us in whole) / len(whole)
    summary = {"lines": figures, "median_us": round(median(whole), 1), "share_under_target": share}
    say(_text(summary), summary, wanted.json)
    return 0


def _measure(line: str, rounds: int) -> dict[str, Any]:
    """The best time of each step, in µs a call."""
    grammar, bash = BashGrammar(), BY_NAME["bash"]
    script = grammar.parse(line)
    judged = judge(script)
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    terms = Terms("/project", True, Sandbox.BWRAP)

    def decided(one: JudgedLine) -> object:
        touch = Touch(one.effects, one.reads, one.writes, one.why)
        return decide(bash, touch, axes, terms, line, JudgedLines(one.commands, one.parts, named=one.named))

    steps: dict[str, Callable[[], object]] = {
        "shlex": lambda: shlex.split(line),
        "parse": lambda: grammar.parse(line),
        "judge": lambda: judge(script),
        "decide": lambda: decided(judged),
        "all": lambda: decided(judge(grammar.parse(line))),
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            before = thread_time_ns()
            for _ in range(BATCH):
                step()
            best[name] = min(best[name], (thread_time_ns() - before) / BATCH / 1000)
    return {
        "line": line,
        "characters": len(line),
        **{f"{name}_us": round(us, 1) for name, us in best.items()},
        "ratio": round(best["all"] / best["shlex"], 2),
        "problem": script.problem,
    }


def _text(summary: dict[str, Any]) -> str:
    steps = ("parse_us", "judge_us", "decide_us", "all_us", "shlex_us")
    rows = [
        [
            figure["line"][:34] + "…",
            str(figure["characters"]),
            *(f"{figure[step]:.1f}" for step in steps),
            f"{figure['ratio']:.2f}",
            verdict(figure["all_us"] <= TARGET_US),
        ]
        for figure in summary["lines"]
    ]
    header = ["line", "characters", "parse µs", "judge", "decide", "all", "shlex", "ratio", ""]
    share = f"{summary['share_under_target']:.0%} of the lines within {TARGET_US:g} µs"
    return f"{table(header, rows)}\n\n{share}, median {summary['median_us']:.1f} µs; best of the rounds, CPU time"


if __name__ == "__main__":
    sys.exit(main())
