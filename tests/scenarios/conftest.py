"""`everywhere(step, …)` drives a scenario through every surface and holds their journals to be the same."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.journal import protocol as p
from tests.fake_clis.on_path import put_on_path
from tests.scenarios.journals import facts
from tests.scenarios.other_surfaces import OTHERS
from tests.scenarios.steps import Scenario, Step
from tests.scenarios.surfaces import SURFACES
from tests.surfaces.program import Done, ModelThread

SETTINGS = "[prompt]\nrapid_paste = false\n"  # keys sent by a program come as fast as a paste


@dataclass(frozen=True)
class Told:
    """What a scenario left behind on one surface."""

    surface: str
    root: Path
    events: list[p.Event]
    shown: str
    ended: list[Done]
    requests: list[Any]
    facts: list[str]
    unasked: list[str]  # the facts but for questions

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


Everywhere = Callable[..., dict[str, Told]]


@pytest.fixture
def everywhere(tmp_path: Path, first_repo: Path, private: None) -> Everywhere:
    clis = put_on_path(tmp_path / "clis")

    def drive(*steps: Step, until: str = "", on: Sequence[str] = tuple(SURFACES), **wanted: Any) -> dict[str, Told]:
        """`on` these surfaces. Where a question decides how it ends, headless is compared up to the last `until`."""
        scenario = Scenario(steps, **wanted)
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        with ThreadPoolExecutor(len(on)) as pool:
            runs = {name: pool.submit(_driven, name, scenario, place / name, first_repo, clis) for name in on}
        told = {name: run.result() for name, run in runs.items()}
        if {"plain", "tui"} <= told.keys():
            _same(told["plain"].facts, told["tui"].facts, "plain and the screen differ")
        if {"plain", "headless"} <= told.keys():
            ours, theirs = _until(until, told["plain"].unasked), _until(until, told["headless"].unasked)
            _same(ours, theirs, "plain and headless differ")
        for name in OTHERS.keys() & told.keys():
            _same(told["plain"].facts, told[name].facts, f"plain and {name} differ")
        return told

    return drive


def _driven(name: str, scenario: Scenario, place: Path, first_repo: Path, clis: str) -> Told:
    root = place / "repo"
    shutil.copytree(first_repo, root)
    scenario.first(root)
    model = ModelThread(scenario.replies) if scenario.replies else None
    config = place / "config" / "quintet" / "settings.toml"
    config.parent.mkdir(parents=True)
    config.write_text((model.settings() if model else "") + SETTINGS + scenario.settings)
    variables = {"XDG_CONFIG_HOME": str(place / "config")}
    if scenario.clis:
        variables["PATH"] = clis
    surface = {**SURFACES, **OTHERS}[name](scenario, root, variables, model)
    try:
        surface.run()
        events = surface.journal.events()
        left_out = surface.left_out
        return Told(
            name,
            root,
            events,
            surface.shown,
            surface.ended,
            list(model.server.requests) if model else [],
            facts(events, root),
            facts(events, root, asked=False, left_out=left_out),
        )
    finally:
        surface.close()
        if model:
            model.close()


def _until(kind: str, lines: list[str]) -> list[str]:
    last = max((place for place, line in enumerate(lines, 1) if f'"type": "{kind}"' in line), default=0)
    return lines[:last] if kind else lines


def _same(first: list[str], other: list[str], what: str) -> None:
    if different := list(unified_diff(first, other, lineterm="", n=1)):
        pytest.fail("\n".join([what, *different]), pytrace=False)
