"""The gate equals the oracle, tool by tool, over every combination of the axes."""

import ast
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials import axes as dials
from quintet.domain.dials.axes import Axes
from quintet.domain.permission.effects import Effect, JudgedLines
from quintet.domain.permission.gate import Sandbox, Terms, decide, visible
from quintet.domain.permission.rules import Rule
from quintet.domain.turn.tool_spec import Touch
from tests.domain import oracle

pytestmark = pytest.mark.everything  # a row of the oracle for each of all tools

ROOT = "/project"
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}

# A call of each tool that stays inside the project and away from what is protected.
ARGUMENTS: dict[str, dict[str, object]] = {
    "menu_list": {},
    "menu_enter": {"mode": "swe"},
    "menu_exit": {},
    "complete": {"final_answer": "done"},
    "think": {"content": "hm"},
    "message_user": {"message": "hello"},
    "request_tools": {"category": "git"},
    "wait": {"seconds": 1},
    "bash_output": {"bash_id": "1"},
    "kill_shell": {"shell_id": "1"},
    "TodoCreate": {"todos": [{"content": "write it", "criteria": []}]},
    "TodoRead": {},
    "list_secrets": {},
    "use_skill": {"name": "release-notes"},
    "find_skills": {"words": "release"},
    "check_skill_result": {"name": "release-notes", "result": {}},
    "browser_navigate": {"url": "https://example.com/"},
    "browser_restart": {"url": "https://example.com/"},
    "browser_view": {},
    "browser_scroll": {"direction": "down"},
    "browser_screenshot": {},
    "browser_move_mouse": {"element_id": 3},
    "browser_set_mobile": {"enabled": True},
    "recording_start": {},
    "recording_stop": {},
    "browser_console": {"content": "1 + 1"},
    "browser_click": {"element_id": 3},
    "browser_type": {"content": "tea"},
    "browser_press_key": {"content": "Enter"},
    "browser_select_option": {"index": 0},
    "browser_select_file": {"content": "src/a.py"},
    "git_view_pr": {"repo": "ada/tea", "pull_number": 7},
    "git_pr_checks": {"repo": "ada/tea", "pull_number": 7},
    "git_ci_job_logs": {"repo": "ada/tea", "job_id": 1},
    "list_repos": {},
    "git_create_pr": {"repo": "ada/tea", "title": "Tea", "head_branch": "tea", "base_branch": "main"},
    "git_update_pr_description": {"repo": "ada/tea", "pull_number": 7, "body": "Tea"},
    "git_comment_on_pr": {"repo": "ada/tea", "pull_number": 7, "body": "Tea", "path": "tea.py"},
    "web_search": {"query": "tea"},
    "web_get_contents": {"urls": ["https://example.com/"]},
    "TodoStart": {"id": "1"},
    "TodoClaim": {"id": "1", "explanation": "it is written and tested"},
    "advance_phase": {"values": {}},
    "return_to_fix_phase": {"reason": "a test fails"},
    "get_phase_status": {},
    "analyze_test_failure": {"test_name": "tests/test_a.py::test_b"},
    "lsp_tool": {"command": "hover_symbol", "path": "src/a.py"},
    "ask_smart_friend": {"question": "why?"},
    "visual_checker": {"question": "what is it?", "images": ["a.png"]},
    "librarian": {"action": "list"},
    "librarian_search": {"query": "a"},
    "Read": {"file_path": "src/a.py"},
    "Edit": {"file_path": "src/a.py", "old_string": "a", "new_string": "b"},
    "find_symbol": {"name": "a"},
    "find_references": {"name": "a"},
    "search_code": {"query": "a"},
    "repo_map": {},
    "recall": {"query": "a"},
    "run_helpers": {"helpers": [{"role": "tester", "task": "add a test", "writes": True}]},
    "lsp_edit": {"command": "rename", "path": "src/a.py", "symbol": "a", "new_name": "b"},
    "Write": {"file_path": "src/a.py", "content": "a"},
    "grep": {"pattern": "a", "path": "src"},
    "glob": {"pattern": "*.py"},
    "git_status": {},
    "git_diff_unstaged": {},
    "git_diff_staged": {},
    "git_diff": {"target": "main"},
    "git_commit": {"message": "Add a"},
    "git_add": {"files": ["src/a.py"]},
    "git_reset": {},
    "git_log": {},
    "git_create_branch": {"branch_name": "topic"},
    "git_checkout": {"branch_name": "topic"},
    "git_show": {"revision": "HEAD"},
    "git_branch_list": {},
    "fs_read_file": {"path": "src/a.py"},
    "fs_write_file": {"path": "src/a.py", "content": "a"},
    "fs_list_directory": {"path": "src"},
    "fs_create_directory": {"path": "src/new"},
    "fs_delete": {"path": "src/a.py"},
    "fs_move": {"source": "src/a.py", "destination": "src/b.py"},
    "fs_file_info": {"path": "src/a.py"},
    "mcp_tool": {"command": "call_tool", "server": "github", "tool_name": "list_issues"},
}

# Paths that no call may touch unasked, put in place of every path a tool takes; the guarded ones where it writes.
OUTSIDE = ("/etc/passwd", "../sibling/a", "src/../../a")
SECRETS = (".env", "conf/key.pem", "keys/id_rsa", ".netrc", ".aws/credentials")
GUARDED = (".git/hooks/pre-commit", ".git", ".quintet/settings.toml", ".quintet/tools/a.py")
PATHS = ("path", "file_path", "source", "destination", "repo_path")

EVERY = list(
    itertools.product(oracle.WORK_MODES, oracle.RUN_CONTROLS, oracle.PROFILES, oracle.MODEL_MODES, oracle.SURFACES)
)
AXES = {
    combination: Axes(
        dials.WorkMode(combination[0]),
        dials.RunControl(combination[1]),
        dials.PermissionProfile(combination[2]),
        dials.ModelMode(combination[3]),
        dials.Surface(combination[4]),
    )
    for combination in EVERY
}
PLAIN = [combination for combination in EVERY if combination[3:] == ("smart", "tui")]


def touch_of(tool: str, **changed: object) -> Touch:
    spec = BY_NAME[tool]
    return spec.touch(spec.bind(json.dumps({**ARGUMENTS[tool], **changed})))


def verdict(tool: str, touch: Touch, combination: oracle.Dials, sandbox: str, person: bool, plain: bool = False) -> str:
    terms = Terms(ROOT, person, Sandbox(sandbox))
    decided = decide(BY_NAME[tool], touch, AXES[combination], terms, lines=JudgedLines(plain=plain))
    return str(decided.verdict)


def surroundings(combinations: Iterable[oracle.Dials]) -> Iterator[tuple[oracle.Dials, str, bool]]:
    return itertools.product(combinations, oracle.SANDBOXES, (True, False))


def differences(
    tool: str, touch: Touch, combinations: Iterable[oracle.Dials], *, artifact: bool = False, plain: bool = False
) -> str:
    """Where gate and oracle differ, empty if nowhere."""
    effects = frozenset(str(effect) for effect in touch.effects)
    found: list[str] = []
    for combination, sandbox, person in surroundings(combinations):
        due = oracle.expected(tool, effects, combination, sandbox, person, artifact=artifact, plain=plain)
        got = verdict(tool, touch, combination, sandbox, person, plain)
        if got != due:
            place = " ".join(combination[:3])
            found.append(f"{'+'.join(sorted(effects))} {place} sandbox={sandbox}: {got}, should be {due}")
    return "\n".join([f"{tool}: {len(found)} differences", *dict.fromkeys(found)]) if found else ""


def test_the_oracle_knows_nothing_of_the_program() -> None:
    tree = ast.parse(Path(oracle.__file__).read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_s3_2_the_oracle_covers_all_864_combinations() -> None:
    assert len(AXES) == 864 == len(set(AXES.values()))


def test_every_tool_has_its_row_written_by_hand() -> None:
    declared = {name: (str(spec.profile), {str(e) for e in spec.effects}) for name, spec in BY_NAME.items()}
    assert {name: (least, set(effects.split())) for name, (least, effects) in oracle.TOOLS.items()} == declared
    assert set(ARGUMENTS) == set(BY_NAME) - oracle.SHELL_LINES


@pytest.mark.parametrize("tool", sorted(ARGUMENTS))
def test_s3_5_the_gate_equals_the_oracle(tool: str) -> None:
    found = differences(tool, touch_of(tool), EVERY)
    assert not found, found


@pytest.mark.parametrize("effect", oracle.TOOLS["bash"][1].split())
def test_s3_5_the_gate_equals_the_oracle_for_a_shell_line_of_each_effect(effect: str) -> None:
    found = differences("bash", Touch(frozenset({Effect(effect)})), EVERY)
    assert not found, found


def test_s3_5_the_gate_equals_the_oracle_for_a_shell_line_that_plainly_reads() -> None:
    found = differences("bash", Touch(frozenset({Effect.READ})), EVERY, plain=True)
    assert not found, found


def test_s3_5_the_gate_equals_the_oracle_for_a_shell_line_of_two_effects() -> None:
    """A part of a line is judged beside the rest: an unknown program next to a download has a network."""
    pairs = itertools.combinations(oracle.TOOLS["bash"][1].split(), 2)
    found = [differences("bash", Touch(frozenset(map(Effect, pair))), PLAIN) for pair in pairs]
    assert not any(found), "\n".join(filter(None, found))


FLAGS = ("opaque", "deletes", "destroys", "kept", "denied")
BESIDE = ("", "read", "edit", "build", "commit", "install", "network", "outside", "publish")


@pytest.mark.parametrize("beside", BESIDE)
def test_the_gate_equals_the_oracle_for_what_a_sandbox_contains_or_a_snapshot_brings_back(beside: str) -> None:
    deny = Rule("r-1", "deny", "bash", "shutdown *")
    effects = frozenset({"destroy", *filter(None, [beside])})
    touch = Touch(frozenset(map(Effect, effects)))
    dials = [one for one in PLAIN if one[1] != "manual" or one[0] == "build"]
    for values in itertools.product((False, True), repeat=len(FLAGS)):
        flags = dict(zip(FLAGS, values, strict=True))
        lines = JudgedLines(
            opaque=flags["opaque"],
            deletes=("x",) if flags["deletes"] else (),
            destroys=flags["destroys"],
            kept=flags["kept"],
        )
        rules = (deny,) if flags["denied"] else ()
        for combination, sandbox in itertools.product(dials, oracle.SANDBOXES):
            meant = oracle.settled(effects, sandbox, **flags)
            due = oracle.expected("bash", meant, combination, sandbox, True)
            terms = Terms(ROOT, True, Sandbox(sandbox), rules)
            got = decide(BY_NAME["bash"], touch, AXES[combination], terms, lines=lines)
            assert (str(got.verdict), {str(e) for e in got.effects}) == (due, set(meant)), (combination, sandbox, flags)
            assert {str(e) for e in got.grant.effects} <= meant


@pytest.mark.parametrize("kept", [True, False])
def test_deleting_by_a_file_tool_is_an_edit_where_the_file_was_kept(kept: bool) -> None:
    for combination, sandbox in itertools.product(PLAIN, oracle.SANDBOXES):
        meant = frozenset({"edit"}) if kept and sandbox == "bwrap" else frozenset({"destroy"})
        due = oracle.expected("fs_delete", meant, combination, sandbox, True)
        touch = touch_of("fs_delete")
        got = decide(
            BY_NAME["fs_delete"],
            touch,
            AXES[combination],
            Terms(ROOT, True, Sandbox(sandbox)),
            lines=JudgedLines(kept=kept),
        )
        assert str(got.verdict) == due, (combination, sandbox)


@pytest.mark.parametrize("folder", ["specs", "docs/specs"])
def test_s3_3_2_plan_writes_specs_and_the_other_reading_modes_do_not(folder: str) -> None:
    touch = touch_of("Write", file_path=f"{folder}/search.md")
    plan = [combination for combination in EVERY if combination[0] == "plan"]
    found = differences("Write", touch, plan, artifact=True)
    others = [combination for combination in EVERY if combination[0] in ("review", "research")]
    found += differences("Write", touch, others)
    assert not found, found


@pytest.mark.parametrize("tool", sorted(oracle.TOOLS))
def test_s3_5_1_what_is_hidden_is_refused_and_what_is_shown_is_not(tool: str) -> None:
    nothing = Touch(frozenset())  # so that only being hidden can be the reason
    for combination in EVERY:
        shown = oracle.shown(tool, combination)
        assert visible(BY_NAME[tool], AXES[combination]) == shown
        assert verdict(tool, nothing, combination, "bwrap", True) == ("allow" if shown else "deny")


@pytest.mark.parametrize("tool", sorted(ARGUMENTS))
def test_arguments_never_loosen_what_the_declared_effects_allow(tool: str) -> None:
    spec = BY_NAME[tool]
    usual, hostile = touch_of(tool), hostile_touches(tool)
    assert all(touch.effects <= spec.effects for touch in (usual, *hostile))
    for combination in PLAIN:
        bare = verdict(tool, Touch(spec.effects), combination, "bwrap", True)
        assert STRICTNESS[verdict(tool, usual, combination, "bwrap", True)] >= STRICTNESS[bare]
        for touch in hostile:  # reaches outside, or to what is protected: never unasked
            got = verdict(tool, touch, combination, "bwrap", True)
            assert STRICTNESS[got] >= max(STRICTNESS[bare], STRICTNESS["ask"]), (touch, combination)


def test_a_secret_is_not_put_where_a_diff_would_show_it() -> None:
    for secret in SECRETS:
        touch = touch_of("git_add", files=[secret])
        assert verdict("git_add", touch, ("build", "autonomous", "trusted", "smart", "tui"), "bwrap", True) == "deny"


def hostile_touches(tool: str) -> list[Touch]:
    spec = BY_NAME[tool]
    writes = spec.effects & {Effect.EDIT, Effect.DESTROY}
    taken = [name for name in PATHS if name in spec.schema()["properties"]]
    paths = {name: OUTSIDE + SECRETS + (GUARDED if writes and name != "repo_path" else ()) for name in taken}
    return [touch_of(tool, **{name: path}) for name in taken for path in paths[name]]
