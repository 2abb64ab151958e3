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
    edit=(_EDIT, "mkdir touch cp mv ln"),
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

# The flags a reading program is known to be safe with, letters of short ones and words of long ones; any other flag
# makes it an unknown program. A program that is not listed takes none.
SAFE_FLAGS: dict[str, str] = {
    "ls": "a A l h t r S R d F 1 i s all almost-all human-readable recursive reverse directory color sort time",
    "cat": "n b s A E T v number show-all",
    "head": "n c q v lines bytes",
    "tail": "n c q v lines bytes",
    "wc": "l w c m L lines words bytes chars",
    "stat": "c f L t format printf terse",
    "file": "b i L mime brief",
    "echo": "n e E",
    "grep": "i n l L c v w x o h H s E F P A B C m e color count include exclude exclude-dir max-count no-messages",
    "egrep": "i n l c v w x o h H A B C m e",
    "fgrep": "i n l c v w x o h H A B C m e",
    "rg": "i n l c v w x o h H A B C m e g t F S U files count glob type sort max-count json stats",
    "diff": "u U q N w b B i y brief unified ignore-all-space ignore-blank-lines color stat",
    "cmp": "l s b n",
    "cut": "d f c b s delimiter fields characters bytes complement output-delimiter",
    "tr": "d s c C t delete squeeze-repeats complement",
    "uniq": "c d u i f s w count repeated unique",
    "nl": "b n w s v",
    "od": "A t x c N j",
    "basename": "s a z",
    "dirname": "z",
    "realpath": "e m s relative-to",
    "readlink": "f e m n",
    "du": "s h a c d k m max-depth summarize human-readable total",
    "df": "h k T i human-readable",
    "date": "u d I R utc date iso-8601 rfc-3339 rfc-email",
    "id": "u g n G un gn",
    "uname": "a s r m n v p o",
    "which": "a",
    "tree": "a d L I P C n f h s dirsfirst noreport gitignore",
    "md5sum": "b t z",
    "sha1sum": "b t z",
    "sha256sum": "b t z",
    "column": "t s c",
    "comm": "1 2 3 i z",
    "seq": "s w f",
    "pwd": "L P",
}
PYTHON_MODULES = _table(
    build=(
        _BUILD,
        "pytest unittest compileall py_compile mypy ruff black isort flake8 tox nox build doctest",
    ),
    install=(_INSTALL, "pip venv"),
)
_FORCE = frozenset({"-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "-D", "--hard", "--prune"})
_BRANCH_LISTS = frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--verbose", "--list", "--show-current"})
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
    named: list[str] = []
    for word in words[1:]:
        if word.startswith("-"):
            named += [word.partition("=")[2], word[2:]]  # --file=x, -fx
        else:
            named += [word, word.partition(":")[2]]  # HEAD:x
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
    if effects == _READ and (odd := _odd_word(program, words[1:])):
        return Judged(_EXECUTE, f"{program} {odd}: more than Quintet knows it to read")
    return Judged(effects, program)


def _odd_word(program: str, words: list[str]) -> str:
    """The first word that may make a reading program do something else; empty if there is none."""
    known = frozenset(SAFE_FLAGS.get(program, "").split())
    operands = 0
    for place, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("--"):
            if word[2:].partition("=")[0] not in known:
                return word
        elif word.startswith("-") and len(word) > 1 and program not in ("expr", "test", "printf"):
            letters = word[1:] if not word[1:].isdigit() else ""
            cut = next((i for i, letter in enumerate(letters) if letter in _VALUED), len(letters))
            if any(letter not in known for letter in letters[: cut + 1]):
                return word
        else:
            operands += 1
            sets_clock = program == "date" and not word.startswith("+") and words[place - 1 : place] != ["-d"]
            if sets_clock or (program == "uniq" and operands > 1):
                return word
    return ""


_VALUED = frozenset("ABCmegtncdfsLIPUNjwU")  # short flags whose value may stick to them: -A3, -n10


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
            or (sub == "branch" and not flags <= _BRANCH_LISTS)
        )
    ):
        return Judged(_COMMIT | _EDIT, f"git {sub} with a flag that writes")
    if effects == _PUBLISH and flags & _FORCE:
        return Judged(_FORCED_PUBLISH, f"{program} {sub} by force")
    return Judged(effects, f"{program} {sub}")
