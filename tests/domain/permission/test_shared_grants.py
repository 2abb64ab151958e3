"""One line, one grant: what needs a network or the repository shares it with nothing but plain reading."""

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Decision, Sandbox, Terms, Verdict, decide
from quintet.domain.permission.rules import Rule, exactly
from quintet.domain.shell.judge import with_lines

GRAMMAR = BashGrammar()
BASH = BY_NAME["bash"]


def decided(line: str, profile: str = "trusted", rules: tuple[Rule, ...] = ()) -> Decision:
    touch, lines = with_lines(BASH.touch({"command": line, "exec_dir": ""}), GRAMMAR.parse)
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile(profile))
    terms = Terms(root="/project", person=True, sandbox=Sandbox.BWRAP, rules=rules)
    return decide(BASH, touch, axes, terms, line, lines)


APART = [
    "pip install -q --no-index ./nothing; make exfil",
    "pip install x && pytest -q",
    "npm ci && npm run build",
    "npm install; node build.js",
    "cargo fetch && cargo test",
    "cargo add x | sh x.sh",
    "uv sync && python x.py",
    "uv run --with x pytest",
    "poetry install & ./x",
    "pip install x && ./cp a b",
    "pip install x && sed -i s/a/b/ f",
    "pip install x && cp a b && make",
    "cp() { make; }; pip install x && cp a b",
    "pip install x && git commit -m x",
    "pip install x && sed 's/a/b/e' f",
    "pip install x && git log",
    "pip install x && jq . a.json",
    "pip install x && awk 1 f",
    "pip install x && find . -name x | xargs wc -l",
    "pip install $(python x.py)",
    "timeout 5 pip install x && make",
    "if pip install x; then make; fi",
    "for x in a b; do pip install $x; make $x; done",
    "f() { make; }; pip install x; f",
    "git add x && python3 s2.py",
    "git init -q . && git add a.txt && python3 plant2.py",
    "git add . && make",
    "git commit -am x && ./deploy.sh",
    "git add x && cp y z",
    "git add x && echo x > f",
    "git add x && jq . f",
    "git checkout -b x; pytest",
    "git stash && bash x.sh",
    "(git add x); (python x.py)",
    "python x.py && git add x",
    "git add $(./list)",
    "./git add x && ls",
    "pip install x & wait -p 'a[$(touch y)]'",
    "pip install x && sort --compress-program=./x -S1 a",
    "pip install x && rg --pre ./x y",
    "pip install x && grep -r KEY .",
    "x=$(cat f); test $x; git add y",  # `-v` and a name that is run as an expression
    "x=$(cat f); [ -v $x ]; pip install y",
    'x=$(cat f); printf "$x" y; pip install y',
]
TOGETHER = [
    "git add -A && git commit -m x",
    "git add x && git status && git log -1",
    "git add x; git diff --cached | head -20",
    "cd sub && npm ci",
    "pip install x && pip list | grep x",
    "pip install a && pip install b",
    "pip install x | tail -5",
    "pip install x 2>&1 | tail -n 5",
    "pip install x >/dev/null && echo ok",
    "[ -d node_modules ] || npm ci",
    "for x in a b; do pip install $x; done",
    "set -e; npm ci; ls -la; cat package.json",
    "git stash && git stash pop",
    "git add x && echo done",
    "make && pytest -q && python x.py",
    "mkdir -p a && cp b a && make",
    "uv run --no-sync pytest",
    "uv run pytest",  # without a network: what is not installed fails
    "npx tsc --noEmit",
    "pip install x > log.txt",  # changes a file, and can do nothing else with a network
    "pip install x && cp a b",
    "mkdir -p a && touch a/b && npm ci > npm.log 2>&1",
]


@pytest.mark.parametrize("line", APART)
def test_what_needs_more_than_the_project_does_not_share_it(line: str) -> None:
    decision = decided(line)
    assert decision.verdict is Verdict.ASK
    assert "run them separately" in decision.reason or line in ALONE or "together with" in decision.reason, (
        decision.reason
    )


@pytest.mark.parametrize("line", TOGETHER)
def test_what_needs_the_same_goes_together_with_plain_reading_beside_it(line: str) -> None:
    decision = decided(line)
    assert decision.verdict is Verdict.ALLOW, decision.reason


@pytest.mark.parametrize("line", ["curl https://example.com && make", "git pull && npm test", "git fetch; ./x"])
def test_a_network_is_shared_with_nothing_even_where_it_is_unasked(line: str) -> None:
    assert decided(line, "unrestricted").verdict is Verdict.ASK


@pytest.mark.parametrize("line", ["git pull", "git fetch && git log -1", "curl https://example.com | head"])
def test_alone_it_goes_where_the_network_is_unasked(line: str) -> None:
    assert decided(line, "unrestricted").verdict is Verdict.ALLOW


ALONE = {
    ".venv/bin/python -m pip install -e .": "pip installs, and it also runs .venv/bin/python: ",
    "npx -y jest": "npx installs, and it also runs jest: ",
    "timeout 5 npx -y jest": "npx installs, and it also runs jest: ",
    "uv run --with x pytest": "uv installs, and it also runs pytest: ",
}


@pytest.mark.parametrize("line", ALONE)
def test_of_one_command_nobody_is_told_to_run_it_apart(line: str) -> None:
    decision = decided(line)
    assert decision.verdict is Verdict.ASK
    assert decision.reason == f"{ALONE[line]}it could send anything over the network"


@pytest.mark.parametrize(
    "line", ["npx -y jest && make", "make; npx -y jest", "pip install x > log.txt; make", "make\nnpx x"]
)
def test_of_several_the_others_are_run_apart(line: str) -> None:
    reason = decided(line).reason
    assert "make runs in the same line" in reason and reason.endswith("run them separately")


def test_the_reason_says_what_they_share() -> None:
    assert decided("pip install . && make exfil").reason == (
        "pip installs, and make runs in the same line: "
        "together they could send anything over the network; run them separately"
    )
    assert decided("git add x && python3 s2.py").reason == (
        "git changes the repository, and python runs in the same line: "
        "together they could change what git runs, because .git is writable; run them separately"
    )


def test_a_question_that_is_asked_anyway_says_it_too() -> None:
    reason = decided("pip install . && make", "normal").reason
    assert reason.startswith("installing needs approval in profile normal") and "run them separately" in reason


def test_a_rule_for_this_very_line_lifts_it() -> None:
    line = "npm ci && npm run build"
    rule = Rule("r1", "allow", "bash", exactly(line), (Effect.BUILD, Effect.INSTALL))
    assert decided(line, rules=(rule,)).verdict is Verdict.ALLOW
    assert decided(f"{line} && ./x", rules=(rule,)).verdict is Verdict.ASK
