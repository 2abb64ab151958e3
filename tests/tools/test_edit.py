"""Edit on real files: several edits, patches of several files, each path judged, all or nothing."""

import json

import pytest
from msgspec import structs

from quintet.domain.permission import gate
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.rules import Rule, denying, subject_of
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.turn.toolbox import Prepared
from tests.tools.calling import BUILD, Caller

PATCH = """*** Begin Patch
*** Update File: one.py
@@
-a = 1
+a = 2
*** Add File: deep/new.py
+b = 1
*** Update File: two.py
@@
-c = 1
+c = 2
*** End Patch
"""


@pytest.fixture
def files(tools: Caller) -> Caller:
    (tools.root / "one.py").write_text("a = 1\n")
    (tools.root / "two.py").write_text("c = 1\n")
    tools.ok("Read", file_path="one.py")
    tools.ok("Read", file_path="two.py")
    return tools


def test_a_match_that_is_not_exact_says_how_and_where(tools: Caller) -> None:
    (tools.root / "a.py").write_text("class A:\n    def f(self):\n        return 1\n")
    tools.ok("Read", file_path="a.py")
    said = tools.ok(
        "Edit", file_path="a.py", old_string="def f(self):\n  return 1", new_string="def f(self):\n  return 2"
    )
    assert said.startswith("(matched with different indentation, lines 2–3)\n--- a/a.py")
    assert (tools.root / "a.py").read_text() == "class A:\n    def f(self):\n        return 2\n"


def test_what_is_not_found_leaves_the_file_and_shows_the_nearest_lines(tools: Caller) -> None:
    (tools.root / "a.py").write_text("def total(lines):\n    return sum(lines)\n")
    tools.ok("Read", file_path="a.py")
    for _ in range(2):
        said = tools.fails(
            "Edit", file_path="a.py", old_string="def total(rows):\n    return sum(rows)", new_string="x"
        )
        assert said.startswith(
            "a.py: that text does not occur in the file. Most similar: lines 1–2:\n1\tdef total(lines):"
        )
        assert (tools.root / "a.py").read_text() == "def total(lines):\n    return sum(lines)\n"


def test_several_edits_of_a_file_are_one_change(files: Caller) -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b = 1", "new_string": "b = b = 2"}]
    result = files(
        "Edit", file_path="one.py", edits=[*edits, {"old_string": "b", "new_string": "c", "replace_all": True}]
    )
    assert result.status is CallStatus.OK, result.content
    assert result.summary == "+1 −1"
    assert (files.root / "one.py").read_text() == "c = c = 2\n"


def test_edits_of_which_one_fails_change_nothing(files: Caller) -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "absent and far", "new_string": "x"}]
    said = files.fails("Edit", file_path="one.py", edits=edits)
    assert said.startswith("one.py: edit 2 of 2: ")
    assert (files.root / "one.py").read_text() == "a = 1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"file_path": "one.py"},
        {"old_string": "a", "new_string": "b"},
        {"file_path": "one.py", "patch": PATCH},
        {
            "file_path": "one.py",
            "old_string": "a",
            "new_string": "b",
            "edits": [{"old_string": "a", "new_string": "c"}],
        },
    ],
)
def test_only_one_way_of_saying_it_at_a_time(files: Caller, arguments: dict[str, object]) -> None:
    said = files.fails("Edit", **arguments)
    assert "give file_path with old_string and new_string, or file_path with edits, or patch alone" in said
    assert (files.root / "one.py").read_text() == "a = 1\n"


def test_a_patch_changes_several_files(files: Caller) -> None:
    result = files("Edit", patch=PATCH)
    assert result.status is CallStatus.OK, result.content
    assert result.changed == ("one.py", "deep/new.py", "two.py")
    assert result.summary == "3 files"
    read = {path: (files.root / path).read_text() for path in result.changed}
    assert read == {"one.py": "a = 2\n", "deep/new.py": "b = 1\n", "two.py": "c = 2\n"}
    files.ok("Edit", file_path="deep/new.py", old_string="1", new_string="2")  # what it wrote is known


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (PATCH.replace("c = 1", "c = one"), "two.py, hunk 1 of 1: that text does not occur"),
        (
            PATCH.replace("deep/new.py", "tally/count.py"),
            "tally/count.py: the patch adds this file, but it already exists",
        ),
        (PATCH.replace("two.py", "tally/count.py"), "tally/count.py: read it first"),
        (PATCH.replace("two.py", "absent.py"), "absent.py: No such file"),
        (PATCH.replace("deep/new.py", "one.py/below"), "one.py/below: Not a directory"),
        (PATCH.replace("*** Update File: two.py\n@@\n-c = 1\n+c = 2", "*** Delete File: two.py"), "fs_delete"),
    ],
)
def test_a_patch_of_which_one_file_fails_changes_none(files: Caller, patch: str, why: str) -> None:
    before = {path: path.read_bytes() for path in files.root.rglob("*") if path.is_file()}
    assert why in files.fails("Edit", patch=patch)
    assert {path: path.read_bytes() for path in files.root.rglob("*") if path.is_file()} == before


def test_files_that_were_written_before_one_failed_are_put_back(files: Caller) -> None:
    patch = PATCH.replace("*** Update File: two.py\n@@\n-c = 1\n+c = 2", "*** Add File: deep/new.py/x\n+x")
    assert files.fails("Edit", patch=patch)
    assert (files.root / "one.py").read_text() == "a = 1\n"
    assert not (files.root / "deep/new.py").exists()


def test_every_file_of_a_patch_is_judged(files: Caller) -> None:
    prepared = files.prepare("Edit", json.dumps({"patch": PATCH}))
    assert isinstance(prepared, Prepared)
    assert prepared.touch.writes == ("one.py", "deep/new.py", "two.py")
    assert files.verdict("Edit", patch=PATCH) is Verdict.ALLOW
    assert files.verdict("Edit", patch=PATCH.replace("two.py", ".git/config")) is Verdict.DENY
    assert files.verdict("Edit", patch=PATCH.replace("two.py", "../outside.py")) is Verdict.DENY
    assert files.verdict("Edit", patch=PATCH.replace("deep/new.py", ".env")) is Verdict.DENY
    assert files.verdict("Edit", patch=PATCH.replace("two.py", "AGENTS.md")) is files.verdict(
        "Edit", file_path="AGENTS.md", old_string="a", new_string="b"
    )


def test_a_rule_that_says_no_to_one_file_of_a_patch_says_no_to_the_patch(files: Caller) -> None:
    prepared = files.prepare("Edit", json.dumps({"patch": PATCH}))
    assert isinstance(prepared, Prepared)
    subject = subject_of(prepared.arguments)
    assert subject == "one.py deep/new.py two.py"
    rule = Rule("rule-1", "deny", "Edit", "two.*")
    assert denying([rule], "Edit", subject, "") is None  # not by how it is shown
    terms = structs.replace(files.toolbox.terms, rules=(rule,))
    decided = gate.decide(prepared.spec, prepared.touch, BUILD, terms, subject)
    assert decided.verdict is Verdict.DENY
    assert decided.rule == "rule-1"


@pytest.mark.parametrize("second", ["./a.py", "{root}/a.py", "link.py"])
def test_one_file_under_two_names_of_a_patch_is_refused(tools: Caller, second: str) -> None:
    (tools.root / "a.py").write_text("one\ntwo\n")
    (tools.root / "link.py").symlink_to("a.py")
    second = second.format(root=tools.root)
    for path in ("a.py", second):
        tools("Read", file_path=path)
    hunks = f"*** Update File: a.py\n@@\n-one\n+1\n*** Update File: {second}\n@@\n-two\n+2\n"
    result = tools("Edit", patch=f"*** Begin Patch\n{hunks}*** End Patch")
    assert result.status is CallStatus.ERROR and "twice in the patch" in result.content
    assert (tools.root / "a.py").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("target", [".env", "sub/.env.local", "id_rsa"])
def test_a_link_that_leads_to_a_secret_that_is_not_there_yet_is_not_written(tools: Caller, target: str) -> None:
    (tools.root / "sub").mkdir(exist_ok=True)
    (tools.root / "lnk").symlink_to(target)
    for tool, arguments in (("Write", {"file_path": "lnk"}), ("fs_write_file", {"path": "lnk"})):
        result = tools(tool, **arguments, content="x")
        assert result.status is not CallStatus.OK, tool
    assert not (tools.root / target).exists()
