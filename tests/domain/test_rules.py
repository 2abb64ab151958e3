"""The user's rules: which calls a pattern is about."""

import pytest

from quintet.adapters.shell_grammar import BashGrammar
from quintet.domain.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.gate import Sandbox, Terms, Verdict, decide
from quintet.domain.rules import Rule
from quintet.domain.shell_effects import with_lines
from quintet.domain.toolspec import Touch
from quintet.tools.registry import BY_NAME

NO_PUSH = Rule("rule-1", "deny", "bash", "git push*")


def verdict(line: str) -> Verdict:
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    touch = with_lines(Touch(frozenset(), lines=(line,)), BashGrammar().parse)
    terms = Terms("/project", True, Sandbox.BWRAP, rules=(NO_PUSH,))
    return decide(BY_NAME["bash"], touch, axes, terms, line).verdict


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
