"""What the terminal UI needs of this place, put together for it."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from typing import Any

from quintet.adapters import config, sandbox
from quintet.adapters.branch import branch
from quintet.adapters.discovery import found_here
from quintet.adapters.places import locate
from quintet.app import open_session
from quintet.domain.axes import Surface
from quintet.engine.session import Session
from quintet.prompt_wiring import at_hand
from quintet.surfaces.tui.looks import chosen
from quintet.surfaces.tui.surroundings import Surroundings
from quintet.trusting import decide, trust_question


def surroundings(path: str, options: dict[str, Any]) -> Surroundings:
    """`options` are those of `open_session`, as the command line gave them."""
    places = locate(path)
    settings = config.load(places, options.get("settings")).settings

    def opened(session: str) -> AbstractAsyncContextManager[Session]:
        wanted = {**options, "resume": session, "fork": False, "axes": None} if session else options
        return open_session(path, surface=Surface.TUI, person=True, **wanted)

    return Surroundings(
        name=places.name,
        root=places.root,
        sandbox=str(sandbox.chosen(settings.sandbox.use)),
        settings=settings,
        open=opened,
        theme=chosen(settings.display.theme, dict(os.environ), settings.display.color),
        branch=lambda: branch(places.root),
        found=found_here,
        at_hand=at_hand(path, options.get("settings")),
        trust_question=trust_question(places),
        decide_trust=lambda trusted: decide(places, trusted),
    )
