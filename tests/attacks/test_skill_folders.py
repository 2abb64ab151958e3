"""Skills of a hostile repository: no page is read from outside through a link, and a check of one ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.features.skills.wiring import make_shelf
from quintet.features.skills.yaml_page import strict_errors
from tests.attacks.world import put

PAGE = "---\nname: {}\ndescription: of somebody else\n---\nits words\n"


@pytest.mark.parametrize(
    "place", [".agents/skills/sub", ".agents/skills/a/b", ".agents/skills", ".claude/commands/more"]
)
def test_no_page_is_read_through_a_folder_that_leads_out(repo: Path, place: str) -> None:
    outside = repo.parent / "outside"
    put(outside / "private/SKILL.md", PAGE.format("private"))
    put(outside / "private.md", PAGE.format("private"))
    put(repo / ".agents/inside/own/SKILL.md", PAGE.format("own"))
    link = repo / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    if place != ".agents/skills":
        (repo / ".agents/skills").mkdir(exist_ok=True)
        (repo / ".agents/skills/kept").symlink_to("../inside")
    places = locate(str(repo))
    found = {one.name for one in make_shelf(places, layers.load(places)).listed() if one.origin == "project"}
    assert found == (set() if place == ".agents/skills" else {"own"})


@pytest.mark.parametrize("nested", ["x: " + "[" * 100_000, "x:\n  " + "- " * 20_000 + "a", "x: " + "{a: " * 20_000])
def test_a_page_that_is_nested_without_end_is_refused(nested: str) -> None:
    assert len(strict_errors(f"---\nname: a\n{nested}\n---\n", "a")) == 1
