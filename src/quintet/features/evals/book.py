"""The runs that were made: each a folder with its results as JSON and its page."""

from __future__ import annotations

import os

import msgspec

from quintet.adapters.files.paths import evals_folder
from quintet.adapters.files.private_files import private_folder
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.evals.results import EvalRun

RESULTS, PAGE = "results.json", "page.html"
LATEST = "latest"


def runs_folder() -> str:
    return os.path.join(evals_folder(), "runs")


def keep(run: EvalRun, page: str) -> str:
    """Write a run down; returns where its page is."""
    folder = os.path.join(runs_folder(), run.id)
    private_folder(folder)
    for name, data in ((PAGE, page.encode()), (RESULTS, msgspec.json.encode(run))):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return os.path.join(folder, PAGE)


def page_of(run: EvalRun) -> str:
    return os.path.join(runs_folder(), run.id, PAGE)


def ids() -> list[str]:
    """Of all runs, oldest first: an id begins with its time."""
    try:
        return sorted(os.listdir(runs_folder()))
    except OSError:
        return []


def find(beginning: str) -> EvalRun:
    """A run by the beginning of its id, or the latest one."""
    known = ids()
    found = known[-1:] if beginning == LATEST else [id for id in known if id.startswith(beginning)]
    if not found:
        raise NotFound(f"no run {beginning}" if known else "there are no runs yet: quintet eval run basics")
    if len(found) > 1 and beginning not in found:
        raise UsageError(f"{beginning} is the beginning of {len(found)} runs: {', '.join(found[:3])}")
    return read(beginning if beginning in found else found[0])


def read(id: str) -> EvalRun:
    path = os.path.join(runs_folder(), id, RESULTS)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=EvalRun)
    except (OSError, msgspec.MsgspecError) as error:
        raise NotFound(f"{path}: cannot be read ({error})") from error
