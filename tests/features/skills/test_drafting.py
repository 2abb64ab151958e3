"""Drafts: what counts as evidence, that it is proposed once, and that nothing is written before it is accepted."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen
from quintet.features.skills.drafting.command import carried_out, make_desk
from quintet.features.skills.drafting.desk import DraftFate, DraftOutcome
from quintet.features.skills.drafting.draft import writes_itself
from quintet.features.skills.drafting.evidence import EvidenceKind, found
from quintet.features.skills.settings import Drafting
from quintet.features.skills.wiring import make_book
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.surfaces.program import Program

NORMAL = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
Events = list[tuple[str, p.Event]]
DAY = 86_400.0


class Journal:
    """Events as a session would leave them."""

    def __init__(self) -> None:
        self.events: Events = []
        self._calls = 0

    def turn(self, number: int) -> None:
        started = p.TurnStarted(turn=f"turn-{number}", run="r", submission="s", text="t", axes=NORMAL)
        self.events.append((f"q5-{number % 2}", started))

    def ran(self, number: int, line: str, code: int, output: str = "", changed: tuple[str, ...] = ()) -> None:
        self._calls += 1
        session, id = f"q5-{number % 2}", f"c{self._calls}"
        arguments = json.dumps({"command": line})
        self.events.append((session, p.ToolStarted(call=id, turn=f"turn-{number}", tool="bash", arguments=arguments)))
        status = CallStatus.ERROR if code else CallStatus.OK
        done = p.ToolFinished(
            call=id,
            tool="bash",
            status=status,
            content=output,
            changed=changed,
            shell=ShellSeen("", running=False, exit_code=code),
        )
        self.events.append((session, done))

    def edited(self, number: int, path: str) -> None:
        done = p.ToolFinished(call="e", tool="Edit", status=CallStatus.OK, content="", changed=(path,))
        self.events.append((f"q5-{number % 2}", done))


def failures(times: int) -> Events:
    """The same failure and the same fix so often, with what differs from one time to the next."""
    journal = Journal()
    for number in range(times):
        journal.turn(number)
        journal.ran(
            number, "pytest -q", 1, f"E   KeyError: 'zone' at 0x{number:x}ff\n{number + 3} failed in 0.{number}1s"
        )
        journal.edited(number, "conf/zones.toml")
        journal.edited(number, f"notes-{number}.txt")
        journal.ran(number, "make zones", 0)
        journal.ran(number, "pytest -q", 0, "ok")
    return journal.events


def looked(repo: Path, events: Events, now: float, axes: Axes | None, **settings: object) -> list[DraftOutcome]:
    places = locate(str(repo))
    loaded = config.load(places, {f"skills.{key}": value for key, value in settings.items()})
    book = make_book(places)
    try:
        return asyncio.run(make_desk(places, loaded, book).look(events, now, axes))
    finally:
        book.close()


def decided(repo: Path, action: str, id: str, now: float) -> None:
    places = locate(str(repo))
    book = make_book(places)
    desk = make_desk(places, config.load(places), book)
    desk.accept(id, now) if action == "accept" else desk.reject(id, now)
    book.close()


def test_s3_10_4_evidence_is_what_every_time_has_in_common() -> None:
    (one,) = found(failures(4), 4)
    assert (one.kind, one.subject, one.files, one.commands) == (
        EvidenceKind.FAILURE,
        "pytest -q",
        ("conf/zones.toml",),
        ("make zones",),
    )
    assert "failed in" in one.detail or "KeyError" in one.detail
    assert [(s.session, s.turn) for s in one.seen] == [(f"q5-{n % 2}", f"turn-{n}") for n in range(4)]
    assert found(failures(3), 4) == []


def test_a_turn_that_shows_it_often_counts_once() -> None:
    journal = Journal()
    journal.turn(0)
    for _ in range(6):
        journal.ran(0, "make", 2, "error: no zone")
        journal.edited(0, "a.txt")
        journal.ran(0, "make", 0)
    assert found(journal.events, 2) == []


def test_commands_and_corrections_that_come_again_are_evidence() -> None:
    journal = Journal()
    for number in range(4):
        journal.turn(number)
        for line in ("make clean", "make deps", "make all"):
            journal.ran(number, line, 0)
        note = p.QuestionAnswered(question="q", choice="n", note="Use the staging database for this.")
        journal.events.append((f"q5-{number % 2}", note))
    kinds = {one.kind: one for one in found(journal.events, 4)}
    assert kinds[EvidenceKind.COMMANDS].commands == ("make clean", "make deps", "make all")
    assert kinds[EvidenceKind.CORRECTION].subject == "use the staging database for this"


@pytest.mark.system("bwrap")
def test_s3_10_4_one_proposal_once_and_after_a_no_none_until_the_cooldown_ends(repo: Path) -> None:
    now = 1_000_000.0
    (first,) = looked(repo, failures(4), now, NORMAL)
    assert first.fate is DraftFate.PROPOSED and first.draft.name == "fix-pytest"
    assert "conf/zones.toml" in first.draft.files["SKILL.md"] and "turn-3" in first.draft.files["evidence.md"]
    assert not (repo / ".agents").exists()
    assert looked(repo, failures(4), now + 1, NORMAL) == []
    assert looked(repo, failures(9), now + 2, NORMAL) == []  # more of the same is the same
    decided(repo, "reject", first.id, now + 3)
    assert looked(repo, failures(9), now + 29 * DAY, NORMAL) == []
    (again,) = looked(repo, failures(9), now + 31 * DAY, NORMAL)
    assert again.fate is DraftFate.PROPOSED
    decided(repo, "accept", again.id, now + 32 * DAY)
    page = (repo / ".agents/skills/fix-pytest/SKILL.md").read_text()
    assert "Run `make zones`" in page
    assert looked(repo, failures(20), now + 400 * DAY, NORMAL) == []


def test_s3_10_4_a_draft_writes_itself_at_trusted_only_and_never_in_manual() -> None:
    for profile, control, drafting in itertools.product(PermissionProfile, RunControl, Drafting):
        wanted = (
            drafting is Drafting.AUTO and control is not RunControl.MANUAL and profile in ("trusted", "unrestricted")
        )
        assert writes_itself(drafting, Axes(WorkMode.BUILD, control, profile)) == wanted
    assert not writes_itself(Drafting.AUTO, None)  # no session looks: nobody has turned a dial


@pytest.mark.system("bwrap")
def test_s3_10_4_auto_writes_what_passes_the_linter_and_its_eval(repo: Path) -> None:
    (one,) = looked(repo, failures(4), 1.0, NORMAL, drafting="auto")
    assert one.fate is DraftFate.WRITTEN and (repo / ".agents/skills/fix-pytest/SKILL.md").exists()


@pytest.mark.system("bwrap")
def test_a_skill_is_not_written_through_a_link_of_the_project(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repo / ".agents").mkdir()
    (repo / ".agents/skills").symlink_to(tmp_path / "elsewhere")
    (one,) = looked(repo, failures(4), 1.0, NORMAL, drafting="auto")
    assert one.fate is DraftFate.PROPOSED and "leads elsewhere" in one.reason
    with pytest.raises(UsageError, match="leads elsewhere"):
        decided(repo, "accept", one.id, 2.0)
    told = Program(repo).run("skills", "new", "tea", "--description", "Use when tea is to be made.")
    assert told.code == 2 and "leads elsewhere" in told.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_drafting_can_be_off(repo: Path) -> None:
    assert looked(repo, failures(9), 1.0, NORMAL, drafting="off") == []


@pytest.fixture
def four_times(repo: Path) -> Iterator[Path]:
    """A journal with the same failure and fix four times, made by real turns."""

    async def script(driver: Driver) -> None:
        for number in range(4):
            (repo / "zone").unlink(missing_ok=True)
            await driver.turn(f"fix it {number}")

    line = [call("bash", command="grep -q Oslo zone || { echo 'error: no zone'; false; }")]
    fix = [call("Write", file_path="zone", content="Oslo")]
    replies = [reply for _ in range(4) for reply in (line, fix, line, "done")]
    drive(
        repo,
        script,
        ScriptedModel(replies),
        axes=AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED),
    )
    yield repo


@pytest.mark.system("bwrap")
def test_the_program_proposes_a_draft_from_its_journal(four_times: Path) -> None:
    quintet = Program(four_times)
    listed = quintet.run("skills", "drafts", "--json").clean(0).json()
    (draft,) = listed["drafts"]
    assert draft["evidence"]["files"] == ["zone"] and len(draft["evidence"]["seen"]) == 4
    assert len(quintet.run("skills", "drafts", "--json").clean(0).json()["drafts"]) == 1
    assert "seen" in quintet.run("skills", "drafts", "show", draft["id"]).clean(0).out.lower()
    assert not (four_times / ".agents").exists()
    quintet.run("skills", "drafts", "accept", draft["id"]).clean(0)
    folder = four_times / ".agents/skills" / draft["name"]
    quintet.run("skills", "check", "--strict", str(folder)).clean(0)
    assert quintet.run("skills", "drafts", "reject", draft["id"]).code == 2


def test_what_is_asked_of_a_draft_that_is_not_there_says_so(repo: Path) -> None:
    places = locate(str(repo))
    for action in ("show", "accept", "reject"):
        with pytest.raises(Exception, match="there is no draft x"):
            asyncio.run(carried_out(places, config.load(places), make_book(places), action, "x", None))
