"""Which beginning of a command may stand in a rule, and what a rule of it holds for."""

import pytest

from quintet.domain.permission.prefixes import begins_with, may_stand, offered_prefix, prefix_of
from quintet.domain.shell.interpreters import INTERPRETERS
from quintet.domain.shell.wrappers import RUNNERS, WRAPPERS


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("pytest", "pytest"),
        ("pytest -q tests/a.py", "pytest"),
        ("ruff check .", "ruff"),
        ("npm test", "npm test"),
        ("npm run build -- --watch", "npm run build"),
        ("npm run lint:fix", "npm run lint:fix"),
        ("pnpm run test", "pnpm run test"),
        ("cargo test --all", "cargo test"),
        ("go test ./...", "go test"),
        ("make test", "make test"),
        ("make test -j4 -k", "make test"),
        ("scripts/check --all", "scripts/check"),
        ("./gradlew test", "./gradlew"),
        (".venv/bin/pytest -q", ".venv/bin/pytest"),
        ("mkdir -p build", "mkdir"),
    ],
)
def test_what_is_offered(line: str, prefix: str) -> None:
    assert offered_prefix(line.split()) == tuple(prefix.split())
    assert may_stand(prefix.split()) and begins_with(line.split(), prefix.split())


OTHERS = [
    *(f"{name} x" for name in sorted(INTERPRETERS)),
    *(f"{name} x" for name in sorted(WRAPPERS)),
    *(f"{name} {runs} x" for name, runs in sorted(RUNNERS)),
    "python3 -m pytest",
    "python3.11 x.py",
    "env pytest",
    "xargs pytest",
    "parallel pytest",
    "watch pytest",
    "find . -delete",
    "fd -x rm",
    "git status",
    "git -C x push",
    "sed -i s/a/b/ x",
    "awk 1 x",
    "npx jest",
    "npm",
    "npm run",
    "npm run -- build",
    "npm exec x",
    "npm x y",
    "npm --prefix ../x test",
    "npm run ../x",
    "yarn node x",
    "yarn bash",
    "pnpm bash",
    "bun run bash",
    "go run ./x",
    "cargo run",
    "cargo +nightly test",
    "uv run pytest",
    "make",
    "make -C ../x test",
    "make -f x.mk test",
    "make test deploy",
    "make test SHELL=/tmp/x",
    "make test --eval=x",
    "make test -f other.mk",
    "/usr/bin/pytest",
    "/project/scripts/check",
    "../scripts/check",
    "scripts/../../x/y",
    "~/bin/x",
    ".git/hooks/x",
    "./bash -c x",
    "bin/python3.11 x.py",
    "tools/env x",
    "unknown-program x",
    "",
]


@pytest.mark.parametrize("line", OTHERS)
def test_what_is_never_offered_nor_taken(line: str) -> None:
    words = line.split()
    assert prefix_of(words) == () == offered_prefix(words) and not may_stand(words)
    assert not any(begins_with(words, words[:many]) for many in range(1, len(words) + 1))


def test_deleting_is_offered_as_the_line_it_is_and_taken_by_hand() -> None:
    assert offered_prefix(["rm", "build"]) == () and may_stand(["rm"]) and begins_with(["rm", "x"], ["rm"])


@pytest.mark.parametrize(
    ("prefix", "line", "holds"),
    [
        ("pytest", "pytest-evil", False),
        ("pytest", "pytest", True),
        ("pytest tests", "pytest", False),
        ("pytest tests", "pytest tests -q", True),
        ("npm test", "npm run build", False),
        ("npm run build", "npm run build-evil", False),
        ("npm", "npm test", False),
        ("npm run", "npm run build", False),
        ("make", "make test", False),
        ("make test", "make test deploy", False),
        ("make test", "make test -C x", False),
    ],
)
def test_a_rule_holds_for_its_words_and_no_others(prefix: str, line: str, holds: bool) -> None:
    assert begins_with(line.split(), prefix.split()) is holds
