"""An ignore rule that a turn writes hides nothing from taking the turn back."""

from pathlib import Path

from quintet.adapters.tasks.drafts import TaskInput
from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.engine.checkpoints.rewind import HIDDEN, UNSURE
from quintet.testing import call
from tests.engine.checkpoints.test_rewind import replies
from tests.engine.driving import Driver, drive

HOSTILE = """\
import os
with open(".gitignore", "a") as file: file.write("hidden.sh\\n*.toml\\nout/\\n")
for name in ("hidden.sh", "cfg.toml", "out/x.sh", "plain.txt", "pre/deep/y.toml", ":odd.toml", "sub/inside.sh"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    open(name, "w").close()
open("sub/.gitignore", "w").write("*\\n")
open(b"caf\\xe9\\n.sh", "w").close()
os.symlink("/etc/hostname", "link")
"""
MADE = ("hidden.sh", "cfg.toml", "out", "plain.txt", "pre", ":odd.toml", "link")


def lacking(ran: object) -> dict[str, str]:
    return {one["path"]: one["reason"] for one in ran.data["rewind"]["lacking"]}  # type: ignore[attr-defined]


def test_what_is_new_by_the_rules_from_before_is_taken_back_and_the_rest_is_named(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n.cache/\n")
    for name in ("old.log", ".cache/x", ".selfish/y"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("mine")
    (repo / ".selfish/.gitignore").write_text("*\n")  # as caches have it: it stands in no snapshot
    (repo / "w.py").write_text(HOSTILE)

    async def script(driver: Driver) -> None:
        await driver.turn("change")
        seen = await driver.command("/rewind 1")
        assert lacking(seen) == {"sub/": HIDDEN}
        assert "caf\\xe9␊.sh" in seen.text
        assert "\n.sh" not in seen.text
        await driver.command("/rewind 1 files")
        assert [name for name in MADE if (repo / name).is_symlink() or (repo / name).exists()] == []
        assert [name for name in ("old.log", ".cache/x", ".selfish/y") if not (repo / name).exists()] == []
        assert (repo / ".gitignore").read_text() == "*.log\n.cache/\n"

    drive(repo, script, replies([call("bash", command="python3 w.py")]))


def test_a_rule_that_a_file_tool_wrote_hides_nothing_that_a_later_call_makes(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "old.log").write_text("mine")

    async def script(driver: Driver) -> None:
        await driver.turn("change")
        await driver.command("/rewind 1 files")
        assert not (repo / "made.sh").exists() and not (repo / "new").exists()
        assert (repo / "old.log").read_text() == "mine"

    rules = call("Write", file_path=".gitignore", content="*.sh\nnew/\n")
    drive(repo, script, replies([rules, call("bash", command="mkdir new; touch made.sh new/a")]))


def test_what_a_rule_of_an_earlier_turn_hides_is_named(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n")

    async def script(driver: Driver) -> None:
        await driver.turn("one")
        await driver.turn("two")
        assert lacking(await driver.command("/rewind 1")) == {"late.sh": HIDDEN}

    first = [call("bash", command="echo '*.sh' >> .gitignore")]
    drive(repo, script, replies(first, [call("bash", command='python3 -c \'open("late.sh", "w")\'; touch seen.txt')]))


def test_a_new_rule_that_uncovers_does_not_make_an_old_file_new(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "sub").mkdir()
    (repo / "sub/old.log").write_text("mine")

    async def script(driver: Driver) -> None:
        await driver.turn("change")
        assert lacking(await driver.command("/rewind 1")) == {"sub/old.log": UNSURE}
        await driver.command("/rewind 1 files")
        assert (repo / "sub/old.log").read_text() == "mine"
        assert not (repo / "sub/.gitignore").exists() and not (repo / "sub/new").exists()

    drive(repo, script, replies([call("bash", command="echo '!*.log' > sub/.gitignore; touch sub/new")]))


def test_a_draft_saved_meanwhile_is_nothing_to_name(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        drafts = TaskInput(TaskFolder(str(repo), ""), str(repo.parent / "mark"))
        await driver.turn("one")
        drafts.save("half a thought")
        await driver.turn("two")
        assert lacking(await driver.command("/rewind 1")) == {}
        with open(repo / ".quintet/.gitignore", "a") as rules:
            rules.write("*.sh\n")
        (repo / ".quintet/late.sh").write_text("")
        assert lacking(await driver.command("/rewind 1")) == {".quintet/": HIDDEN}
        await driver.command("/rewind 1 files")
        assert drafts.restore() == "half a thought" and not (repo / "seen").exists()

    drive(repo, script, replies([call("bash", command="touch seen")], [call("bash", command="touch more")]))
