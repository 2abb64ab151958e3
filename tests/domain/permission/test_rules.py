"""The user's rules: which calls a pattern is about."""

import json

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Terms, Verdict, decide
from quintet.domain.permission.rules import Rule, subject_of
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

NO_PUSH = Rule("rule-1", "deny", "bash", "git push*")


def verdict(line: str) -> Verdict:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    touch, lines = with_lines(Touch(frozenset(), lines=(line,)), BashGrammar().parse)
    terms = Terms("/project", True, Sandbox.BWRAP, rules=(NO_PUSH,))
    return decide(BY_NAME["bash"], touch, axes, terms, line, lines).verdict


@pytest.mark.parametrize(
    "line",
    [
        "git push",
        "git push --force origin main",
        "true; git push",
        "make && git push",
        "(cd sub; git push)",
        "echo $(git push)",
        "/usr/bin/git push",
        "timeout 5 git push",
        "echo main | xargs git push origin",
        "g=git; $g push",
        "git -C elsewhere push",
        "git --no-pager push origin",
        "git -c color.ui=never -C elsewhere push",
        "git --git-dir=elsewhere/.git push",
    ],
)
def test_a_deny_rule_holds_for_a_command_wherever_it_stands_in_a_line(line: str) -> None:
    assert verdict(line) is Verdict.DENY


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "echo git push",
        "git log --grep='git push'",
        "git commit -m 'git push it'",
        "git --no-pager log push",
    ],
)
def test_a_deny_rule_is_about_commands_not_about_words(line: str) -> None:
    assert verdict(line) is Verdict.ALLOW


# ── tools of servers


def decision(tool: str, pattern: str, *, work_mode: WorkMode = WorkMode.BUILD, said: str = "allow") -> Verdict:
    """On a call of github:list_issues, by a rule for this tool and pattern."""
    spec = BY_NAME["mcp_tool"]
    call = spec.bind(json.dumps({"command": "call_tool", "server": "github", "tool_name": "list_issues"}))
    rule = Rule("rule-1", "deny" if said == "deny" else "allow", tool, pattern, (Effect.NETWORK,))
    axes = Axes(work_mode, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    return decide(
        spec, spec.touch(call), axes, Terms("/project", True, Sandbox.BWRAP, (rule,)), subject_of(call)
    ).verdict


@pytest.mark.everything
@pytest.mark.parametrize(
    ("tool", "pattern", "verdict"),
    [
        ("mcp_tool", "github:list_issues", Verdict.ALLOW),
        ("mcp_tool", "github:list_*", Verdict.ALLOW),
        ("mcp_tool", "github:create_issue", Verdict.ASK),
        ("mcp_tool", "gitlab:list_issues", Verdict.ASK),
        ("mcp_tool", "github:*", Verdict.ALLOW),
        ("mcp_tool", "github:", Verdict.ASK),
        ("mcp_tool", "*:list_issues", Verdict.ASK),
        ("mcp_tool", "*:*", Verdict.ASK),
        ("mcp_tool", "*", Verdict.ASK),
        ("*", "github:list_issues", Verdict.ASK),
        ("*", "*", Verdict.ASK),
    ],
)
def test_a_servers_tool_is_asked_about_at_every_profile_unless_a_rule_names_server_and_tool(
    tool: str, pattern: str, verdict: Verdict
) -> None:
    assert decision(tool, pattern) is verdict


@pytest.mark.everything
def test_no_rule_lifts_the_question_about_a_servers_tool_in_chat() -> None:
    assert decision("mcp_tool", "github:list_issues", work_mode=WorkMode.CHAT) is Verdict.ASK


@pytest.mark.everything
@pytest.mark.parametrize(("tool", "pattern"), [("mcp_tool", "github:*"), ("mcp_tool", "*"), ("*", "*")])
def test_a_deny_rule_for_servers_tools_may_be_as_wide_as_it_likes(tool: str, pattern: str) -> None:
    assert decision(tool, pattern, said="deny") is Verdict.DENY


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"file_path": "a.py", "content": "x"}, "a.py"),
        ({"repo_path": ".", "branch_name": "main"}, ". branch_name=main"),
        ({"repo_path": ".", "files": ["a.txt", "b"]}, ". files=a.txt b"),
        ({"source": "a.txt", "destination": "Makefile"}, "a.txt destination=Makefile"),
        ({"target": "production", "wait": False}, "target=production"),
        ({}, ""),
    ],
)
def test_what_a_call_is_about_names_all_that_it_would_do(arguments: dict[str, object], subject: str) -> None:
    """A question shows it, and an "always" is for that and nothing else."""
    assert subject_of(arguments) == subject
