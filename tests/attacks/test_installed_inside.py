"""Quintet and its Python in the very project: what a call writes there does not put up the next call's walls."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import quintet
from quintet.adapters.processes.python_environment import run_from
from quintet.adapters.sandbox.containment import installed_in
from quintet.domain.permission.gate import Sandbox
from quintet.engine.turn.toolbox import Prepared
from tests.attacks.world import put
from tests.tools.calling import Caller

ATTACK = r"""
import asyncio, sys
from pathlib import Path
import quintet
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox import confine, contain, sandbox_init
from quintet.adapters.sandbox.containment import SandboxSetup
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.protected_paths import PROTECTION

root, kind, times = sys.argv[1], Sandbox(sys.argv[2]), int(sys.argv[3])
assert quintet.__file__.startswith(root) and sys.executable.startswith(root)
scratch = str(Path(root).parent / "scratch")
containment = contain(kind, SandboxSetup(root, (), scratch, 0, PROTECTION))
grant = Grant((Effect.EXECUTE,), (root,))

async def run():
    processes = LocalProcesses(containment)
    for line in ("sh plant.sh", *["echo ran"] * times):
        done = await processes.run(("sh", "-c", line), cwd=root, grant=grant, timeout=60)
        print(done.output, done.exit_code)
        while processes.kept_sandboxes._kept and not processes.kept_sandboxes.free:
            await asyncio.sleep(0.01)
    await processes.close()

asyncio.run(run())
"""
PLANT = """
for name in sandbox_init kept_sandbox_init confine user_network; do
    echo 'import os; os.write(2, b"PLANTED SCRIPT"); open("{host}", "a").close(); os._exit(0)' \
        > lib/quintet/adapters/sandbox/$name.py
done
rm .venv/bin/python
printf '#!/bin/sh\necho PLANTED PYTHON; touch {host}\n' > .venv/bin/python
chmod +x .venv/bin/python
echo 'import os; os.write(2, b"PLANTED SITE")' > .venv/sitecustomize.py
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    half_written = shutil.ignore_patterns("*.pyc.*")  # compiled files come along, so that no run compiles all anew
    shutil.copytree(Path(quintet.__file__).parent, root / "lib/quintet", ignore=half_written)
    put(root / ".venv/pyvenv.cfg", f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (root / ".venv/bin").mkdir()
    (root / ".venv/bin/python").symlink_to(os.path.realpath(sys.executable))
    put(root / "plant.sh", PLANT.format(host=tmp_path / "host"))
    return root


def attacked(project: Path, kind: str, lib: str = "lib") -> subprocess.CompletedProcess[str]:
    paths = f"{project / lib}:{Path(msgspec.__file__).parents[1]}"
    return subprocess.run(
        (project / ".venv/bin/python", "-c", ATTACK, project, kind, "4"),
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=project.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", [pytest.param("bwrap", marks=pytest.mark.system("bwrap")), "partial", "none"])
def test_walls_are_not_put_up_by_what_a_call_wrote(project: Path, tmp_path: Path, kind: str) -> None:
    done = attacked(project, kind)
    assert done.returncode == 0, done.stderr
    assert "PLANTED" in (project / "lib/quintet/adapters/sandbox/kept_sandbox_init.py").read_text()
    assert (project / ".venv/bin/python").read_text().startswith("#!")
    assert "PLANTED" not in done.stdout + done.stderr
    assert done.stdout.count("ran\n 0\n") == 4, done.stdout
    assert not (tmp_path / "host").exists()


@pytest.mark.system("bwrap")
def test_a_command_does_not_write_what_is_installed_in_the_project(project: Path) -> None:
    lib = ".venv/lib/python3/site-packages"
    (project / lib).mkdir(parents=True)
    (project / "lib/quintet").rename(project / lib / "quintet")
    put(
        project / "plant.sh",
        f"for f in sandbox_init processes; do echo x > $(find {lib}/quintet -name $f.py); done; rm -r {lib}/quintet",
    )
    before = (project / lib / "quintet/adapters/processes/processes.py").read_text()
    done = attacked(project, "bwrap", lib)
    assert done.stdout.count("ran\n 0\n") == 4, done.stdout + done.stderr
    assert (project / lib / "quintet/adapters/processes/processes.py").read_text() == before


LATER = r"""
import sys
from pathlib import Path
from quintet.adapters.processes.python_environment import load_all

root = Path(sys.argv[1])
load_all(str(root))
for path in (root / "lib/quintet").rglob("*.py"):
    path.write_text("print('PLANTED')")
from quintet.adapters.processes.python_environment import source
from quintet.adapters.protected import covers, moved_aside
from quintet.features.web_search.web import CHILD
from quintet.surfaces.tui import app
print("PLANTED" in source(CHILD), moved_aside.move_aside.__name__)
"""


def test_what_a_call_writes_into_quintets_own_source_is_not_run_by_this_session(project: Path) -> None:
    done = subprocess.run(
        (sys.executable, "-c", LATER, project),
        env={**os.environ, "PYTHONPATH": str(project / "lib"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False move_aside\n"


NO_OPTIONAL_PARTS = r"""
import re, sys
from importlib.metadata import packages_distributions, requires

optional = {re.split(r"[^\w.-]", line)[0].lower() for line in requires("quintet") if "extra ==" in line}
core = {re.split(r"[^\w.-]", line)[0].lower() for line in requires("quintet") if "extra ==" not in line}
gone = {module for module, by in packages_distributions().items() if {name.lower() for name in by} & (optional - core)}
assert {"psycopg", "mcp", "acp", "tree_sitter_python"} <= gone

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in gone else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
from quintet.adapters.processes.python_environment import load_all
load_all(sys.argv[1])
print("loaded", *gone & set(sys.modules))
"""


@pytest.mark.everything
def test_its_own_source_is_loaded_where_no_optional_part_is_installed(project: Path) -> None:
    done = subprocess.run(
        (sys.executable, "-c", NO_OPTIONAL_PARTS, project),
        env={**os.environ, "PYTHONPATH": str(project / "lib"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("loaded\n", "")


@pytest.mark.system("bwrap")
def test_the_environment_that_quintet_runs_from_is_not_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(sys, "prefix", str(project / ".venv"))
        found = run_from(str(project))
    assert found == (str(project / ".venv"),)
    monkeypatch.setattr("quintet.adapters.settings.gate_terms.run_from", lambda _: found)
    caller = Caller(project, Sandbox.BWRAP)
    put(project / "plant.sh", "echo x > .venv/new.pth; rm -r .venv; mv .venv v; echo later")
    done = caller("bash", command="bash plant.sh")
    assert "later" in done.content and sorted(os.listdir(project / ".venv")) == ["bin", "pyvenv.cfg"], done
    written = caller.prepare("Write", '{"file_path": ".venv/new.pth", "content": "x"}')
    assert isinstance(written, Prepared) and "Quintet starts programs from it" in written.decision.reason


def test_it_is_said_where_quintet_lies(tmp_path: Path) -> None:
    assert installed_in(str(tmp_path)) == ""
    assert "your rights" in installed_in(str(Path(quintet.__file__).parents[2]))
