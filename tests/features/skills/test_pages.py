"""Pages of skills: what is read of them, what is noted, what the standard's own validator would say."""

from pathlib import Path

import pytest

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.skills.use import LinePattern
from quintet.features.skills.check_skill import at_path, checked
from quintet.features.skills.contents import SkillContents, look
from quintet.features.skills.filled import filled, shell_lines
from quintet.features.skills.page import parted, read_page
from quintet.features.skills.skill import Skill, SkillKind, narrowed
from tests.features.skills.made import write_skill


def page(text: str, beside: str = "one", kind: SkillKind = SkillKind.SKILL) -> Skill:
    return read_page(text.encode(), file=f"/s/{beside}/SKILL.md", folder=f"/s/{beside}", beside=beside, kind=kind)


def test_s3_10_2_every_field_of_both_conventions_is_read() -> None:
    skill = page(
        "---\nname: one\ndescription: >\n  Use when\n  two.\nlicense: MIT\ncompatibility: git\n"
        "metadata:\n  author: ada\n"
        'allowed-tools: Read Bash(git commit:*)\nuser-invocable: true\nmodel-invocable: "false"\n'
        "side-effects: code-edits\npermission-profile: trusted\n---\nbody\n"
    )
    assert (skill.name, skill.description, skill.facts.license, skill.facts.compatibility) == (
        "one",
        "Use when two.",
        "MIT",
        "git",
    )
    assert (skill.facts.metadata, skill.allowed_tools) == ({"author": "ada"}, ("Read", "Bash(git commit:*)"))
    assert (skill.by_user, skill.by_model, skill.side_effects) == (True, False, "code-edits")
    assert (skill.profile, skill.notes, skill.problem) == (PermissionProfile.TRUSTED, (), "")


def test_s3_10_3_production_mutation_is_never_for_a_model_whatever_the_page_says() -> None:
    skill = page("---\nname: one\ndescription: d\nside-effects: production-mutation\nmodel-invocable: true\n---\nb\n")
    assert skill.by_user and not skill.by_model


def test_unknown_keys_are_kept_and_noted_and_never_an_error() -> None:
    skill = page("---\nname: one\ndescription: d\nversion: 3\nhooks: {}\ncolour: blue\n---\nb\n")
    assert skill.problem == "" and skill.unknown == ("version", "colour")
    assert skill.notes == ("hooks: not followed here", "version and colour: not known here, kept")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nname: one\ndescription: d\npermission-profile: root\n---\nb", 'permission-profile "root"'),
        ("---\nname: [\n---\nb", "not valid YAML"),
        ("---\nname: one\ndescription: d\n", "not closed"),
    ],
)
def test_what_cannot_be_used_says_why(text: str, problem: str) -> None:
    assert problem in page(text).problem


def test_a_page_without_a_description_is_for_the_user_alone() -> None:
    skill = page("# Brew tea\n\nBoil it.")
    assert (skill.name, skill.description, skill.by_user, skill.by_model) == ("one", "Brew tea", True, False)
    assert "it has no description: only you can use it" in skill.notes


def test_plain_frontmatter_reads_as_yaml_does() -> None:
    plain = b"---\nname: one\ndescription: a plain text, with commas\n---\nbody\n"
    quoted = b"---\nname: 'one'\ndescription: \"a plain text, with commas\"\n---\nbody\n"
    assert parted(plain) == parted(quoted)
    assert parted(b"---\nname: one\ndescription: http://a # not this\n---\n")[0]["description"] == "http://a"


def test_a_command_needs_no_fields() -> None:
    skill = page("# Tidy the imports\n\nof $1", "tidy", SkillKind.COMMAND)
    assert (skill.name, skill.description, skill.problem) == ("tidy", "Tidy the imports", "")


@pytest.mark.parametrize(
    ("words", "tools", "lines", "unknown"),
    [
        (None, None, None, ()),
        (("Read", "Write"), ("Read", "Write"), None, ()),
        (("*",), None, None, ()),
        (("Bash",), ("bash", "bash_output", "kill_shell", "wait"), None, ()),
        (("Bash(*)",), ("bash", "bash_output", "kill_shell", "wait"), None, ()),
        (
            ("Bash(git:*)", "Bash(ls -l)"),
            ("bash", "bash_output", "kill_shell", "wait"),
            (LinePattern("git", True), LinePattern("ls -l")),
            (),
        ),
        (("mcp__github__list", "Mystery"), ("mcp_tool",), None, ("Mystery",)),
        (("Task", "AskUserQuestion"), ("run_helpers", "message_user"), None, ()),
        ((), (), None, ()),
    ],
)
def test_tools_by_the_names_that_others_have_for_them(
    words: tuple[str, ...] | None, tools: object, lines: object, unknown: object
) -> None:
    found = narrowed(words)
    assert (found.tools, found.lines, found.unknown) == (tools, lines, unknown)


def test_when_to_use_it_is_part_of_what_a_skill_is_for() -> None:
    skill = page("---\nname: one\ndescription: Makes tea.\nwhen_to_use: When tea\n  is asked for.\n---\n")
    assert skill.description == "Makes tea. When tea is asked for." and skill.notes == () and skill.by_model
    assert page("---\nname: one\nwhen_to_use: When tea is asked for.\n---\n").by_model


def test_a_name_that_cannot_be_typed_is_said_with_what_can() -> None:
    assert (
        "a letter or digit, then letters, digits, - _ . and :" in page("---\ndescription: d\n---\n", "-2chat").problem
    )


def test_arguments_are_put_in_once_and_as_they_are() -> None:
    assert filled("fix $1 in $2: $ARGUMENTS", "'a b' c") == "fix a b in c: 'a b' c"
    assert filled("say $ARGUMENTS", "$1 $(id) `id`") == "say $1 $(id) `id`"
    assert filled("nothing", "x y") == "nothing\n\nArguments: x y"
    assert filled("costs $15, $1x and ${SKILL_ROOT}/a", "", "/s") == "costs $15, $1x and /s/a"
    assert filled("$ARGUMENTS[1] $3", "a b") == "b "
    assert filled("awk '$1 > 500' costs $5,000", "", numbered=False) == "awk '$1 > 500' costs $5,000"
    assert filled("$1 of $ARGUMENTS[1]", "a b", numbered=False) == "$1 of b"
    assert shell_lines("x\n!`git status`\ny") == ("git status",)


def test_check_finds_what_is_wrong_beside_the_page(tmp_path: Path) -> None:
    place = write_skill(
        tmp_path,
        "one",
        body="See [it](references/gone.md).",
        schemas__input_json="{not json",
        schemas__output_json='{"type": "mystery"}',
        mcp_json='{"mcpServers": {"tea": {"command": "tea"}, "a b": {"command": "x"}, "no": {}, "n": {"args": 1}}}',
        **{"evals__case-1__task_md": "do it"},
    )
    found = checked(at_path(str(place / "SKILL.md")))
    assert any("schemas/input.json: not valid JSON" in one for one in found.problems)
    assert any(one.startswith("schemas/output.json:") for one in found.problems)
    assert any("evals/case-1: it has no grader" in one for one in found.problems)
    assert [one.partition(": ")[2][:6] for one in found.problems if one.startswith("mcp.json")] == [
        "a b: i",
        "no: ex",
        "n: wan",
    ]
    assert any("references/gone.md" in one for one in found.notes)


def test_a_hostile_skill_is_looked_at_in_no_time_and_said_to_be_wrong(tmp_path: Path) -> None:
    """Nested without end, and a line whose space a search would go through again and again."""
    place = write_skill(
        tmp_path,
        "one",
        schemas__input_json="[" * 90_000,
        schemas__output_json='{"a":' * 20_000 + "1" + "}" * 20_000,
        schemas__other_json='{"a":' * 70 + "1" + "}" * 70,
        mcp_json="[" * 90_000,
        checklists__a_md="- a" + " " * 190_000 + "b\n",
        checklists__b_md="- [ ] boxed  \n-" + " " * 150_000 + "c\n",
    )
    found = look(str(place))
    assert len(found.problems) == 4 and all("nested more than 60 levels" in one for one in found.problems)
    assert [item[0] for item in found.items] == ["a", "b"] and found.items[1] == "boxed"
    assert not checked(at_path(str(place / "SKILL.md"))).fine
    assert "must be JSON" in SkillContents(schemas={"input": {}}).input_flaw("[" * 90_000)


def test_items_of_checklists_are_those_with_a_box_or_else_all(tmp_path: Path) -> None:
    place = write_skill(tmp_path, "one", checklists__a_md="# A\n- [x] one\n - [ ]\ttwo \n- three\n* [] four\n")
    assert look(str(place)).items == ("one", "two", "four")
    place = write_skill(tmp_path, "two", checklists__a_md="Before:\n\n* one\n  + two\n-three\n")
    assert look(str(place)).items == ("one", "two")


STRICT = {
    "": "---\nname: one\ndescription: d\n---\n",
    "own fields": "---\nname: one\ndescription: d\nuser-invocable: true\nside-effects: none\n---\n",
    "fields that the standard does not have: version": "---\nname: one\ndescription: d\nversion: 2\n---\n",
    "name must be lower case": "---\nname: One\ndescription: d\n---\n",
    "name may have letters, digits and - only": "---\nname: o_ne\ndescription: d\n---\n",
    "the folder one must have the name": "---\nname: two\ndescription: d\n---\n",
    "description has 1025": f"---\nname: one\ndescription: {'d' * 1025}\n---\n",
    "in brackets": "---\nname: one\ndescription: d\nmetadata: {a: b}\n---\n",
    "appears twice": "---\nname: one\nname: one\ndescription: d\n---\n",
    "description must be a text": "---\nname: one\ndescription:\n  - d\n---\n",
    "not closed": "---\nname: one\ndescription: d\n",
    "must begin with": "name: one\n",
}


@pytest.mark.parametrize("wanted", STRICT)
def test_strict_says_what_the_standard_does_not_take(tmp_path: Path, wanted: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/SKILL.md").write_text(STRICT[wanted])
    problems = checked(at_path(str(tmp_path / "one/SKILL.md")), strict=True).problems
    if wanted in ("", "own fields"):
        assert problems == ()
    else:
        assert any(wanted in one for one in problems), problems
