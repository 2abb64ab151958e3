"""Settings of evals. What they may take is the user's own to say."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from quintet.domain.settings.meta import OWN, setting


class EvalSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Evals: how models and AI CLIs do on tasks with graders."""

    trials: Annotated[int, Meta(ge=1), setting("trials of each task", OWN)] = 1
    workers: Annotated[int, Meta(ge=1, le=64), setting("trials that run at once", OWN)] = 2
    trial_seconds: Annotated[float, setting("seconds that one trial may take", OWN)] = 600.0
    grader_seconds: Annotated[float, setting("seconds that a grader, or one check of it, may take", OWN)] = 60.0
