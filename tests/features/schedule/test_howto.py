"""The page about the schedule is run as it is printed."""

import re
import tomllib
from pathlib import Path

from quintet.features.schedule.parse import parse_when
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.values import MissedRuns
from tests.features.schedule.made import BERLIN, NOW
from tests.pages import ROOT, blocks, in_the_tutorials_project

PAGE = "docs/howto/schedule.md"


def test_the_page_about_the_schedule(tmp_path: Path) -> None:
    reader = in_the_tutorials_project(tmp_path)
    (settings,) = blocks(PAGE, "toml")
    reader.sets(settings)
    for block in blocks(PAGE, "text"):
        reader.follows(re.sub(r"\b2 s\b", "…", block))  # how long it took
    (worked,) = blocks(PAGE, "sh")
    installs, _, once = (line.partition("  #")[0].strip() for line in worked.splitlines())
    assert "crontab -e" in reader.runs(installs) or "wrote" in reader.runs(installs)
    assert reader.runs(once) == ""
    assert "no timer" in reader.runs("quintet schedule uninstall")


def test_every_form_of_the_page_means_something() -> None:
    page = (ROOT / PAGE).read_text()
    table = page.partition("| words | when |")[2].partition("\n\n")[0]
    forms = [form for row in table.splitlines()[2:] for form in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(forms) > 12
    for form in forms:
        assert parse_when(form, NOW, BERLIN)


def test_the_page_names_every_policy_and_setting() -> None:
    page = (ROOT / PAGE).read_text()
    assert all(f"| `{policy}` |" in page for policy in MissedRuns)
    (settings,) = blocks(PAGE, "toml")
    shown = tomllib.loads(settings)["schedule"]
    named = {*shown, *re.findall(r"`schedule\.(\w+)`", page)}
    assert named == set(ScheduleSettings.__struct_fields__)
