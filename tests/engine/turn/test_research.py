"""/research: a question, an answer, and claims whose citations were looked up."""

import json
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import describe
from quintet.domain.turn.messages import Role
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.planted import fingerprint

CHAT = AxesChange(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL)
QUESTION = "what's counted -- and how?"
REPLY = {
    "question": "How are words counted?",
    "answer": "By splitting at white space.",
    "claims": [
        {"text": "It splits.", "sources": ["tally/count.py:3", "tally/count.py:1-3"]},
        {"text": "It trims.", "sources": ["tally/count.py:40", "tally/count.py:2-9", "tally/trim.py:1"]},
        {"text": "So says Python.", "sources": ["https://docs.python.org:443/3/library", "The manual, page 3"]},
    ],
    "open_questions": ["Other alphabets"],
}


def researched(root: Path, reply: str, line: str = f"/research {QUESTION}") -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel([[call("Read", file_path="tally/count.py")], reply])

    async def script(driver: Driver) -> None:
        await driver.turn(line)

    return drive(root, script, model, axes=CHAT), model


def test_citations_of_files_are_looked_up_and_the_rest_kept_as_it_is(repo: Path) -> None:
    before = fingerprint(repo)
    driver, model = researched(repo, json.dumps(REPLY))
    (event,) = driver.of(p.ReportMade)
    value = json.loads(Path(event.path).with_suffix(".json").read_text())
    marks = {source["text"]: source["unresolved"] for claim in value["claims"] for source in claim["sources"]}
    assert marks == {
        "tally/count.py:3": "",
        "tally/count.py:1-3": "",
        "tally/count.py:40": "no such line: the file ends at line 3",
        "tally/count.py:2-9": "no such line: the file ends at line 3",
        "tally/trim.py:1": "no such file",
        "https://docs.python.org:443/3/library": "",
        "The manual, page 3": "",
    }
    assert (event.kind, event.subject, event.findings, event.unresolved) == ("research", QUESTION, {}, 3)
    text = Path(event.path).read_text()
    assert "- tally/count.py:3\n" in text
    assert "- tally/trim.py:1 (unresolved: no such file)\n" in text
    assert "## Open questions\n\n- Other alphabets" in text
    (finished,) = driver.of(p.TurnFinished)
    assert (finished.status, finished.answer + "\n") == ("done", text)
    assert "3 places unresolved" in describe(p.Recorded(1, "", event))[0].text
    assert fingerprint(repo) == before
    assert "one JSON object" in model.requests[0].messages[0].text


def test_the_question_is_taken_as_it_was_typed_and_the_work_mode_turned(repo: Path) -> None:
    driver, model = researched(repo, "{}", f"/research {QUESTION}\nThe second line.")
    asked = next(message.text for message in model.requests[0].messages if message.role is Role.USER)
    assert asked == f"{QUESTION}\nThe second line."
    (turned,) = driver.of(p.DialsTurned)
    assert (turned.change, turned.actor) == (AxesChange(work_mode=WorkMode.RESEARCH), "user")
    assert driver.of(p.QuestionAsked) == []


@pytest.mark.parametrize(
    ("reply", "answer", "flaw"),
    [
        ("By splitting.", "By splitting.", "not in the requested format"),
        ('{"answer": "a", "claims": [{"text": "c"}, "d"]}', "a", "2 of 2 claims had no source"),
    ],
)
def test_a_flaw_of_the_report_is_said_in_it(repo: Path, reply: str, answer: str, flaw: str) -> None:
    (event,) = researched(repo, reply)[0].of(p.ReportMade)
    value = json.loads(Path(event.path).with_suffix(".json").read_text())
    assert value["answer"] == answer
    assert flaw in value["flaws"][0]
    assert flaw in Path(event.path).read_text()


def test_no_question_begins_nothing(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/research")
        assert (ran.ok, ran.code) == (False, "USAGE")
        assert driver.axes.work_mode is WorkMode.CHAT

    assert drive(repo, script, axes=CHAT).types() == ["SessionOpened", "CommandRan"]
