"""From inside a session: what a model plants in a repository or on PATH does not run on the host when Quintet looks."""

import pytest

from tests.attacks.running import Attacker, bash, call
from tests.attacks.test_own_git import READING, by_configuration, drivers
from tests.attacks.world import World, put

ROOT = pytest.mark.parametrize("user_name", ["root"], indirect=True)
WHOLE = pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)


@ROOT
def test_a_redirected_repository_runs_nothing_at_the_end_of_a_turn(world: World, attacker: Attacker) -> None:
    world.make_repository()
    outcome = attacker.session(
        call("Write", file_path="evil/config", content=f"[core]\n\tbare = false\n{drivers(world.program('ran'))}"),
        call("Write", file_path="evil/objects/k", content=""),
        call("Write", file_path="evil/refs/k", content=""),
        call("Write", file_path=".gitattributes", content="* filter=x\n"),
        call("Write", file_path=".git/commondir", content="../evil\n"),
        call("Write", file_path="a.txt", content="b\n"),
        surface="tui",
    )
    assert world.untouched(outcome.said) == [], outcome.texts


@ROOT
@WHOLE
def test_a_repository_made_in_the_session_runs_nothing(world: World, attacker: Attacker) -> None:
    """A folder without one: git may make it, and what is in it is anybody's."""
    program = world.program("ran")
    put(world.project / "plant.py", f"open('.git/config', 'a').write({drivers(program)!r})\n")
    put(world.project / ".gitattributes", "* filter=x\n")
    outcome = attacker.session(
        bash("git init -q . && git add a.txt && python3 plant.py"),
        bash("git init -q . && git add a.txt"),
        bash("python3 plant.py"),
        call("Write", file_path="a.txt", content="b\n"),
        call("git_status"),
        surface="tui",
        profile="trusted",
    )
    assert world.untouched(outcome.said) == [], outcome.texts


@WHOLE
@pytest.mark.parametrize("surface", ["tui", "headless"])
def test_a_git_of_the_projects_on_path_does_not_run_at_the_first_change(
    world: World, attacker: Attacker, surface: str
) -> None:
    world.make_repository()
    for folder in ("node_modules/.bin", ".venv/bin"):
        for name in ("git", "rg", "bwrap", "python3", "bash", "sh", "prlimit"):
            put(world.project / folder / name, f"#!/bin/sh\n{world.program(name)}\n", executable=True)
    path = f"./node_modules/.bin:{world.project}/.venv/bin:/usr/local/bin:/usr/bin:/bin"
    outcome = attacker.session(
        call("Write", file_path="a.txt", content="b\n"),
        call("grep", pattern="a"),
        call("git_status"),
        surface=surface,
        PATH=path,
    )
    assert outcome.calls[0].status == "ok", outcome.texts
    assert world.untouched(outcome.said) == [], outcome.texts


@ROOT
@pytest.mark.parametrize("sandbox", ["partial", "none"], indirect=True)
def test_looking_without_a_whole_sandbox_runs_nothing_of_the_projects(world: World, attacker: Attacker) -> None:
    """Reading goes unasked there: neither the repository's programs nor those of the project's folders on PATH."""
    world.make_repository()
    by_configuration(world.project, world.program("configured"))
    put(world.project / "a.txt", "b\n")
    for name in ("git", "ls", "cat", "bash", "sh", "env"):
        put(world.project / "bin" / name, f"#!/bin/sh\n{world.program(name)}\n", executable=True)
    calls = [call(name, **words) for name, words in READING]
    outcome = attacker.session(
        *calls, bash("ls"), bash("cat a.txt"), work_mode="plan", profile="restricted", PATH="bin:./bin:/usr/bin:/bin"
    )
    assert "+b" in outcome.calls[1].content, outcome.texts
    assert world.untouched(outcome.said) == [], outcome.texts
