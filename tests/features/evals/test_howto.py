"""The page about evals is run as it is printed."""

import re
import tomllib
from pathlib import Path

import pytest

from quintet.domain.ports.trials import TrialCheck
from quintet.features.evals.settings import EvalSettings
from quintet.features.evals.tasks import Solution, TaskPage, read_suite
from tests.pages import ROOT, blocks, in_the_tutorials_project

PAGE = "docs/howto/evals.md"


@pytest.mark.system("bwrap")
def test_the_page_about_evals(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    for block in blocks(PAGE, "text"):
        reader.follows(block)
    _, settings = blocks(PAGE, "toml")
    reader.sets(settings)
    assert "basics" in reader.runs("quintet eval list")


def test_the_task_on_the_page_can_be_used(tmp_path: Path) -> None:
    task, _ = blocks(PAGE, "toml")
    (tmp_path / "double.toml").write_text(task)
    (read,) = read_suite(str(tmp_path), "mine").tasks
    assert read.page.kind == "python"


def test_the_page_names_every_field_and_setting() -> None:
    page = (ROOT / PAGE).read_text()
    task, settings = blocks(PAGE, "toml")
    assert set(tomllib.loads(settings)["evals"]) == set(EvalSettings.__struct_fields__)
    named = set(re.findall(r"`(\w+)(?: = true)?`", page)) | set(re.findall(r"^(\w+)", task, re.M))
    fields = {*TaskPage.__struct_fields__, *TrialCheck.__struct_fields__, *Solution.__struct_fields__}
    assert fields - named == {"source"}
