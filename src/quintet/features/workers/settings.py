"""Settings of workers, and of how their work is integrated."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from quintet.domain.settings.meta import OWN, setting
from quintet.domain.workers.integration import IntegrateWay

MOST = 64


class TaskSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of a task that a worker has done."""

    integrate: Annotated[
        IntegrateWay,
        setting(
            "merge: your branch moves forward to it; branch: it stays on quintet/TASK; pull-request: the same, "
            "and the commands that publish it are printed"
        ),
    ] = IntegrateWay.MERGE
    target: Annotated[str, setting("the branch that it is integrated into; empty: the one that is checked out")] = ""


class WorkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Workers on this machine: `quintet parallel`."""

    count: Annotated[int, Meta(ge=1, le=MOST), setting("how many workers `quintet parallel` starts", OWN)] = 2
    heartbeat: Annotated[float, Meta(gt=0), setting("seconds between two heartbeats of a worker", OWN)] = 5.0
    max_cost_task: Annotated[float, Meta(ge=0), setting("what one attempt at a task may cost; 0: no limit", OWN)] = 0.0
    max_cost_run: Annotated[
        float, Meta(ge=0), setting("what the workers of one `quintet parallel` may cost; 0: no limit", OWN)
    ] = 0.0
    max_cost_day: Annotated[
        float, Meta(ge=0), setting("what all workers of this project may cost in a day (UTC); 0: no limit", OWN)
    ] = 0.0
    wait_seconds: Annotated[
        float, Meta(gt=0), setting("how long a unit waits for a file that another task is changing", OWN)
    ] = 600.0
