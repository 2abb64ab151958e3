"""Programs that run code they are given: interpreters, sed, awk, make, and the shell's own builtins.

Code on the command line or on standard input is opaque: it can be anything. A script file is `execute`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.shell.arguments import (
    BUILD,
    EDIT,
    EXECUTE,
    INSTALL,
    NETWORK,
    NONE,
    OPAQUE,
    OUTSIDE,
    PUBLISH,
    READ,
    Effects,
    Judged,
    abbreviates,
    letters,
    names,
    patterns,
    plain,
    table,
    verb,
)
from quintet.domain.shell.paths import is_system
from quintet.domain.shell.sed_script import runs_a_program
from quintet.domain.shell.syntax import Word

INTERPRETERS = word_set(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash perl ruby node nodejs php lua luajit tclsh wish Rscript R pwsh "
    "guile racket sbcl clisp ghci irb groovy scala julia elixir erl swipl octave jshell java ts-node tsx"
)
_PYTHON = regex(r"(?:python|pypy)[\d.]*w?|ipython3?")
_HARMLESS_FLAGS = {
    "python": word_set("-u -B -s -E -O -OO -I -q -v -S -P"),
    "shell": word_set("-e -u -x -ex -eu -eux -f -v --norc --noprofile"),
    "node": word_set("--experimental-vm-modules --no-warnings --enable-source-maps"),
}
_SHELLS = word_set("sh bash zsh dash ksh mksh ash fish csh tcsh rbash")
_MODULES: dict[str, Effects] = table(
    build=(
        BUILD,
        "unittest compileall py_compile build doctest sphinx",
    ),
    install=(INSTALL, "venv virtualenv ensurepip"),
    network=(NETWORK | EXECUTE, "http webbrowser smtpd"),
    publish=(PUBLISH, "smtplib"),
)
_CODE_MODULES = word_set("timeit pdb code codeop runpy idlelib bdb IPython ipython ptpython bpython asyncio sqlite3")
_PROGRAM_MODULES = word_set(
    "pip coverage pytest mypy ruff black isort flake8 pylint tox nox pyright bandit mkdocs twine quintet"
)
_SCRIPT_MODULES = word_set("cProfile profile trace viztracer line_profiler kernprof")
_PATHS = regex(r"[\w.~/-]+")
_VERSION = frozenset({"--version", "-V", "-VV", "-v", "--help", "-h"})


def is_python(program: str) -> bool:
    return program.startswith(("python", "pypy", "ipython")) and _PYTHON.fullmatch(program) is not None


def is_interpreter(program: str) -> bool:
    """Whether the program runs code, by its name or by that with a version: `perl5.36.0`."""
    return is_python(program) or program in INTERPRETERS or program.rstrip("0123456789.-") in INTERPRETERS


def python(words: Sequence[Word]) -> Judged:
    rest = words[1:]
    if len(rest) == 1 and rest[0].text in _VERSION and rest[0].text != "-v":
        return Judged(READ, "python --version: reads")
    place = 0
    while place < len(rest) and not rest[place].dynamic:
        if rest[place].text in ("-W", "-X"):
            place += 2
        elif rest[place].text in _HARMLESS_FLAGS["python"]:
            place += 1
        else:
            break
    after = rest[place:]
    if len(after) > 1 and after[0].text == "-m" and not after[1].dynamic:
        module = after[1].text.partition(".")[0]
        if module in _PROGRAM_MODULES:
            return Judged(NONE, f"python -m {module}", inner=(after[1:],))
        if module in _CODE_MODULES:
            return _code(f"python -m {module}", after[2:])
        if module in _SCRIPT_MODULES:
            return _script_module(module, after[2:])
        effects = _MODULES.get(module, EXECUTE)
        return Judged(effects, f"python -m {module}: {verb(effects)}", names(after[2:]), (), patterns(after[2:]))
    return _script("python", after)


def _script_module(module: str, rest: Sequence[Word]) -> Judged:
    """cProfile and its like: a script, or another module, run under their eyes."""
    place = 0
    values: list[Word] = []
    while place < len(rest) and rest[place].text[:1] == "-" and rest[place].text != "-m":
        if rest[place].text in ("-o", "-s", "-f", "-C", "--file", "--coverdir", "--outfile", "--sort"):
            values += rest[place + 1 : place + 2]
            place += 1
        place += 1
    written = [word.text for word in values]
    inner = (Word("python"), *rest[place:])
    return Judged(EXECUTE, f"python -m {module}: runs a script", names(values), written, (), (inner,))


def interpreter(program: str, words: Sequence[Word]) -> Judged:
    rest = words[1:]
    if len(rest) == 1 and rest[0].text in _VERSION and program not in _SHELLS:
        return Judged(READ, f"{program} --version: reads")
    if program == "node" and rest and rest[0].text == "--test":
        return plain(program, BUILD, rest)
    harmless = _HARMLESS_FLAGS.get("shell" if program in _SHELLS else program, frozenset())
    place = 0
    while place < len(rest) and rest[place].text in harmless:
        place += 1
    return _script(program, rest[place:])


def _script(program: str, rest: Sequence[Word]) -> Judged:
    """A script file and its arguments, or code."""
    first = rest[0] if rest else Word("-")
    if first.dynamic or first.text[:1] in ("-", "+", "") or first.text.startswith(("/dev/", "/proc/")):
        return _code(program, rest)
    return Judged(EXECUTE, f"{program} {first.text}: runs a script", names(rest), (), patterns(rest))


def _code(program: str, words: Sequence[Word]) -> Judged:
    """Code can be anything; what in it looks like a secret's name is named."""
    parts = [part for word in words for part in _PATHS.findall(word.text)]
    return Judged(
        OPAQUE, f"{program}: code on the command line or on its input", [p for p in parts if PROTECTION.in_code(p)]
    )


_LITERAL = word_set("sh bash dash ash")  # whose lines are read as they would read them
_WITH_LINE = regex(r"-[exul]*c")
# What bash takes for something else than a plainer shell does: `[[ a || ./x ]]` runs ./x there.
_BASH_ONLY = regex(r"\[\[|\(\(|\$['\"\[]|<<<|[<>]\(|&>|\|&|;&|[=+]\(|\+=|\{[^}\s]|\b(?:function|select|coproc|time)\b")


def literal_line(words: Sequence[Word]) -> str | None:
    """The line that a shell is given as a word, where that word says all of it: `bash -c 'ls'`, `eval ls`."""
    program = words[0].text
    if program == "eval":
        known = not any(word.dynamic or word.parts or word.glob for word in words)
        if not known or any(word.text[:1] == "-" for word in words[1:2]):
            return None
        return " ".join(word.text for word in words[1:])
    shell = "" if words[0].dynamic else _named(program)
    if shell not in _LITERAL:
        return None
    rest = list(words[1:])
    while rest and rest[0].text in _HARMLESS_FLAGS["shell"]:
        rest.pop(0)
    if len(rest) < 2 or not _WITH_LINE.fullmatch(rest[0].text):
        return None
    line = rest[1]  # what follows are its arguments, which it can only know as `$1`
    if line.dynamic or line.parts or line.glob or line.text[:1] in ("-", "+"):
        return None
    return line.text if reads_alike(shell, line.text) else None


def reads_alike(shell: str, line: str) -> bool:
    """Whether a shell takes a line for what bash takes it for."""
    return _named(shell) == "bash" or not _BASH_ONLY.search(line)


def is_bare_shell(words: Sequence[Word]) -> bool:
    """Whether it is a shell that runs what it reads from its input."""
    return _named(words[0].text) in _LITERAL and all(
        word.text in ("-s", "-") or word.text in _HARMLESS_FLAGS["shell"] for word in words[1:]
    )


def _named(program: str) -> str:
    folder, _, last = program.rpartition("/")
    return last if not folder or is_system(folder) else ""


def _coded(program: str) -> Callable[[Sequence[Word]], Judged]:
    return lambda words: _code(program, words[1:])


def sed(words: Sequence[Word]) -> Judged:
    """A script that writes or runs something does it within the grant; what it runs is a matter for deny rules."""
    operands: list[Word] = []
    scripts: list[str] = []
    files: list[Word] = [word for word in words[1:] if word.text[:2] in ("-f", "--")]
    scripted = in_place = elsewhere = False
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if word.dynamic or text[:1] != "-" or text == "-":
            operands.append(word)
        elif text[:2] == "--":
            in_place = in_place or abbreviates(text, "--in-place")
            if abbreviates(text, "--expression"):
                scripted = True
                value = None if "=" in text else next(rest, None)
                scripts.append(value.text if value else text.partition("=")[2])
            elsewhere = elsewhere or abbreviates(text, "--file")
        else:
            flag = next((letter for letter in text[1:] if letter in "ief"), "")
            in_place = in_place or flag == "i"
            scripted = scripted or flag == "e"
            elsewhere = elsewhere or flag == "f"
            if flag == "e" and text[-1] != "e":
                scripts.append(text.partition("e")[2])
            elif flag in ("e", "f") and text[-1] == flag and (value := next(rest, None)):
                files += [value] if flag == "f" else []
                scripts += [value.text] if flag == "e" else []
    if not scripted and not elsewhere:
        scripts += [word.text for word in operands[:1] if not word.dynamic]
        operands = operands[1:]
    reads, globs = names((*operands, *files)), patterns(operands)
    dynamic = any(word.dynamic for word in operands)
    hides = runs_a_program("\n".join(scripts))
    if in_place:
        effects = EDIT | OPAQUE if dynamic else EDIT
        return Judged(effects, "sed -i: changes files", reads, names(operands), globs, hides=hides)
    if elsewhere or dynamic:
        return Judged(EXECUTE, "sed: a script or files known only when it runs", reads, (), globs, hides=hides)
    return Judged(READ, "sed: reads", reads, (), globs, hides=hides)


_AWK_ACTS = regex(r"system|getline|@|>>|>\s*\"|(?<!\|)\|(?!\|)")


def awk(words: Sequence[Word]) -> Judged:
    """A program that seems to write or run something may do so in the project; what it does is the sandbox's matter."""
    position = 1
    while position < len(words) and words[position].text[:1] == "-" and not words[position].dynamic:
        text = words[position].text
        position += 1
        if text == "--":
            break
        if text in ("-F", "-v"):
            position += 1
        elif text[:2] not in ("-F", "-v"):
            coded = any(word.text[:2] == "-e" or abbreviates(word.text, "--source") for word in words[1:])
            if coded or not (text[:2] in ("-f", "-E") or abbreviates(text, "--file", "--exec")):
                return plain("awk", OPAQUE, words[1:], "code on the command line")
            return plain("awk", EXECUTE, words[1:], "a script that is not on the command line")
    program, files = words[position : position + 1], words[position + 1 :]
    if any(word.dynamic or _AWK_ACTS.search(word.text) for word in program) or any(word.dynamic for word in files):
        return plain("awk", OPAQUE, files, "a program that may run commands or write files")
    return plain("awk", READ, files)


def make(words: Sequence[Word]) -> Judged:
    texts = [word.text for word in words[1:]]
    if any(t.startswith(("--eval", "SHELL=", "MAKEFLAGS=", ".SHELLFLAGS=", "-f-", "-f/", "-E")) for t in texts):
        return plain("make", BUILD | OPAQUE, words[1:], "code on the command line")
    if any("$(" in text or "${" in text or "`" in text for text in texts):
        return plain("make", BUILD | OPAQUE, words[1:], "code on the command line")
    if any(flag in ("-f", "--file", "--makefile") and value[:1] in "-/$" for flag, value in pairwise(texts)):
        return plain("make", BUILD | OPAQUE, words[1:], "code on its input")
    if any(word.dynamic for word in words[1:]):
        return plain("make", BUILD | EXECUTE, words[1:], "a target known only when it runs")
    variables = [text.partition("=") for text in texts if "=" in text]
    tools = [[Word(part) for part in value.split()] for variable, _, value in variables if _is_tool(variable, value)]
    installs = any(text.startswith(("install", "uninstall")) for text in texts)
    effects = BUILD | OUTSIDE if installs else BUILD
    return Judged(effects, f"make: {verb(effects)}", names(words[1:]), (), patterns(words[1:]), tools)


def _is_tool(name: str, value: str) -> bool:
    """Whether a variable of make's may be run as a program."""
    return name in ("CC", "CXX", "LD", "AR", "AS", "CPP", "RM", "PYTHON") or (" " in value and value[0] not in "-/")


def cmake(words: Sequence[Word]) -> Judged:
    texts = [word.text for word in words[1:]]
    if texts[:1] == ["-E"] and texts[1:2] and texts[1] in ("rm", "remove", "remove_directory"):
        return Judged(NONE, "cmake -E: runs a command", inner=((Word("rm"), *words[3:]),))
    if "-E" in texts or "-P" in texts:
        return plain("cmake", OPAQUE if "-E" in texts else EXECUTE, words[1:], "runs commands")
    return plain("cmake", BUILD | OUTSIDE if "--install" in texts else BUILD, words[1:])


_IDENTIFIER = regex(r"[A-Za-z_]\w*(?:\[(?:\d+|@|\*)\])?", re.ASCII)
_EVALUATED = regex(r"[\w\s+*/%=<>!&|^~?:,()-]*", re.ASCII)


def names_variables(program: str, words: Sequence[Word]) -> Judged:
    """read, unset, declare …: a subscript in a name is run as an expression, and so is what an integer is given."""
    flags = "".join(word.text for word in words[1:] if word.text[:1] in ("-", "+"))
    for word in words[1:]:
        if word.dynamic:
            return plain(program, OPAQUE, (), "a name known only when it runs")
        named = word.text.partition("=")[0].rstrip("+")
        if "[" in named and not _IDENTIFIER.fullmatch(named):
            return plain(program, OPAQUE, (), "a name that is run as an expression")
    if program in ("declare", "typeset", "local") and "n" in flags:
        return plain(program, OPAQUE, (), "a name for another variable")
    if program in ("declare", "typeset", "local", "export", "readonly") and "i" in flags:
        return plain(program, EXECUTE, (), "its values are run as expressions")
    return Judged(READ, f"{program}: reads")


def let(words: Sequence[Word]) -> Judged:
    if any(word.dynamic or not _EVALUATED.fullmatch(word.text) for word in words[1:]):
        return plain("let", OPAQUE, (), "an expression known only when it runs")
    return plain("let", EXECUTE, (), "the values of variables run as expressions")


def test(words: Sequence[Word]) -> Judged:
    texts = [word.text for word in words[1:]]
    if ("-v" in texts or "-R" in texts) and any("[" in text and not _IDENTIFIER.fullmatch(text) for text in texts):
        return plain("test", OPAQUE, (), "a name that is run as an expression")
    named = [word for word in words[1:] if not word.dynamic and word.text[:1] in "./~"]
    return Judged(READ, "test: reads", names(named))


def printf(words: Sequence[Word]) -> Judged:
    if any(word.dynamic for word in words[1:2]):  # it may say -v, and a name that is run as an expression
        return plain("printf", EXECUTE, (), "a format known only when it runs")
    if len(words) > 1 and words[1].text.startswith("-v"):
        stuck = words[1].text[2:]
        return names_variables("printf", (words[0], Word(stuck) if stuck else words[2] if len(words) > 2 else Word("")))
    return Judged(READ, "printf")


def shell_options(words: Sequence[Word]) -> Judged:
    """set: the flags that only make a script stricter or louder."""
    for word in words[1:]:
        if word.text == "--":
            break
        if word.dynamic or (
            word.text not in ("pipefail", "errexit", "nounset", "xtrace") and word.text.strip("-+euxofE")
        ):
            return plain("set", OPAQUE, (), "options of the shell")
    return Judged(READ, "set: reads")


def trap(words: Sequence[Word]) -> Judged:
    harmless = len(words) < 2 or words[1].text in ("", "-", "-l", "-p")
    if harmless and not any(word.dynamic for word in words[1:]):
        return Judged(READ, "trap: reads")
    return plain("trap", OPAQUE, (), "code on the command line")


def alias(words: Sequence[Word]) -> Judged:
    if any("=" in word.text or word.dynamic for word in words[1:]):
        return plain("alias", OPAQUE, (), "code on the command line")
    return Judged(READ, "alias: reads")


def mapfile(words: Sequence[Word]) -> Judged:
    if any(word.dynamic or "C" in letters(word.text) for word in words[1:]):
        return plain("mapfile", OPAQUE, (), "code on the command line")
    return names_variables("mapfile", words)


HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    "sed": sed,
    "awk": awk,
    "gawk": awk,
    "mawk": awk,
    "nawk": awk,
    "original-awk": awk,
    "make": make,
    "gmake": make,
    "cmake": cmake,
    "let": let,
    "test": test,
    "[": test,
    "printf": printf,
    "set": shell_options,
    "trap": trap,
    "alias": alias,
    "mapfile": mapfile,
    "readarray": mapfile,
    **{
        name: _coded(name)
        for name in ("eval", "source", ".", "shopt", "complete", "compgen", "compopt", "hash", "caller")
    },
}
VARIABLES = word_set("read unset export declare typeset local readonly getopts unsetenv")
