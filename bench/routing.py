"""What it costs to find the command an input is, next to `difflib.get_close_matches` over the same menu's labels.

python bench/routing.py [--rounds 40] [--json]. A menu of 30 items, compiled once; inputs of up to 80 characters: CPU
time of this thread, the best of the rounds, in batches that take turns.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from statistics import median
from time import thread_time_ns
from typing import Any

from _table import say, table, verdict

from quintet.domain.agents.agent import Agent, Handler, HandlerKind, MenuItem, Persona, visible_menu
from quintet.domain.agents.route import resolve
from quintet.domain.dials.axes import Surface

BATCH = 20
TARGET_US = 200.0
THINGS = ("test", "release", "story", "service", "document", "diagram", "backlog", "pipeline", "module")
JOBS = (
    ("plan", "Plan the next {} and say what has to be there before it can begin"),
    ("review", "Review a {} for gaps, duplicates and what nobody has looked at yet"),
    ("report", "Report on the state of each {} since the last run, the worst one first"),
)
INPUTS = (
    "7",
    "*release-review",
    "SR",
    "story reprot",
    "piplin",
    "pla",
    "please run the pipeline review now",
    "Report on the state of each service since the last run, the worst one first",
    "can you write a plan for the module that we talked about in the meeting",
    "I think the last release went well, but the tests were slow on my machine",
    "why does the diagram on page two show three services when we only have two",
    "no, that is not what the story says, have a look at the second paragraph",
    "ich glaube nicht, dass das Dokument vor dem Release noch fertig werden wird",
    "x" * 80,
    "status " * 11,
)


def menu_of_thirty() -> Agent:
    items = [
        MenuItem(
            f"[{thing[0]}{job[0]}{number}] {about.format(thing)}",
            f"{thing}-{job}",
            (Handler(HandlerKind.WORKFLOW, f"{thing}-{job}"),),
            f"{thing[0]}{job[0]}{number}",
        )
        for number, thing in enumerate(THINGS)
        for job, about in JOBS
    ]
    agent = Agent("bench", "Bench", Persona("a menu"), menu=tuple(items))
    assert len(visible_menu(agent, Surface.TUI)) == 30
    return agent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40, metavar="N", help="batches of each (40)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    agent = menu_of_thirty()
    figures = [_measure(text, agent, max(wanted.rounds, 1)) for text in INPUTS]
    costs = [float(figure["resolve_us"]) for figure in figures]
    summary = {"inputs": figures, "median_us": round(median(costs), 1), "worst_us": max(costs), "target_us": TARGET_US}
    say(_text(summary), summary, wanted.json)
    return 0


def _measure(text: str, agent: Agent, rounds: int) -> dict[str, Any]:
    labels = [item.label.casefold() for item in visible_menu(agent, Surface.TUI)]
    folded = text.casefold()
    best = {"resolve": float("inf"), "difflib": float("inf")}
    for _ in range(rounds):
        before = thread_time_ns()
        for _ in range(BATCH):
            command = resolve(text, agent)
        middle = thread_time_ns()
        difflib.get_close_matches(folded, labels)
        after = thread_time_ns()
        best["resolve"] = min(best["resolve"], (middle - before) / BATCH / 1000)
        best["difflib"] = min(best["difflib"], (after - middle) / 1000)
    return {
        "input": text,
        "characters": len(text),
        "kind": command.kind.value,
        **{f"{name}_us": round(us, 1) for name, us in best.items()},
    }


def _text(summary: dict[str, Any]) -> str:
    rows = [
        [
            figure["input"][:40] + ("…" if figure["characters"] > 40 else ""),
            figure["kind"],
            str(figure["characters"]),
            f"{figure['resolve_us']:.1f}",
            f"{figure['difflib_us']:.1f}",
            verdict(figure["resolve_us"] <= TARGET_US),
        ]
        for figure in summary["inputs"]
    ]
    header = ["input", "kind", "characters", "resolve µs", "difflib µs", ""]
    worst = f"worst {summary['worst_us']:.1f} µs, median {summary['median_us']:.1f} µs"
    return f"{table(header, rows)}\n\n{worst}; the target is {TARGET_US:g} µs; best of the rounds, CPU time"


if __name__ == "__main__":
    sys.exit(main())
