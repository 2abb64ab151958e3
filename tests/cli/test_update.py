"""`quintet update` says how the installation that it runs from is brought up to date, and changes nothing."""

import json

import pytest

from quintet import __version__
from quintet.cli.program.update import installation
from tests.places import ROOT
from tests.surfaces.program import Program

HOME = "/home/ann"


@pytest.mark.parametrize(
    ("prefix", "kind", "last"),
    [
        (f"{HOME}/.local/share/pipx/venvs/quintet", "pipx", "pipx install --force '/src/my quintet'"),
        (f"{HOME}/.local/share/uv/tools/quintet", "uv", "uv tool install --force '/src/my quintet'"),
        (f"{HOME}/venv", "pip", f"{HOME}/venv/bin/python -m pip install --upgrade '/src/my quintet'"),
        ("/usr/lib/quintet", "debian", "sudo apt install ./quintet_NEW_amd64.deb"),
    ],
)
def test_an_installation_is_updated_by_what_installed_it(prefix: str, kind: str, last: str) -> None:
    folder = f"{prefix}/lib/python3.11/site-packages/quintet"
    found = installation(folder, prefix, installed=True, came_from="/src/my quintet", single_file="")
    assert (found.kind, found.where, found.commands[-1]) == (kind, prefix, last)
    assert kind == "debian" or found.commands[0] == "git -C '/src/my quintet' pull"


@pytest.mark.parametrize(
    ("prefix", "last"),
    [
        (f"{HOME}/.local/share/pipx/venvs/quintet", "pipx install --force '/src/my quintet[mcp,webui]'"),
        (f"{HOME}/.local/share/uv/tools/quintet", "uv tool install --force '/src/my quintet[mcp,webui]'"),
        (f"{HOME}/venv", f"{HOME}/venv/bin/python -m pip install --upgrade '/src/my quintet'"),
    ],
)
def test_optional_parts_stay_where_the_environment_is_made_anew(prefix: str, last: str) -> None:
    found = installation(
        "/x/quintet", prefix, installed=True, came_from="/src/my quintet", single_file="", parts=("mcp", "webui")
    )
    assert found.commands[-1] == last


def test_a_single_file_is_replaced() -> None:
    found = installation("/x/quintet", "/x", installed=True, came_from="", single_file=f"{HOME}/bin/quintet")
    assert (found.kind, found.commands) == ("single-file", [f"cp quintet-NEW {HOME}/bin/quintet"])


def test_a_folder_that_is_not_known_is_named_as_such() -> None:
    found = installation("/x/quintet", "/x", installed=True, came_from="", single_file="")
    assert found.commands == ["git -C PATH/TO/quintet pull", "/x/bin/python -m pip install --upgrade PATH/TO/quintet"]


def test_a_source_tree_is_pulled(quintet: Program) -> None:
    found = json.loads(quintet.run("update", "--json").out)
    assert found == {
        "version": __version__,
        "kind": "source",
        "where": str(ROOT),
        "commands": [f"git -C {ROOT} pull", f"{ROOT}/scripts/run --version"],
    }
    shown = quintet.run("update").out.splitlines()
    assert shown[0] == f"quintet {__version__}, source: {ROOT}" and shown[1] == f"update   git -C {ROOT} pull"
