"""`quintet eval`: list, run, show, compare and new."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from msgspec import structs

from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.evals.comparison import Comparison, compared
from quintet.domain.evals.results import EvalRun, totals
from quintet.features.evals import book
from quintet.features.evals.tables import about, by_arm, by_task, comparisons, not_passed, taken
from quintet.features.evals.tasks import find_suite, suites
from quintet.package import load
from quintet.surfaces.tables import say, say_json, say_table

ROOM = "features.evals"


def eval_list(arguments: Namespace) -> int:
    if arguments.runs:
        return _runs(arguments)
    if arguments.suite:
        return _tasks(arguments)
    found = suites()
    if arguments.json:
        say_json([{"suite": one.name, "folder": one.folder, "tasks": len(one.tasks)} for one in found])
        return 0
    rows = []
    for one in found:
        kinds = dict.fromkeys(task.page.kind for task in one.tasks)
        offline = sum(task.page.rules for task in one.tasks)
        rows.append((one.name, str(len(one.tasks)), str(offline), ", ".join(kinds)))
    say_table(rows, heading=("SUITE", "TASKS", "OFFLINE", "KINDS"), right=(1, 2))
    return 0


def _tasks(arguments: Namespace) -> int:
    suite = find_suite(arguments.suite)
    if arguments.json:
        say_json(
            [
                {
                    "task": one.name,
                    "kind": one.page.kind,
                    "request": one.page.request.strip(),
                    "offline": one.page.rules,
                    "needs": one.page.needs,
                    "checks": len(one.page.checks),
                }
                for one in suite.tasks
            ]
        )
        return 0
    rows = [
        (one.name, one.page.kind, "yes" if one.page.rules else "-", one.page.request.strip().splitlines()[0])
        for one in suite.tasks
    ]
    say_table(rows, heading=("TASK", "KIND", "OFFLINE", "REQUEST"))
    return 0


def _runs(arguments: Namespace) -> int:
    found = [book.read(id) for id in book.ids()]
    if arguments.json:
        say_json([_summary(one) for one in found])
    elif found:
        rows = [
            (run.id, run.suite, str(run.seed), arm, str(totals(arm, run.results).rate))
            for run in found
            for arm in run.arms
        ]
        say_table(rows, heading=("RUN", "SUITE", "SEED", "ARM", "PASSED"), right=(2,))
    else:
        say(["there are no runs yet: quintet eval run basics"])
    return 0


def _summary(run: EvalRun) -> dict[str, object]:
    return {
        "run": run.id,
        "suite": run.suite,
        "seed": run.seed,
        "trials": run.trials,
        "workers": run.workers,
        "seconds": run.seconds,
        "cpu_seconds": run.cpu_seconds,
        "arms": [totals(arm, run.results) for arm in run.arms],
        "page": book.page_of(run),
    }


def whole(run: EvalRun) -> dict[str, object]:
    return {**_summary(run), "tasks": run.tasks, "results": run.results, "skipped": run.skipped}


def eval_show(arguments: Namespace) -> int:
    run = book.find(arguments.run)
    if arguments.json:
        say_json(whole(run))
    else:
        head = [about(run), "", *by_arm(run), "", *taken(run), "", *by_task(run), ""]
        say([*head, *not_passed(run), f"page: {book.page_of(run)}"])
    return 0


def eval_compare(arguments: Namespace) -> int:
    one = book.find(arguments.first)
    found = matched(one, book.find(arguments.second) if arguments.second else one)
    if arguments.json:
        say_json([{**structs.asdict(each), "verdict": each.verdict} for each in found])
    else:
        say([*comparisons(found), "", *(f"{each.first} and {each.second}: {each.verdict}" for each in found)])
        say(line for each in found for line in _told_apart(each))
    return 0


def _told_apart(each: Comparison) -> list[str]:
    kinds = (("better", each.better), ("worse", each.worse))
    return [f"  {what} at {', '.join(tasks)}" for what, tasks in kinds if tasks]


def matched(one: EvalRun, two: EvalRun) -> list[Comparison]:
    """Of one run its first arm with each other; of two the arms of one name, or the only ones they have."""
    if one.id == two.id:
        pairs = [(one.arms[0], arm) for arm in one.arms[1:]]
        if not pairs:
            raise UsageError(f"{one.id} has one arm: name a second run to compare it with")
        return [compared(a, one.of(a), b, one.of(b)) for a, b in pairs]
    pairs = [(arm, arm) for arm in one.arms if arm in two.arms]
    if not pairs and len(one.arms) == len(two.arms) == 1:
        pairs = [(one.arms[0], two.arms[0])]
    if not pairs:
        raise UsageError(f"{one.id} and {two.id} have no arm in common: {', '.join((*one.arms, *two.arms))}")
    if one.suite != two.suite:
        raise UsageError(f"{one.id} is of {one.suite} and {two.id} of {two.suite}: compare runs of one suite")
    return [compared(f"{one.id} {a}", one.of(a), f"{two.id} {b}", two.of(b)) for a, b in pairs]


def _list(parser: ArgumentParser) -> None:
    parser.add_argument("suite", nargs="?", default="", metavar="SUITE", help="its tasks; a name, or a folder's path")
    parser.add_argument("--runs", action="store_true", help="the runs that were made, oldest first")


def _show(parser: ArgumentParser) -> None:
    parser.add_argument(
        "run", nargs="?", default=book.LATEST, metavar="RUN", help="the beginning of its id (default: the latest)"
    )


def _compare(parser: ArgumentParser) -> None:
    parser.add_argument("first", metavar="RUN", help="the beginning of its id, or latest")
    parser.add_argument(
        "second",
        nargs="?",
        default="",
        metavar="RUN",
        help="the run to compare with; without it, the arms of the first are compared",
    )


EVAL = actions(
    "eval",
    {
        "list": lookup("eval list", "List the suites, the tasks of one, or the runs that were made.", eval_list, _list),
        "run": lookup(
            "eval run",
            "Try models or AI CLIs on a suite, and grade what they leave (exit code 1 if something is not graded).",
            f"{ROOM}.commands:eval_run",
            lambda parser: load(f"{ROOM}.commands:run_arguments")(parser),
        ),
        "show": lookup("eval show", "Show a run: rates by arm, every task, and what did not pass.", eval_show, _show),
        "compare": lookup(
            "eval compare", "Compare two runs, or the arms of one, with intervals.", eval_compare, _compare
        ),
        "new": lookup(
            "eval new",
            "Make tasks of commits: the state before as workspace, the message as request, their tests as grader "
            "(exit code 1 if one cannot be made).",
            f"{ROOM}.making:eval_new",
            lambda parser: load(f"{ROOM}.making:new_arguments")(parser),
        ),
    },
)
