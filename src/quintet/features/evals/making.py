"""What `quintet eval new` does."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace

from quintet.adapters import sandbox
from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Sandbox
from quintet.features.evals.from_commit import MadeTask, make_task, newest
from quintet.features.evals.settings import EvalSettings
from quintet.features.evals.tasks import SHIPPED, own_suites
from quintet.features.evals.trials.runner import NO_SANDBOX
from quintet.surfaces.tables import complain, say, say_json

_SUITE = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")


def new_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="a commit of this repository that changes tests")
    parser.add_argument(
        "--last", type=int, default=0, metavar="N", help="the last N commits that change code and tests"
    )
    parser.add_argument("--suite", default="", metavar="NAME", help="the suite to put it into (default: the project)")
    parser.add_argument("--run", default="", metavar="LINE", help="the line that runs the tests (default: found out)")
    parser.add_argument("--request", default="", metavar="TEXT", help="what is asked for (default: the message)")


def eval_new(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = layers.load(places)
    suite = arguments.suite or re.sub(r"[^\w.-]", "-", places.name)
    if not _SUITE.fullmatch(suite) or os.path.isdir(os.path.join(SHIPPED, suite)):
        raise UsageError(f'"{suite}" cannot be the name of your suite: give another with --suite NAME')
    if sandbox.chosen(loaded.settings.sandbox.use) is not Sandbox.BWRAP:
        raise UsageError(NO_SANDBOX)
    if arguments.request and (arguments.last or len(arguments.commits) != 1):
        raise UsageError("--request is for one commit")
    commits = [*arguments.commits, *(newest(places.root, arguments.last) if arguments.last > 0 else ())]
    if not commits:
        raise UsageError("name a commit, or give --last N; only commits that change code and tests make a task")
    seconds = loaded.settings.table("evals", EvalSettings).grader_seconds
    made: list[MadeTask] = []
    failed: list[dict[str, str]] = []
    for commit in commits:
        try:
            one = make_task(
                places.root,
                commit,
                suite,
                loaded.settings,
                seconds,
                line=arguments.run,
                request=arguments.request,
            )
        except QuintetError as error:
            failed.append({"commit": commit, "reason": error.message})
            complain(error.message)
            continue
        made.append(one)
        if not arguments.json:
            say([f"{one.name}: fails before the commit ({one.before.reason}), passes on it"])
    if arguments.json:
        tasks = [{"task": one.name, "folder": one.folder, "fails_before": one.before.reason} for one in made]
        say_json({"suite": suite, "made": tasks, "failed": failed})
    elif made:
        where = os.path.join(own_suites(), suite)
        say([f"{counted(len(made), 'task')} made in {where}; try them: quintet eval run {suite}"])
    return 1 if failed else 0
