"""The page about skills is run as it is printed."""

import re
import tomllib
from pathlib import Path

import pytest

from quintet.features.skills.settings import SkillSettings
from quintet.features.skills.skill import OWN, STANDARD
from tests.pages import ROOT, blocks, in_the_tutorials_project

PAGE = "docs/howto/skills.md"


@pytest.mark.system("bwrap")
def test_the_page_about_skills(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    for block in blocks(PAGE, "text"):
        reader.follows(block)
    (settings,) = blocks(PAGE, "toml")
    reader.sets(settings)
    assert "turned off in your settings" in reader.runs("quintet skills list")


def test_the_page_names_every_field_and_setting() -> None:
    page = (ROOT / PAGE).read_text()
    assert all(f"`{field}`" in page for field in (*STANDARD, *OWN))
    (settings,) = blocks(PAGE, "toml")
    named = {*tomllib.loads(settings)["skills"], *re.findall(r"`skills\.(\w+)`", page)}
    assert named == set(SkillSettings.__struct_fields__)
