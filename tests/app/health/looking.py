"""Looks at the health of a project, and what a look or a fix changes."""

from fnmatch import fnmatchcase
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock
from quintet.app.health.checks import fix_project, make_look
from quintet.domain.tasks.health import Finding
from tests.app.health.sicknesses import Sickness, everything, loaded
from tests.engine.driving import Driver, drive


def with_session(repo: Path) -> Path:
    """A project with a session that has ended, in which nothing is wrong."""

    async def script(driver: Driver) -> None:
        await driver.turn("list the files")

    drive(repo, script)
    return repo


def found(repo: Path) -> list[Finding]:
    """What is wrong; that this machine has a weak sandbox is not the matter."""
    listed = make_look(locate(str(repo)), loaded(repo), SystemClock()).health(thorough=True)
    own = loaded(repo).settings.sandbox.use != "auto"
    return [one for one in listed if one.code != "SANDBOX_WEAK" or own]


def changes(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def named(ones: tuple[Sickness, ...]) -> list[str]:
    return [one.code for one in ones]


def is_fixed_once(project: Path, sick: Sickness) -> None:
    """Found, fixed, and nothing else changed; a second fix changes nothing."""
    sick.make(project)
    before = everything(project)
    assert [(one.code, one.fixable) for one in found(project)] == [(sick.code, True)]
    assert changes(before, everything(project)) == set(), "a look changes nothing"
    done = fix_project(locate(str(project)), loaded(project))
    assert len(done) == 1, done
    after = everything(project)
    touched = changes(before, after)
    assert touched and {name for name in touched if not any(fnmatchcase(name, one) for one in sick.touched)} == set()
    assert found(project) == []
    assert fix_project(locate(str(project)), loaded(project)) == []
    assert changes(after, everything(project)) == set(), "a second fix changes nothing"


def is_left_alone(project: Path, sick: Sickness) -> None:
    """Found, and what only a person can decide is not touched."""
    sick.make(project)
    before = everything(project)
    listed = found(project)
    assert sick.code in [one.code for one in listed]
    assert not any(one.fixable for one in listed) and all(one.problem and one.advice for one in listed)
    if sick.code not in ("STORE_DAMAGED", "STORE_NEWER"):  # then nothing is fixed at all
        assert fix_project(locate(str(project)), loaded(project)) == []
    assert changes(before, everything(project)) == set()
