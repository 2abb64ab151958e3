"""`quintet install`: optional parts into the environment that Quintet runs from, never a package of its own name."""

import json
import shlex
import sys
from pathlib import Path

from quintet.adapters.processes.python_environment import extras
from tests.surfaces.program import Program


def test_parts_are_listed_with_their_packages_and_state(quintet: Program) -> None:
    rows = {row["part"]: row for row in json.loads(quintet.run("install", "--json").out)}
    assert rows.keys() == extras().keys()
    assert rows["webui"]["installed"] and "starlette>=1" in rows["webui"]["packages"]
    assert not rows["otel"]["installed"]
    assert quintet.run("install").out.startswith("PART ")


def test_a_dry_run_prints_what_would_run_and_the_name_quintet_is_never_looked_up(quintet: Program) -> None:
    words = shlex.split(quintet.run("install", "--dry-run", *extras()).out)
    assert words[:5] == [sys.executable, "-I", "-m", "pip", "install"]
    assert {"starlette>=1", "playwright>=1.55", "psycopg[binary]>=3.2"} <= set(words)
    assert not any("quintet" in word for word in words[1:])


def test_an_installed_part_needs_no_index_and_nothing_of_the_folder_is_run(quintet: Program) -> None:
    Path(quintet.root, "pip").mkdir()
    Path(quintet.root, "pip/__main__.py").write_text("open('ran', 'w')")
    Path(quintet.root, "pip/__init__.py").write_text("")
    assert quintet.run("install", "webui", PIP_NO_INDEX="1").code == 0
    assert not Path(quintet.root, "ran").exists()


def test_an_unknown_part_is_an_error_that_names_the_nearest(quintet: Program) -> None:
    done = quintet.run("install", "web-ui")
    assert done.code == 2
    assert "there is no optional part web-ui" in done.err and "webui" in done.err
