"""The scripts of the project list what they run, and say plainly what there is not."""

import re
import subprocess

import pytest

from tests.places import ROOT

LISTS = {"bench": "bench/*.py", "check": "scripts/checks/*.py", "faults": "tests/faults/campaign_*.py"}


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / script, *words], cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=120
    )


@pytest.mark.parametrize("script", LISTS)
def test_help_is_the_list_of_names(script: str) -> None:
    bare, long, short = (run(script, *words) for words in ((), ("--help",), ("-h",)))
    assert (bare.returncode, bare.stderr) == (0, "")
    assert [(one.returncode, one.stdout, one.stderr) for one in (long, short)] == [(0, bare.stdout, "")] * 2
    first, *listed = bare.stdout.splitlines()
    assert re.fullmatch(rf"Usage: \S*scripts/{script} NAME \[ARGS…\]", first)
    files = [path for path in ROOT.glob(LISTS[script]) if not path.name.startswith("_")]
    names = {path.stem.removeprefix("campaign_").replace("_", "-") for path in files}
    said = dict(line.split(maxsplit=1) for line in listed)
    assert said.keys() == names
    assert [name for name, text in said.items() if not text.endswith(".")] == [], "a whole sentence each"


def test_a_name_that_there_is_not_is_said_as_it_was_typed() -> None:
    done = run("check", "no-such")
    assert done.returncode == 2 and done.stdout == ""
    assert 'there is no "no-such"\n' in done.stderr and "  features " in done.stderr


@pytest.mark.parametrize("script", ["docs", "test"])
def test_help_of_a_script_is_what_its_file_says_first(script: str) -> None:
    done = run(script, "--help")
    head = (ROOT / "scripts" / script).read_text().partition("\nset -eu")[0]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == re.findall(r"^#(?!!) ?(.*)$", head, re.M)
