"""A secret file may be looked for by a command that does not open it; a folder may be made that holds nothing yet."""

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Decision, Sandbox, Terms, Verdict, decide
from quintet.domain.shell.judge import with_lines

GRAMMAR = BashGrammar()
BASH = BY_NAME["bash"]


def decided(line: str, sandbox: Sandbox = Sandbox.BWRAP, links: dict[str, str] | None = None) -> Decision:
    leads_to = (lambda path: links.get(path, path)) if links is not None else None
    touch, lines = with_lines(BASH.touch({"command": line, "exec_dir": ""}), GRAMMAR.parse, leads_to)
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
    return decide(BASH, touch, axes, Terms(root="/project", person=True, sandbox=sandbox), line, lines)


LOOKS = [
    "ls -la .env",
    "stat .env",
    "test -f .env",
    "[ -f .env ] && echo there",
    "if [ -e .env ]; then echo x; fi",
    "git check-ignore .env",
    "git check-ignore -v .env config/prod.env",
    "cd sub && ls .env",
    "ls -l .env && cat README.md",
]
OPENS = [
    "cat .env",
    "ls .env; cat .env",
    "[ -f .env ] && cat .env",
    "ls $(cat .env)",
    "ls -l < .env",
    "stat .env | cat - .env",
    "git check-ignore .env && git show HEAD:.env",
    "file .env",
    "wc -l .env",
    "cp .env x",
    "ls .ssh",
    "stat .ssh/id_rsa",
    "ls /home/ada/.env",
    "ls ../.env",
    "test -f .env && . ./.env",
    "xargs cat < .env",
    "find . -name .env -exec cat .env {} +; ls .env",
]


@pytest.mark.parametrize("line", LOOKS)
def test_a_secret_file_may_be_looked_for(line: str) -> None:
    assert decided(line).verdict is Verdict.ALLOW, decided(line).reason


@pytest.mark.parametrize("line", OPENS)
def test_it_is_not_opened_whatever_else_looks_for_it(line: str) -> None:
    assert decided(line).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
def test_without_a_whole_sandbox_a_link_to_it_is_not_opened_either(sandbox: Sandbox) -> None:
    assert decided("ls .env", sandbox, {}).verdict is Verdict.ALLOW
    assert decided("ls .env; cat x", sandbox, {"x": ".env"}).verdict is Verdict.DENY
    assert decided("ls x", sandbox, {"x": ".env"}).verdict is Verdict.ALLOW


def test_the_refusal_says_what_to_do() -> None:
    settings = 'if it contains no secrets, add not_secrets = [".env"] under [protect] in your settings'
    assert decided("cat .env").reason == f".env is protected: it may contain secrets; {settings}"
    assert decided("cp .env.example .env").reason == (
        f".env is protected: it may contain secrets; write it yourself in a terminal, or {settings}"
    )
    assert decided("cat .ssh/id_rsa").reason.endswith("use it yourself in a terminal")


MAKES = ["mkdir .github", "mkdir docs/mise", "mkdir .config", "mkdir -p a/.github b", "mkdir -m 700 .config", "mkdir x"]
KEPT = [
    *("mkdir .claude", "mkdir .git", "mkdir -p .github/workflows", "mkdir -p .config/mise", "mkdir .quintet/tools"),
    *(
        "cd .config && mkdir mise",
        "mv x .github",
        "cp -r x .github",
        "touch .github",
        "ln -s x .config",
        "mkdir ../.github",
    ),
    *("mkdir .github && cp x .github/workflows/y", "mkdir .config; ln -s /tmp/x .config/git"),
]


@pytest.mark.parametrize("line", MAKES)
def test_a_folder_that_could_hold_what_is_protected_may_be_made(line: str) -> None:
    assert decided(line).verdict is Verdict.ALLOW, decided(line).reason


@pytest.mark.parametrize("line", KEPT)
def test_what_is_protected_itself_may_not(line: str) -> None:
    assert decided(line).verdict is not Verdict.ALLOW
