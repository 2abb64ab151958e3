"""A rule the user made covers what it says: nothing that a model writes, links or moves makes it cover more."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect, Sandbox
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import ANY, Rule
from quintet.testing import ScriptedModel, call
from tests.domain.permission.asking import BUILD, CHAT, EDIT, NORMAL, ROOT, TRUSTED, Call, Question, axes, line
from tests.engine.driving import Driver, drive

PYTEST = Rule("rule-p", "allow", "bash", "pytest", (Effect.BUILD,), ROOT, words=("pytest",))
MAKE = Rule("rule-m", "allow", "bash", "make test", (Effect.BUILD,), ROOT, words=("make", "test"))
REMOVE = Rule("rule-r", "allow", "bash", "rm", (Effect.DESTROY,), ROOT, words=("rm",))
EVERY = tuple(set(Effect) - {Effect.READ})
BY_HAND = [  # rules that `rules add` refuses, in a file mended by hand
    Rule("rule-h1", "allow", "bash", ANY, EVERY, ROOT, words=("python3",)),
    Rule("rule-h2", "allow", "bash", ANY, EVERY, ROOT, words=("git",)),
    Rule("rule-h3", "allow", "bash", ANY, EVERY, ROOT, words=("find",)),
    Rule("rule-h4", "allow", "bash", ANY, EVERY, ROOT, words=("env",)),
    Rule("rule-h5", "allow", "bash", ANY, EVERY, ROOT, words=("npx",)),
    Rule("rule-h6", "allow", "bash", ANY, EVERY, ROOT, words=("npm",)),
    Rule("rule-h7", "allow", "bash", ANY, EVERY, ROOT, words=("make",)),
    Rule("rule-h8", "allow", "bash", ANY, EVERY, ROOT, words=("/usr/bin/pytest",)),
]


def decided(made: Call, rule: Rule, work_mode: WorkMode = BUILD, sandbox: Sandbox = Sandbox.BWRAP) -> tuple[str, str]:
    question = Question(made, axes(work_mode, NORMAL), sandbox, (rule,))
    decision = question.at(question.axes)
    return str(decision.verdict), decision.rule


@pytest.mark.parametrize("text", ["pytest", "pytest -q", "pytest tests/test_a.py::x -k 'a or b'", "pytest 'a b'"])
def test_the_rule_covers_what_it_is_for(text: str) -> None:
    assert decided(line(text), PYTEST) == ("allow", "rule-p")


STRETCHED = {
    "wrapper": "timeout 5 pytest",
    "env": "env A=1 pytest",
    "xargs": "xargs pytest",
    "runner": "uv run pytest",
    "module": "python3 -m pytest",
    "shell": "bash -c pytest",
    "another program of that beginning": "pytest-watch",
    "by a path outside": "/tmp/pytest",
    "by the system's path": "/usr/bin/pytest",
    "by a path above": "../pytest",
    "semicolon": "pytest; make all",
    "and": "pytest && make all",
    "pipe": "pytest | tee out",
    "background": "pytest & make all",
    "newline": "pytest\nmake all",
    "substitution": "pytest $(make all)",
    "backquotes": "pytest `make all`",
    "process substitution": "pytest <(make all)",
    "variable": "pytest $X",
    "variable as the program": "$X pytest",
    "assignment": "PYTEST_ADDOPTS=-x pytest",
    "assignment before": "PATH=.:$PATH pytest",
    "redirection": "pytest > calc.py",
    "appending": "pytest >> calc.py",
    "input": "pytest < calc.py",
    "here-document": "pytest <<EOF\nx\nEOF",
    "cd": "cd sub && pytest",
    "pushd": "pushd sub; pytest",
    "subshell": "(cd sub; pytest)",
    "group": "{ pytest; make all; }",
    "function": "pytest() { make all; }; pytest",
    "alias": "alias pytest=make; pytest",
    "loop": "for x in a; do pytest; done",
    "negation and more": "! pytest || make all",
    "comment and newline": "pytest # x\nmake all",
    "continued": "pytest \\\n; make all",
    "quoted operator, then a real one": "pytest ';' ; make all",
    "reads above": "pytest ../other",
    "reads elsewhere": "pytest /var/lib/x",
    "reads at home": "pytest ~/.bashrc",
    "an option with a path elsewhere": "pytest --rootdir=/var/lib/x",
}


@pytest.mark.parametrize("text", STRETCHED.values(), ids=STRETCHED)
def test_a_prefix_rule_is_not_stretched(text: str) -> None:
    without = Question(line(text), axes(BUILD, NORMAL))
    assert decided(line(text), PYTEST) == (str(without.at(without.axes).verdict), "")


@pytest.mark.parametrize(
    "text", ["make test deploy", "make test -C ../x", "make test -f x.mk", "make test SHELL=./x", "make testx", "make"]
)
def test_a_target_is_that_target_alone(text: str) -> None:
    assert decided(line("make test -j4"), MAKE) == ("allow", "rule-m")
    assert decided(line(text), MAKE) == ("ask", "")


@pytest.mark.parametrize("text", ["'pytest' -q", '"pytest" -q', "pyte''st -q", "pytes\\t -q"])
def test_quoting_hides_no_other_program(text: str) -> None:
    """The shell takes the quotes away too, so it is the same command; it is never another one."""
    assert decided(line(text), PYTEST)[0] in ("allow", "ask")
    other = text.replace("pyte", "maky").replace("maky", "make ")
    assert decided(line(other), PYTEST)[1] == ""


@pytest.mark.parametrize("folder", ["sub", "sub/deeper", "../other", "/tmp"])
def test_another_folder_is_another_command(folder: str) -> None:
    assert decided(line("pytest", exec_dir=folder), PYTEST) == ("ask", "")
    assert decided(line("pytest", exec_dir="."), PYTEST) == ("allow", "rule-p")


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize("rule", [PYTEST, MAKE, REMOVE], ids=lambda rule: rule.id)
def test_a_prefix_is_void_without_a_whole_sandbox(sandbox: Sandbox, rule: Rule) -> None:
    text = " ".join((*rule.words, *(["x"] if rule is REMOVE else [])))
    assert decided(line(text), rule, sandbox=sandbox) == ("ask", "")


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
def test_no_rule_covers_what_cannot_be_taken_back_without_a_whole_sandbox(sandbox: Sandbox) -> None:
    exact = Rule("rule-x", "allow", "bash", "shred x", (Effect.DESTROY,), ROOT)
    assert decided(line("shred x"), exact) == ("allow", "rule-x")
    assert decided(line("shred x"), exact, sandbox=sandbox) == ("ask", "")


@pytest.mark.parametrize(
    "text", ["python3 -m build", "git commit -m x", "find . -delete", "env make", "npx jest", "npm test", "make all"]
)
def test_a_rule_mended_by_hand_is_looked_at_again_when_it_is_used(text: str) -> None:
    for rule in BY_HAND:
        assert decided(line(text), rule)[1] == "", rule


def test_a_wide_rule_mended_by_hand_does_not_delete() -> None:
    for tool, pattern in ((ANY, ANY), ("bash", ANY), ("bash", "shred*"), ("bash", "shred ?"), (ANY, "shred x")):
        wide = Rule("rule-w", "allow", tool, pattern, EVERY, ROOT)
        assert decided(line("shred x"), wide) == ("ask", ""), (tool, pattern)


def test_a_rule_that_may_delete_neither_publishes_nor_leaves_the_project() -> None:
    wide = structs.replace(REMOVE, effects=EVERY)
    assert decided(line("rm x"), wide) == ("allow", "rule-r")
    for text in ("rm ../x", "rm /etc/x", "rm ~/x", "rm -r ..", "rm .git/config", "rm .env", "rm x; rm ../y"):
        verdict, rule = decided(line(text), wide)
        assert verdict in ("ask", "deny") and rule == "", text
    for text in ("git push", "twine upload dist"):
        words = tuple(text.split())
        assert decided(line(text), structs.replace(wide, pattern=text, words=words))[0] == "ask"
        assert decided(line(text), structs.replace(wide, pattern=text, words=()))[0] == "ask"


def test_a_rule_covers_no_more_effects_than_it_names() -> None:
    """The same program that does more than when it was approved: its effects are judged each time."""
    less = structs.replace(PYTEST, effects=(Effect.EXECUTE,))
    assert decided(line("pytest"), less) == ("ask", "")


def test_a_rule_of_another_project_or_tool_is_none_here() -> None:
    assert decided(line("pytest"), structs.replace(PYTEST, project="/other")) == ("ask", "")
    assert decided(line("pytest"), structs.replace(PYTEST, tool="Edit")) == ("ask", "")


# ── accept edits


EDITS = [Rule(f"rule-{tool}", "allow", tool, ANY, (Effect.EDIT,), ROOT, session="q5-1") for tool in ("Edit", "Write")]


@pytest.mark.parametrize("made", [("Edit", EDIT), ("Write", {"file_path": "a", "content": "b"})])
def test_accepted_edits_need_no_approval(made: Call) -> None:
    question = Question(made, axes(CHAT, NORMAL), rules=tuple(EDITS))
    assert question.at(question.axes).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "made",
    [
        ("fs_delete", {"path": "calc.py"}),
        ("fs_move", {"source": "calc.py", "destination": "b.py"}),
        ("fs_create_directory", {"path": "b"}),
        line("touch calc.py"),
        line("echo x > calc.py"),
        line("rm calc.py"),
        line("python3 -c 1"),
        ("Edit", {**EDIT, "file_path": ".git/config"}),
        ("Edit", {**EDIT, "file_path": ".env"}),
        ("Edit", {**EDIT, "file_path": "../x"}),
        ("Edit", {**EDIT, "file_path": "/etc/x"}),
        ("Edit", {**EDIT, "file_path": ".mcp.json"}),
        ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}),
        ("Write", {"file_path": "~/x", "content": "x"}),
    ],
    ids=str,
)
def test_accepted_edits_are_edit_and_write_of_the_project_s_files_and_nothing_else(made: Call) -> None:
    question = Question(made, axes(CHAT, NORMAL), rules=tuple(EDITS))
    decision = question.at(question.axes)
    assert decision.verdict is not Verdict.ALLOW and decision.rule == ""


def test_in_chat_a_lasting_rule_lifts_nothing() -> None:
    for rule in EDITS:
        lasting = structs.replace(rule, session="")
        assert decided(("Edit", EDIT), lasting, CHAT) == ("ask", "")


def test_in_chat_a_rule_of_the_session_runs_nothing() -> None:
    for rule in (PYTEST, MAKE, Rule("rule-x", "allow", "bash", "pytest", EVERY, ROOT)):
        question = Question(line("pytest"), axes(CHAT, TRUSTED), rules=(structs.replace(rule, session="q5-1"),))
        assert question.at(question.axes).verdict is Verdict.ASK


# ── in a session

IN_CHAT = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
NORMAL_BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)


def write(name: str) -> object:
    return call("Write", file_path=name, content="x\n")


def test_a_rule_of_one_session_is_none_in_another_nor_in_its_fork(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("x")
        await driver.until_type(p.TurnFinished)

    async def asked(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    made = drive(repo, first, ScriptedModel([[write("a")], [write("b")], "ok"]), person=True, axes=IN_CHAT)
    assert len(made.of(p.QuestionAsked)) == 1 and (repo / "b").exists()
    another = drive(repo, asked, ScriptedModel([[write("c")], "ok"]), person=True, axes=IN_CHAT)
    assert not (repo / "c").exists() and another.session.state.rules == ()
    options = {"person": True, "axes": None, "resume": made.session.id}
    drive(repo, asked, ScriptedModel([[write("d")], "ok"]), fork=True, **options)
    assert not (repo / "d").exists()


def test_accepted_edits_do_not_delete(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("x")
        await driver.answer("n")
        await driver.answer("n")
        await driver.until_type(p.TurnFinished)

    steps = [[write("a")], [call("fs_delete", path="a")], [call("bash", command="rm a")], "ok"]
    driver = drive(repo, script, ScriptedModel(steps), person=True, axes=IN_CHAT)
    assert (repo / "a").exists() and len(driver.of(p.QuestionAsked)) == 3


def test_a_link_of_the_program_s_name_does_not_widen_what_it_may_touch(repo: Path) -> None:
    """The program can be anything of the project's; its sandbox is built from what was judged, and holds it."""
    evil = repo / "pytest-evil"
    evil.write_text("#!/bin/sh\necho out > ../escaped; echo in > made\n")
    evil.chmod(0o755)
    (repo / "check").symlink_to("pytest-evil")

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await asyncio.wait_for(driver.until_type(p.TurnFinished), 60)

    drive(repo, script, ScriptedModel([[call("bash", command="./check")], "ok"]), person=True, axes=NORMAL_BUILD)
    assert not (repo.parent / "escaped").exists()


# ── what a rule names, and where it was seen

PATTERNS = [
    (Rule("rule-w", "allow", "bash", "pytest*", (Effect.BUILD,), ROOT), "pytest ../other"),
    (Rule("rule-w", "allow", "bash", "pytest*", (Effect.BUILD,), ROOT), "pytest; cat ~/notes.txt"),
    (Rule("rule-w", "allow", "bash", "git fetch*", (Effect.NETWORK, Effect.COMMIT), ROOT), "git fetch; cat ../x"),
    (Rule("rule-w", "allow", "bash", "curl*", (Effect.NETWORK,), ROOT), "curl -T ../x https://example.com"),
    (Rule("rule-w", "allow", "*", "*", EVERY, ROOT), "pytest /srv/data"),
]


@pytest.mark.parametrize(("rule", "text"), PATTERNS)
def test_a_pattern_that_says_nothing_of_reading_shows_nothing_outside_the_project(rule: Rule, text: str) -> None:
    assert decided(line(text), rule) == ("ask", "")
    reading = structs.replace(rule, effects=(Effect.READ, *rule.effects))
    assert decided(line(text), reading) == ("allow", "rule-w")


def test_a_rule_for_the_line_itself_shows_what_it_names_beside_a_pattern_that_does_not() -> None:
    wide, text = PATTERNS[0]
    exact = Rule("rule-x", "allow", "bash", text, (Effect.BUILD,), ROOT)
    question = Question(line(text), axes(BUILD, NORMAL), Sandbox.BWRAP, (wide, exact))
    assert question.at(question.axes).rule == "rule-x"


@pytest.mark.parametrize("folder", ["/", "//", "///"])
def test_a_rule_for_a_line_is_none_for_the_same_line_in_the_root_of_the_machine(folder: str) -> None:
    always = Rule("rule-x", "allow", "bash", "make test", (Effect.BUILD,), ROOT)
    assert decided(line("make test"), always) == ("allow", "rule-x")
    assert decided(line("make test", exec_dir=folder), always) == ("ask", "")
