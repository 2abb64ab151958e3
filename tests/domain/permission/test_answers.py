"""Which answers a question offers: only those that would work."""

from itertools import product

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.answers import answers, made_rules
from quintet.domain.permission.effects import Effect, Sandbox
from quintet.domain.permission.rules import Rule
from tests.domain.permission.asking import (
    BUILD,
    CHAT,
    EDIT,
    NORMAL,
    RESTRICTED,
    ROOT,
    TRUSTED,
    UNRESTRICTED,
    Call,
    Question,
    axes,
    line,
)


@pytest.mark.parametrize(
    ("call", "at", "sandbox", "keys"),
    [
        (("Edit", EDIT), axes(CHAT, NORMAL), Sandbox.BWRAP, "yxbne"),
        (("Write", {"file_path": "a", "content": "b"}), axes(CHAT, NORMAL), Sandbox.NONE, "yxbne"),
        (line("touch x"), axes(BUILD, RESTRICTED), Sandbox.BWRAP, "ysaptne"),
        (("fs_delete", {"path": "calc.py"}), axes(CHAT, NORMAL), Sandbox.BWRAP, "yne"),
        (("fs_delete", {"path": "calc.py"}), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysane"),
        (line("pytest -q"), axes(CHAT, NORMAL), Sandbox.BWRAP, "yne"),
        (line("pytest -q"), axes(CHAT, TRUSTED), Sandbox.BWRAP, "ybne"),
        (line("pytest -q"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysaptne"),
        (line("pytest -q"), axes(BUILD, NORMAL), Sandbox.PARTIAL, "ysane"),
        (line("pytest -q"), axes(BUILD, NORMAL), Sandbox.NONE, "ysane"),
        (line("pytest -q", exec_dir="sub"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("pytest ../other"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysane"),
        (line("cd sub && pytest"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("pytest > out"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("A=1 pytest"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("python3 -m pytest"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("curl https://example.org"), axes(BUILD, NORMAL), Sandbox.BWRAP, "ysatne"),
        (line("shred x"), axes(BUILD, UNRESTRICTED), Sandbox.BWRAP, "ysane"),
        (line("shred x"), axes(BUILD, UNRESTRICTED), Sandbox.PARTIAL, "yne"),
        (line("git push"), axes(BUILD, UNRESTRICTED), Sandbox.BWRAP, "yne"),
        (line("cp calc.py ../x"), axes(BUILD, UNRESTRICTED), Sandbox.BWRAP, "yne"),
        (line("pytest"), axes(BUILD, TRUSTED, RunControl.MANUAL), Sandbox.BWRAP, "yne"),
    ],
)
def test_the_answers_of_a_question(call: Call, at: Axes, sandbox: Sandbox, keys: str) -> None:
    question = Question(call, at, sandbox)
    assert question.at(at).verdict is gate.Verdict.ASK
    assert question.keys == keys


LINES = ("pytest -q", "make test", "rm x", "shred x", "cat /etc/passwd", "curl https://example.org", "npm run build")


@pytest.mark.parametrize("sandbox", list(Sandbox))
def test_every_answer_that_is_offered_works(sandbox: Sandbox) -> None:
    """A rule lifts the question it was offered for, a dial lets the call go; in every case there is."""
    calls = [*map(line, LINES), ("Edit", EDIT), ("fs_delete", {"path": "calc.py"})]
    base = Rule("rule-1", "allow", "", project=ROOT)
    for call, work_mode, profile in product(calls, WorkMode, PermissionProfile):
        question = Question(call, axes(work_mode, profile), sandbox)
        if question.at(question.axes).verdict is not gate.Verdict.ASK:
            continue
        for choice in answers(question.asked, question.at):
            made = made_rules(question.asked, choice.key, base, "q5-1", lambda: "rule-2")
            if made:
                after = Question(call, question.axes, sandbox, made)
                assert after.at(after.axes).rule == "rule-1", (call, question.axes, choice)
            elif choice.turns:
                assert question.at(choice.turns.applied_to(question.axes)).verdict is gate.Verdict.ALLOW


def test_the_rules_that_answers_make() -> None:
    base = Rule("rule-1", "allow", "", project=ROOT, created="now")
    ran = Question(line("pytest -q"), axes(BUILD, NORMAL)).asked
    (once,) = made_rules(ran, "a", base, "q5-1")
    assert (once.pattern, once.words, once.session, once.effects) == ("pytest -q", (), "", (Effect.BUILD,))
    assert once.reason == "building or testing needs approval in profile normal (pytest: builds or tests)"
    (begun,) = made_rules(ran, "p", base, "q5-1")
    assert (begun.pattern, begun.words, begun.session) == ("pytest", ("pytest",), "")
    (held,) = made_rules(ran, "s", base, "q5-1")
    assert (held.pattern, held.session) == ("pytest -q", "q5-1")
    edits = made_rules(Question(("Edit", EDIT), axes(CHAT, NORMAL)).asked, "x", base, "q5-1", lambda: "rule-2")
    assert [(rule.id, rule.tool, rule.pattern, rule.session) for rule in edits] == [
        ("rule-1", "Edit", "*", "q5-1"),
        ("rule-2", "Write", "*", "q5-1"),
    ]
    assert {rule.effects for rule in edits} == {(Effect.EDIT,)}
    for key in ("y", "n", "e", "b", "t", "x"):
        assert made_rules(ran, key, base, "q5-1") == ()
