"""What a shell line would do, told before it runs.

Conservative: a line is split into plain commands joined by `;`, `&&`, `||` and `|`; each program is looked up in a
table. Anything that is not a plain word (a variable, a substitution, a redirection to a file, a subshell, inline code)
is not understood, and what is not understood counts as `destroy`.
"""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.grants import Effect
from quintet.domain.toolspec import Touch

_READ = frozenset({Effect.READ})
_EDIT = frozenset({Effect.EDIT})
_EXECUTE = frozenset({Effect.EXECUTE})
_BUILD = frozenset({Effect.BUILD})
_INSTALL = frozenset({Effect.INSTALL})
_COMMIT = frozenset({Effect.COMMIT})
_NETWORK = frozenset({Effect.NETWORK})
_DESTROY = frozenset({Effect.DESTROY})
_OUTSIDE = frozenset({Effect.OUTSIDE})
_PUBLISH = frozenset({Effect.PUBLISH, Effect.NETWORK})
_FORCED_PUBLISH = _PUBLISH | _DESTROY

_SEPARATORS = ("&&", "||", ";", "|")
_NOT_PLAIN = frozenset("$`<>(){}\\!\n\r#*?[]~")


def _table(**rows: tuple[frozenset[Effect], str]) -> dict[str, frozenset[Effect]]:
    return {program: effects for effects, programs in rows.values() for program in programs.split()}


PROGRAMS: dict[str, frozenset[Effect]] = _table(
    read=(
        _READ,
        "ls cat head tail wc stat file pwd echo printf true false grep egrep fgrep rg diff cmp cut tr uniq nl od "
        "basename dirname realpath readlink du df date whoami id uname which tree cksum md5sum sha1sum sha256sum "
        "column comm expr seq test",
    ),
    edit=(_EDIT, "mkdir touch cp mv ln patch"),
    build=(
        _BUILD,
        "pytest make ruff mypy black isort flake8 pylint tox nox ctest cmake gcc cc g++ clang rustc javac",
    ),
    destroy=(_DESTROY, "rm rmdir dd shred truncate mkfs fdisk eval exec source kill pkill killall"),
    outside=(_OUTSIDE, "sudo su doas chown chroot mount umount systemctl service crontab nohup setsid"),
    network=(_NETWORK, "curl wget ssh scp rsync ftp nc telnet ping dig host nslookup"),
)

SUBCOMMANDS: dict[str, dict[str, frozenset[Effect]]] = {
    "git": _table(
        read=(
            _READ,
            "status diff log show branch rev-parse ls-files blame describe shortlog ls-tree cat-file",
        ),
        commit=(_COMMIT, "add commit tag"),
        both=(_COMMIT | _EDIT, "checkout switch restore merge rebase cherry-pick stash apply am revert"),
        network=(_NETWORK | _COMMIT, "fetch pull clone remote"),
        destroy=(_DESTROY, "clean reset gc prune reflog filter-branch update-ref"),
        publish=(_PUBLISH, "push send-email"),
    ),
    "npm": _table(build=(_BUILD, "test run lint"), install=(_INSTALL, "install ci i"), publish=(_PUBLISH, "publish")),
    "pip": _table(read=(_READ, "list show freeze check"), install=(_INSTALL, "install uninstall")),
    "cargo": _table(build=(_BUILD, "build test check clippy fmt bench"), publish=(_PUBLISH, "publish")),
    "go": _table(build=(_BUILD, "build test vet fmt"), install=(_INSTALL, "get install")),
}
SUBCOMMANDS["pip3"] = SUBCOMMANDS["pip"]

WRITING_FLAGS = {  # flags that make a reading program write, or run something
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "tree": ("-o", "--output", "-R"),
    "date": ("-s", "--set"),
    "file": ("-C", "--compile"),
}
PYTHON_MODULES = _table(
    build=(
        _BUILD,
        "pytest unittest compileall py_compile mypy ruff black isort flake8 tox nox build doctest",
    ),
    install=(_INSTALL, "pip venv"),
)
_FORCE = frozenset({"-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "-D", "--hard", "--prune"})
_GIT_READ_FLAGS_THAT_WRITE = frozenset({"-d", "-D", "-m", "-M", "-c", "-C", "-f", "--delete", "--move", "--copy"})


class Judged(Struct, frozen=True):
    effects: frozenset[Effect]
    why: str


def judge(line: str) -> Touch:
    """The effects of a whole shell line: the union over its commands."""
    commands = _commands(line)
    if isinstance(commands, str):
        return Touch(_DESTROY, why=commands)
    judged = [_judge_command(words) for words in commands]
    effects = frozenset().union(*(j.effects for j in judged)) if judged else _READ
    worst = max(judged, key=lambda j: max((list(Effect).index(e) for e in j.effects), default=0), default=None)
    writes = tuple(
        word for words, j in zip(commands, judged, strict=True) if Effect.EDIT in j.effects for word in _named(words)
    )
    return Touch(
        effects, tuple(word for words in commands for word in _named(words)), writes, worst.why if worst else ""
    )


def _named(words: list[str]) -> list[str]:
    """The words of a command that may name a file, values of `--flag=value` among them."""
    named = [word.partition("=")[2] if word.startswith("-") else word for word in words[1:]]
    return [word for word in named if word]


def _commands(line: str) -> list[list[str]] | str:
    """Plain commands as word lists, or the reason why the line is not understood."""
    commands: list[list[str]] = [[]]
    word: list[str] | None = None
    quote = ""
    position = 0
    while position < len(line):
        char = line[position]
        if quote:
            if char == quote:
                quote = ""
            elif quote == '"' and char in "$`\\!":
                return f"not understood: {char} inside quotes"
            else:
                word = _grown(word, char)
        elif char in "\"'":
            quote = char
            word = word or []
        elif separator := next((s for s in _SEPARATORS if line.startswith(s, position)), ""):
            _close(commands, word)
            word = None
            commands.append([])
            position += len(separator) - 1
        elif char == "&":
            return "not understood: a background command"
        elif char in " \t":
            _close(commands, word)
            word = None
        elif char in _NOT_PLAIN and not (char == "~" and word):
            return f"not understood: {char!r}"
        else:
            word = _grown(word, char)
        position += 1
    if quote:
        return "not understood: a quote is not closed"
    _close(commands, word)
    if len(commands) > 1 and not commands[-1] and line.rstrip().endswith(";"):
        commands.pop()
    if any(not words for words in commands) and line.strip():
        return "not understood: an empty command"
    return commands if commands != [[]] else []


def _grown(word: list[str] | None, char: str) -> list[str]:
    word = word if word is not None else []
    word.append(char)
    return word


def _close(commands: list[list[str]], word: list[str] | None) -> None:
    if word is not None:
        commands[-1].append("".join(word))


def _judge_command(words: list[str]) -> Judged:
    program = words[0]
    if "=" in program:
        return Judged(_OUTSIDE, f"{program}: sets a variable for the command")
    if "/" in program:
        return Judged(_EXECUTE, f"{program}: a program of the project or of the machine")
    if program in ("python", "python3"):
        return _judge_python(words)
    if program in SUBCOMMANDS:
        return _judge_subcommand(words)
    effects = PROGRAMS.get(program)
    if effects is None:
        return Judged(_EXECUTE, f"{program}: not a program Quintet knows")
    if flag := next((w for w in words[1:] if w.partition("=")[0] in WRITING_FLAGS.get(program, ())), ""):
        return Judged(_EXECUTE | _OUTSIDE, f"{program} {flag}: does more than read")
    if program == "uniq" and len([word for word in words[1:] if not word.startswith("-")]) > 1:
        return Judged(_EDIT, "uniq writes to its second file")
    return Judged(effects, program)


def _judge_python(words: list[str]) -> Judged:
    if len(words) > 2 and words[1] == "-m":
        module = words[2].split(".")[0]
        effects = PYTHON_MODULES.get(module)
        return Judged(effects or _EXECUTE, f"python -m {module}")
    if len(words) > 1 and words[1] in ("--version", "-V"):
        return Judged(_READ, "python --version")
    if len(words) > 1 and not words[1].startswith("-"):
        return Judged(_EXECUTE, f"python {words[1]}: runs a script")
    return Judged(_DESTROY, "python with code on the command line")


def _judge_subcommand(words: list[str]) -> Judged:
    program = words[0]
    if len(words) < 2 or words[1].startswith("-"):
        known = len(words) == 2 and words[1] in ("--version", "--help")
        return Judged(_READ if known else _DESTROY, f"{program}: options before the subcommand")
    sub = words[1]
    effects = SUBCOMMANDS[program].get(sub)
    if effects is None:
        return Judged(_EXECUTE | _NETWORK, f"{program} {sub}: not a subcommand Quintet knows")
    flags = set(words[2:])
    if (
        program == "git"
        and effects == _READ
        and (
            flags & _GIT_READ_FLAGS_THAT_WRITE
            or any(f.startswith(("--output", "--ext-diff", "--textconv", "--open")) for f in flags)
            or (sub == "branch" and any(not f.startswith("-") for f in flags))
        )
    ):
        return Judged(_COMMIT | _EDIT, f"git {sub} with a flag that writes")
    if effects == _PUBLISH and flags & _FORCE:
        return Judged(_FORCED_PUBLISH, f"{program} {sub} by force")
    return Judged(effects, f"{program} {sub}")
