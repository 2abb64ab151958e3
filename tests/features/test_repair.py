"""Work mode repair over many sicknesses at once: by rule, then the model, a todo each, and nothing else touched."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from quintet.domain.journal import protocol as p
from quintet.domain.tasks.health import Finding
from quintet.domain.turn.todos import TodoStatus
from quintet.testing import ScriptedModel, call
from tests.app.health import sicknesses as core
from tests.app.health.looking import changes, found, with_session
from tests.app.health.sicknesses import TODO, Sickness, everything
from tests.engine.cycles import rules
from tests.engine.driving import Driver, drive
from tests.features.sicknesses import FIXABLE

# What adds a task puts a page back into its folder: so that one comes last.
# Every session gets a stale lease, so only one is there yet; the second makes checkpoints, and removes what killed
# writes left.
ORDER = ("SESSION_LEASE_STALE", "CHECKPOINTS_DAMAGED", "", "TASK_WRONG_FOLDER")
TOGETHER = sorted((*core.FIXABLE, *FIXABLE), key=lambda sick: ORDER.index(sick.code if sick.code in ORDER else ""))
MAKE = {sick.code: sick for sick in core.STAYING}
# Of those that stay, what somebody who works in the project can change.
LEFT = ("TASK_MALFORMED", "TASK_UNKNOWN", "SETTINGS_UNKNOWN", "AGENT_MALFORMED")
OWN = ("state/quintet/*/state.db*", "state/quintet/*/runs/*", "state/quintet/*/outputs*", "state/quintet/*/quintet.log")
OWN += ("state/quintet/*/checkpoints*", "state/quintet/*/writes*", "state/quintet/*/history.db*", "state/quintet/*")


def made(repo: Path, *sicks: Sickness) -> None:
    with_session(repo)
    for sick in sicks:
        sick.make(repo)


def codes(listed: list[Finding]) -> set[str]:
    return {one.code for one in listed}


def test_s3_3_5_25_sicknesses_at_once_are_repaired_offline_or_named(repo: Path) -> None:
    sicks = [*(MAKE[code] for code in LEFT), *TOGETHER]
    assert len(sicks) >= 25
    made(repo, *sicks)
    before = everything(repo)
    assert codes(found(repo)) >= {sick.code for sick in sicks}

    async def script(driver: Driver) -> None:
        end = await driver.turn("/repair --autonomous")
        assert end.status == "blocked", "what the rules cannot fix is named"
        assert set(re.findall(r"^- ([A-Z_]+)", end.reason, re.M)) == set(LEFT)
        said = [event.text for event in driver.of(p.Noticed) if event.code == "HEALTH"]
        # A session that opens removes what a killed write left, before anybody repairs.
        counts = f"1 error, {len(sicks) - 2} warnings; after: 1 error, {len(LEFT) - 1} warnings"
        assert said[-1] == f"health before: {counts}"

    drive(repo, script, rules())
    assert codes(found(repo)) == set(LEFT)
    said = {pattern for sick in sicks for pattern in sick.touched} | set(OWN)
    touched = changes(before, everything(repo))
    assert {name for name in touched if not any(fnmatchcase(name, one) for one in said)} == set()
    assert not {name for name in touched if name.startswith("repo/") and "/.git" not in name and TODO not in name} - {
        "repo/tally/.quintet-4194300-1",
        "repo/tally",
    }, "no file of the user's"


def test_s3_3_5_a_model_heals_what_the_rules_leave_a_todo_each(repo: Path) -> None:
    made(repo, MAKE["TASK_MALFORMED"], MAKE["TASK_UNKNOWN"], *TOGETHER)
    fixes = [
        [call("Read", file_path=f"{TODO}/bad.md")],
        [call("Write", file_path=f"{TODO}/bad.md", content="---\nid: bad\ntitle: It is whole\n---\nDo it.\n")],
        [call("Read", file_path=f"{TODO}/needs.md")],
        [
            call(
                "Edit",
                file_path=f"{TODO}/needs.md",
                old_string="depends_on: [nowhere]\n",
                new_string="",
            )
        ],
    ]

    async def script(driver: Driver) -> None:
        end = await driver.turn("/repair --autonomous")
        assert end.status == "done", end.reason
        moved = [
            (event.before, str(event.todo.status), event.todo.content.split()[0]) for event in driver.of(p.TodoMoved)
        ]
        assert ("", "pending", "TASK_MALFORMED") in moved and ("", "pending", "TASK_UNKNOWN") in moved
        verified = {content for _, status, content in moved if status == TodoStatus.VERIFIED}
        assert verified == {"TASK_MALFORMED", "TASK_UNKNOWN"}
        said = [event.text for event in driver.of(p.Noticed) if event.code == "HEALTH"]
        assert said[-1].endswith("; after: no problems")

    drive(repo, script, ScriptedModel(["I had a look.", *fixes, "healed", "healed"]))
    assert codes(found(repo)) <= {"TASK_FILE_WITHOUT_ROW"}
