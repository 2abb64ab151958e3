"""Nothing is done on a claim alone: what shows a task, and what does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from quintet.domain.journal import protocol as p
from quintet.domain.tasks.task import Intent, Mutation, TaskText
from quintet.domain.tasks.verdicts import DoneEvidence, VerifyOutcome, files_named, unchecked, verdict

V, F, N = VerifyOutcome.VERIFIED, VerifyOutcome.FAILED, VerifyOutcome.NOT_VERIFIED
ONE = TaskText("a", "create one.txt")


@pytest.mark.parametrize(
    ("said", "shown", "outcome"),
    [
        (None, DoneEvidence(), N),  # the offline rules, and an AI CLI's word
        (None, DoneEvidence(changed=("two.txt",)), N),
        (None, DoneEvidence(changed=("one.txt",)), V),
        (None, DoneEvidence(changed=("sub/one.txt", "x")), V),
        (None, DoneEvidence(changed=("done.txt",)), N),
        (None, DoneEvidence(command=True), V),
        (None, DoneEvidence(by_rules=True), V),
        (True, DoneEvidence(), N),  # two words of AI CLIs, and nothing beside them
        (True, DoneEvidence(looked=True), V),
        (True, DoneEvidence(changed=("x",)), V),
        (True, DoneEvidence(native=True), V),
        (False, DoneEvidence(True, ("one.txt",), True, True, True), F),
    ],
)
def test_what_shows_a_task_decides(said: bool | None, shown: DoneEvidence, outcome: VerifyOutcome) -> None:
    found, why = verdict(said, ONE, shown)
    assert found is outcome
    assert bool(why) is (outcome is N)


@pytest.mark.parametrize(
    ("said", "shown", "outcome"),
    [
        (None, DoneEvidence(by_rules=True, changed=("A.md",)), N),  # they wrote, and not what it says
        (None, DoneEvidence(by_rules=True, changed=("src/one.py",)), V),
        (True, DoneEvidence(native=True, changed=("A.md",)), N),
        (True, DoneEvidence(native=True, changed=("src/one.py",)), V),
        (True, DoneEvidence(changed=("A.md",), looked=True), V),  # who looked may know better
        (True, DoneEvidence(changed=("A.md",), command=True), V),
        (None, DoneEvidence(changed=("A.md",)), N),
    ],
)
def test_s4_what_a_task_says_it_will_change_is_evidence(
    said: bool | None, shown: DoneEvidence, outcome: VerifyOutcome
) -> None:
    text = TaskText("a", "tidy up", intent=(Intent("src/one.py", 1, 9), Intent("docs")))
    found, why = verdict(said, text, shown)
    assert found is outcome
    assert (outcome is N) == (
        "there is no evidence that its files were handled: src/one.py, docs did not change" in why
    )
    assert verdict(said, structs.replace(text, mutation=Mutation.NONE), shown)[0] is not F


def test_a_file_that_is_not_there_is_said_to_be_missing() -> None:
    text = TaskText("a", "write one.txt and two.txt")
    shown = DoneEvidence(changed=("x",), missing=("two.txt",))
    assert verdict(None, text, shown)[1].startswith("one.txt did not change, two.txt does not exist; give it")


@pytest.mark.parametrize("shown", [DoneEvidence(), DoneEvidence(command=True, changed=("one.txt",), native=True)])
def test_a_verifier_that_gives_no_verdict_verifies_nothing_and_its_words_are_told(shown: DoneEvidence) -> None:
    found, why = verdict(None, ONE, structs.replace(shown, unclear="Shall I look?"))
    assert (found, why) == (N, "the verifier did not say whether it is done: Shall I look?")


@pytest.mark.parametrize(
    ("said", "shown", "left"),
    [
        (None, DoneEvidence(command=True), "what its command does not test"),
        (None, DoneEvidence(by_rules=True), "more than its own steps show"),
        (None, DoneEvidence(changed=("one.txt",)), "what its files say"),
        (True, DoneEvidence(command=True), ""),
    ],
)
def test_the_offline_rules_name_what_they_did_not_check(said: bool | None, shown: DoneEvidence, left: str) -> None:
    assert verdict(said, ONE, shown)[0] is V and unchecked(said, shown) == left


@given(st.booleans() | st.none(), st.text(), st.text())
def test_no_word_verifies_without_anything_that_shows_it(said: bool | None, title: str, body: str) -> None:
    assert verdict(said, TaskText("a", title, body=body), DoneEvidence())[0] is not V


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("create one.txt and src/two.py", ["one.txt", "src/two.py"]),
        ("write ./a/b.md, then `c.toml`.", ["a/b.md", "c.toml"]),
        ("read https://example.com/a.html and bump to v1.2", []),
        ("mail me@example.com about .env.example", [".env.example"]),
        ("tidy up", []),
    ],
)
def test_the_files_a_task_names(title: str, named: list[str]) -> None:
    assert files_named(TaskText("a", title)) == named


def test_intents_name_files_and_findings_do_not() -> None:
    body = "Do it.\n\n## Findings 1, codex\n\nlog.txt is missing"
    assert files_named(TaskText("a", "x", intent=(Intent("src/a.py", 1, 3),), body=body)) == ["src/a.py"]


def test_a_verification_of_an_older_journal_still_reads() -> None:
    line = '{"type":"task_verified","run":"r","task":"a","title":"A","passed":true,"by":"native"}'
    assert p.decode_event(line) == p.TaskVerified(run="r", task="a", title="A", passed=True, by="native")
