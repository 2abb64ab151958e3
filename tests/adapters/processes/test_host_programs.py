"""Programs that run outside the sandbox come from outside every project."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from quintet.adapters.processes import host_programs
from quintet.adapters.processes.host_programs import folders, host_path, program, stay_out_of
from quintet.adapters.processes.processes import own_environment, with_secrets
from quintet.adapters.sandbox.containment import Launch
from quintet.adapters.secrets.vault import Vault
from quintet.domain.permission.effects import Effect, Grant

NAME = "quintet-test-program"


def put(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    stay_out_of(str(folder))
    monkeypatch.chdir(folder)
    return folder


def path_is(monkeypatch: pytest.MonkeyPatch, *entries: object) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(str(entry) for entry in entries))


@pytest.mark.parametrize(
    "entry", ["", ".", "bin", "./bin", "../project/bin", "{project}/bin", "{project}/../project/bin"]
)
def test_a_folder_of_the_project_does_not_count(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    put(project)
    put(project / "bin")
    there = put(tmp_path / "there")
    path_is(monkeypatch, entry.format(project=project), tmp_path / "there")
    assert program(NAME) == there
    assert folders() == [str(tmp_path / "there")]
    assert own_environment()["PATH"] == host_path() == str(tmp_path / "there")


def test_a_link_into_the_project_does_not_count(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, there = put(project / "bin"), put(tmp_path / "there")
    (tmp_path / "linked").symlink_to(project / "bin")
    (tmp_path / "far").symlink_to("linked/../bin")
    (tmp_path / "single").mkdir()
    (tmp_path / "single" / NAME).symlink_to(inside)
    path_is(monkeypatch, *(tmp_path / name for name in ("linked", "far", "single", "there")))
    assert program(NAME) == there


def test_a_link_that_leads_through_the_project_does_not_count(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leads out again today; who may write to the project can turn it tomorrow."""
    there = put(tmp_path / "there")
    (project / "turn").symlink_to(tmp_path / "there")
    (tmp_path / "around").symlink_to(project / "turn")
    path_is(monkeypatch, tmp_path / "around", tmp_path / "there")
    assert program(NAME) == there
    path_is(monkeypatch, tmp_path / "around")
    assert program(NAME) == ""


def test_a_link_that_leads_outside_keeps_its_own_name(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shims look at the name they were called by."""
    put(tmp_path / "there")
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims/other-name").symlink_to(tmp_path / "there" / NAME)
    path_is(monkeypatch, tmp_path / "shims")
    assert program("other-name") == f"{tmp_path}/shims/other-name"


def test_links_in_a_circle_lead_nowhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    path_is(monkeypatch, tmp_path / "one", tmp_path / "there")
    put(tmp_path / "there")
    assert program(NAME) == f"{tmp_path}/there/{NAME}"


def test_a_project_learned_of_later_counts_too(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = put(tmp_path / "second/bin")
    path_is(monkeypatch, tmp_path / "second/bin")
    assert program(NAME) == found
    stay_out_of(str(tmp_path / "second"))
    assert program(NAME) == ""


def test_a_path_is_taken_at_its_word_if_it_is_whole(project: Path, tmp_path: Path) -> None:
    """It comes from the user's own settings."""
    inside = put(project / "bin")
    assert program(inside) == inside
    assert program(f"bin/{NAME}") == program(f"./bin/{NAME}") == ""
    assert program(str(tmp_path / "nothing")) == ""


def test_what_cannot_be_run_is_not_a_program(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chmod(put(tmp_path / "there"), 0o644)
    (tmp_path / "folder" / NAME).mkdir(parents=True)
    path_is(monkeypatch, tmp_path / "folder", tmp_path / "there")
    assert program(NAME) == ""


def test_the_system_stays_the_systems_when_everything_is_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_programs, "_projects", {"/"})
    path_is(monkeypatch, "/root/bin", "/usr/bin", "/home/ada/bin")
    assert folders() == ["/usr/bin"]


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "PATH", "PYTHONPATH", "BASH_ENV", "GLIBC_TUNABLES"])
def test_a_secret_that_is_named_like_a_loaders_variable_is_given_to_no_command(name: str) -> None:
    """A project's .env may hold it; it would act on the program that builds the sandbox."""
    held = SimpleNamespace(values=lambda names: dict.fromkeys(names, "./e.so"))
    grant = Grant((Effect.EXECUTE,), ("/p",), secrets=(name, "API_TOKEN"))
    given = with_secrets(Launch(("bwrap",), "/p"), grant, cast(Vault, held))
    assert given.variables == {"API_TOKEN": "./e.so"}
