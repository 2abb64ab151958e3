"""What features have the doctor find: each made for real, found, fixed once where it can be; and every kind."""

from pathlib import Path

import pytest

from quintet.app.health.checks import every_kind
from tests.app.health import sicknesses as core
from tests.app.health.looking import is_fixed_once, is_left_alone, named, with_session
from tests.app.health.sicknesses import Sickness
from tests.features.sicknesses import FIXABLE, STAYING

ROOT = Path(__file__).parents[2]
# What is broken elsewhere: the machine itself, another process, a service.
ELSEWHERE = {
    "STORE_UNWRITABLE": "tests/app/health/test_environment.py",
    "STORE_UNREACHABLE": "tests/app/health/test_environment.py",
    "STORE_OLDER": "tests/app/health/test_database.py",
    "STORE_FAILED": "tests/app/health/test_database.py",
    "RUNTIME_DRIFT": "tests/app/health/test_installation.py",
    "INSTALL_CHANGED": "tests/app/health/test_installation.py",
    "OWNER_OUTDATED": "tests/app/health/test_installation.py",
    "INSTALLED_IN_PROJECT": "tests/app/health/test_installation.py",
    "LOCALE_NOT_UTF8": "tests/app/health/test_machine.py",
    "CLOCK_ZONE_UNKNOWN": "tests/app/health/test_machine.py",
    "TMPDIR_MISSING": "tests/app/health/test_machine.py",
    "SANDBOX_ORPHAN": "tests/app/health/test_machine.py",
    "GIT_NOT_YOURS": "tests/app/health/test_machine.py",
    "CHECK_BROKEN": "tests/features/test_plugins.py",
    "PLUGIN_UNUSABLE": "tests/features/test_plugins.py",
    "LEFT_BEHIND": "tests/attacks/test_killed.py",
    "HELPER_WORKTREE_LEFT": "tests/features/helpers/test_checks.py",
    "WORKER_DEAD": "tests/features/workers/test_workers.py",
    "INTEGRATED_LATER": "tests/features/workers/test_workers.py",
    "OTEL_MISSING": "tests/app/health/test_environment.py",
    "REMOTE_MISSING": "tests/app/health/test_environment.py",
    "SCHEDULE_PROJECT_GONE": "tests/features/schedule/test_program.py",
    "SCHEDULE_ZONE_UNKNOWN": "tests/features/schedule/test_program.py",
    "SCHEDULE_MISSED": "tests/features/schedule/test_program.py",
}


def test_every_kind_of_finding_is_made_for_real_and_there_are_more_than_forty() -> None:
    kinds = {kind.code for kind in every_kind()}
    fixable = {*named(core.FIXABLE), *named(FIXABLE)}
    made = {*fixable, *named(core.STAYING), *named(STAYING)}
    assert kinds == made | ELSEWHERE.keys() and not made & ELSEWHERE.keys()
    assert len(made) >= 60
    for code, path in ELSEWHERE.items():
        assert code in (ROOT / path).read_text(), f"{code} is not made in {path}"
    assert {kind.code for kind in every_kind() if kind.fixable} == fixable | {"HELPER_WORKTREE_LEFT"}
    assert all(kind.cause.endswith(".") and kind.cure for kind in every_kind())


@pytest.mark.parametrize("sick", FIXABLE, ids=named(FIXABLE))
def test_s3_3_5_a_sickness_of_a_feature_is_found_fixed_once_and_nothing_else_changes(
    repo: Path, sick: Sickness
) -> None:
    is_fixed_once(with_session(repo), sick)


@pytest.mark.parametrize("sick", STAYING, ids=named(STAYING))
def test_what_a_feature_cannot_do_is_found_and_left_alone(repo: Path, sick: Sickness) -> None:
    is_left_alone(with_session(repo), sick)
