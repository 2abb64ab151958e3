"""Which beginning of a command may stand in a rule: `pytest …`, `npm run build …`, `make test …`. Pure.

The tables are closed: a program that can be told to run another (an interpreter, a wrapper, a runner, git, find) stands
in none of them, and neither does one that is not known. A program with subcommands is named with its subcommand. The
same function says what a question offers, what `quintet rules add` takes and what a rule holds for when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set

# Programs of which everything they do is one thing.
_ALONE = word_set(
    "pytest py.test ruff mypy pyright black isort flake8 pylint bandit tox nox ctest gcc cc g++ c++ clang clang++ "
    "rustc javac scalac kotlinc ghc eslint prettier tsc jest vitest mocha gofmt golangci-lint rustfmt shellcheck shfmt "
    "hadolint yamllint clang-format clang-tidy sphinx-build stylelint biome ty pyrefly rspec rubocop phpunit ava tap "
    "mkdir touch"
)
# Those that may stand in a rule made by hand; a question offers the line as it is.
_BROAD = word_set("rm rmdir unlink truncate")
# Programs with subcommands, and those of them that run nothing they are told to run.
_SUBCOMMANDS = {
    "npm": word_set("test t tst ci"),
    "pnpm": word_set("test t"),
    "yarn": word_set("test"),
    "bun": word_set("test"),
    "cargo": word_set("build b check c test t bench clippy fmt doc"),
    "go": word_set("build test vet fmt"),
    "dotnet": word_set("build test format"),
    "swift": word_set("build test"),
    "bazel": word_set("build test"),
    "mix": word_set("compile test format"),
    "deno": word_set("test lint fmt check"),
    "flutter": word_set("test analyze"),
    "dart": word_set("test analyze format"),
    "uv": word_set("sync lock"),
    "mkdocs": word_set("build"),
    "meson": word_set("compile test"),
}
_SCRIPTS = {
    "npm": word_set("run run-script"),
    "pnpm": word_set("run"),
    "yarn": word_set("run"),
}  # and then a script's name
# Programs that are told targets: one of them, and after it only switches that change nothing of what is built.
_TARGETS = word_set("make gmake just rake ninja gradle mvn")
_SWITCHES = regex(
    r"-[jl]?\d+|-[jkBsSiqnvV]|--(?:jobs|keep-going|silent|quiet|dry-run|always-make|verbose|offline|info|no-daemon)"
)
_NAME = regex(r"[A-Za-z0-9][\w:.+-]*")
_HERE = regex(r"(?:\./)?(?:[\w+@-][\w.+@-]*|\.[\w+@-][\w.+@-]*)(?:/[\w+@.-]+)+|\./[\w+@-][\w.+@-]*")
_RUNS_OTHERS = word_set(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash perl ruby node nodejs php lua luajit tclsh wish Rscript R pwsh "
    "guile racket sbcl clisp ghci irb groovy scala julia elixir erl swipl octave jshell java ts-node tsx deno bun "
    "python pypy ipython pythonw awk gawk mawk nawk sed gsed env xargs parallel watch entr find fd git npx bunx pnpx "
    "uvx uv poetry pipenv pdm rye hatch pipx conda busybox toybox sudo doas su timeout time nice nohup setsid stdbuf "
    "exec eval source command builtin coverage activate"
)
_VERSION = "0123456789.-"


def prefix_of(words: Sequence[str]) -> tuple[str, ...]:
    """The shortest beginning that may stand for this command in a rule; empty if none may."""
    program, *rest = words or ("",)
    if program in _ALONE or program in _BROAD or _is_of_the_project(program):
        return (program,)
    if not rest or not _NAME.fullmatch(rest[0]):
        return ()
    if program in _SCRIPTS and rest[0] in _SCRIPTS[program]:
        return tuple(words[:3]) if len(rest) > 1 and _NAME.fullmatch(rest[1]) else ()
    if program in _TARGETS:
        return tuple(words[:2]) if all(map(_SWITCHES.fullmatch, rest[1:])) else ()
    return tuple(words[:2]) if rest[0] in _SUBCOMMANDS.get(program, ()) else ()


def offered_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """The beginning that a question about this command offers."""
    return () if words and words[0] in _BROAD else prefix_of(words)


def may_stand(prefix: Sequence[str]) -> bool:
    """Whether a rule may be made of these words."""
    return bool(prefix_of(prefix)) and not any(word.startswith("-") for word in prefix)


def begins_with(words: Sequence[str], prefix: Sequence[str]) -> bool:
    """Whether a rule of this prefix holds for a command: looked at again whenever it is used."""
    least = prefix_of(words)
    return bool(least) and len(prefix) >= len(least) and tuple(words[: len(prefix)]) == tuple(prefix)


def _is_of_the_project(program: str) -> bool:
    """A file of the project, by its path from the root; not one that has the name of what runs other programs."""
    if not _HERE.fullmatch(program) or not {"..", ".git"}.isdisjoint(program.split("/")):
        return False
    name = program.rpartition("/")[2]
    return name not in _RUNS_OTHERS and name.rstrip(_VERSION) not in _RUNS_OTHERS
