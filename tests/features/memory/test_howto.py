"""The page about memory is run as it is printed."""

import tomllib
from pathlib import Path

from quintet.features.memory.settings import MemorySettings
from quintet.features.memory.values import Tier
from tests.pages import ROOT, blocks, in_the_tutorials_project

PAGE = "docs/howto/memory.md"


def test_the_page_about_memory(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    for block in blocks(PAGE, "text"):
        reader.follows(block)
    (settings,) = blocks(PAGE, "toml")
    reader.sets(settings)
    assert "memory is on" in reader.runs("quintet memory on")


def test_the_page_names_every_tier_and_setting() -> None:
    page = (ROOT / PAGE).read_text()
    assert all(f"| `{tier}` |" in page for tier in Tier)
    (settings,) = blocks(PAGE, "toml")
    assert set(tomllib.loads(settings)["memory"]) == set(MemorySettings.__struct_fields__)
