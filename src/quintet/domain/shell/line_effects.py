"""The commands of a shell line added up: effects, files named, and the folders each command may find itself in.

A program is judged by its name: by a handler of its own or by a row of a table. `spellings` is how rules know a
command.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.permission.effects import LinePart
from quintet.domain.shell import git, interpreters, program_handlers, programs, wrappers
from quintet.domain.shell.arguments import (
    BUILD,
    COMMIT,
    DELETE,
    DESTROY,
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
    arguments,
    effect_set,
    name,
    plain,
    verb,
)
from quintet.domain.shell.paths import (
    FILES_OF_THE_KERNEL,
    SAFE_DEVICES,
    WILD,
    guarded,
    is_system,
    joined,
    lying_in,
    secrets,
)
from quintet.domain.shell.read_only_commands import only_reads
from quintet.domain.shell.syntax import Redirect, Script, ShellAssignment, ShellCommand, Word
from quintet.domain.shell.variables import KNOWN_VARIABLES, TooMany, Values, is_hook, self_calling

HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    **interpreters.HANDLERS,
    **program_handlers.HANDLERS,
    **wrappers.HANDLERS,
    "git": git.git,
    "gh": git.gh,
    "glab": git.gh,
}
READERS = (programs.READERS | programs.UNFLAGGED) - HANDLERS.keys()
_REMOVES = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "chown", "chgrp", "chattr", "setfacl"})
_MOST_PLACES = 16  # where a command may begin behind its flags, from the front and from the end
_BUILTINS = frozenset({"cd", "pushd", "popd", "chdir", "env", *interpreters.VARIABLES})
_OPENS = INSTALL | COMMIT | NETWORK  # effects that give the whole line more than the project
_MOST_LINES = 4  # that stand in one another
_MOST_INNER = 200  # commands that one command may unwrap to
_MOST_VARIANTS = 2000  # commands that the values of variables may make of a line
_TALKS = word_set("echo printf test [ for read")  # whatever their words are, they do the same
_LOOKS = word_set("ls stat test [")
_MOVES = word_set("cd pushd popd")
_MOST_FOLDERS = 8  # a line that changes folder more often may be anywhere

_UNEVALUATED = regex(r"[\w.,:/@%+ -]*", re.ASCII)
_DIGITS = frozenset("0123456789-")
_NO_CODE = regex(r"[\w.,:/@%+=^~-]*")  # a word that no shell would take for more than a word


def is_known(name: str) -> bool:
    """Whether the judge goes by this name, so that a function must not take it."""
    return (
        name in HANDLERS
        or name in READERS
        or name in _BUILTINS
        or name in programs.PROGRAMS
        or name in programs.EDITORS
        or name in programs.SUBCOMMANDS
        or name in wrappers.WRAPPERS
        or interpreters.is_interpreter(name)
    )


def by_table(program: str, words: Sequence[Word]) -> Judged:
    if program in programs.EDITORS:
        return programs.edit_program(program, words)
    if program in wrappers.WRAPPERS:
        return wrappers.wrapped(program, words)
    if ran := wrappers.runner(program, words):
        return ran
    if interpreters.is_python(program):
        return interpreters.python(words)
    if interpreters.is_interpreter(program):
        return interpreters.interpreter(program, words)
    if program in programs.SUBCOMMANDS:
        return programs.with_subcommand(program, words)
    effects = programs.PROGRAMS.get(program)
    if effects is None:
        if program.startswith("mkfs."):
            return plain(program, DESTROY, words[1:])
        return plain(program, EXECUTE, words[1:])
    if effects == BUILD:
        return program_handlers.build(program, words)
    if program in ("docker", "podman", "skopeo", "helm") and any(w.text in ("push", "publish") for w in words[1:]):
        effects |= PUBLISH
    judged = plain(program, effects, words[1:], "deletes" if program in ("rm", "rmdir", "unlink") else "")
    if program in _REMOVES:
        if effects == DELETE and any(word.dynamic for word in words[1:]):
            effects = DESTROY
        operands = arguments(words[1:], {}).operands if effects == DELETE else ()
        deletes = [word.text for word in operands]
        if program == "rmdir" and any("p" in word.text[:3] for word in words[1:] if word.text[:1] == "-"):
            effects = DESTROY  # and the folders above, by whatever links
        return Judged(effects, judged.why, judged.reads, judged.reads, judged.globs, deletes=deletes)
    return judged


def spellings(words: Sequence[Word]) -> list[str]:
    """A command as rules know it: its program by name, its words as they are after quoting.

    A program of another folder than the system's is no more than its path, so that is among the spellings too. Also
    without the flags before its first word, since `git -C there push` is a `git push`. Whether the word after a
    flag is its value or the first of its own is not always known: then it is taken for either.
    """
    texts = [word.text for word in words]
    folder, _, program = texts[0].rpartition("/")
    found = [" ".join(texts)]
    if folder or program != texts[0]:
        found = [" ".join((program, *texts[1:])), *([] if not folder or is_system(folder) else found)]
    if len(texts) < 2 or texts[1][:1] != "-":
        return found
    rest = texts[1:]
    place, value = 0, False
    places: list[int] = []
    while place < len(rest) and (value or rest[place][:1] == "-"):
        value = rest[place][:1] == "-" and "=" not in rest[place] and rest[place] not in git.VALUELESS
        place += 1
        if place < len(rest) and rest[place][:1] != "-":
            places.append(place)
    begins = (*places[:_MOST_PLACES], *places[_MOST_PLACES:][-_MOST_PLACES:])
    return [*found, *(" ".join((program, *rest[place:])) for place in begins)]


def _is_strange(program: str) -> bool:
    """Whether a program may be told by its words to run another; one of the project's is what the project makes it."""
    folder, _, name = program.rpartition("/")
    return (folder[:1] in ("", "/") and not is_known(name)) or name in programs.EDITORS


def _handed_on(words: Sequence[Word]) -> Iterator[str]:
    """The commands that the words of one may end with: `choom -n 0 -- rm x`."""
    for place in (*range(1, len(words))[:_MOST_PLACES], *range(1, len(words))[_MOST_PLACES:][-_MOST_PLACES:]):
        yield from spellings(words[place:])
        if "=" in (text := words[place].text):
            yield from spellings((Word(text.partition("=")[2]), *words[place + 1 :]))


def _only_names(words: Sequence[Word], judged: Judged) -> bool:
    """Whether a command opens none of the files it names: it says whether they are there, how large, or ignored."""
    program = words[0].text
    if program not in _LOOKS and not (program == "git" and len(words) > 1 and words[1].text == "check-ignore"):
        return False
    plain_words = not judged.globs and not any(word.dynamic or word.glob for word in words)
    return plain_words and judged.effects == READ and not judged.writes and not judged.inner


def _given_line(command: ShellCommand) -> str | None:
    """What a shell is given on its input, where the line says all of it: `bash <<'END'`."""
    given = [one for one in command.redirects if one.operator[:1] == "<" and one.operator != "<>"]
    if len(given) != 1 or not interpreters.is_bare_shell(command.words):
        return None
    operator, target = given[0].operator, given[0].target
    if operator[:2] != "<<" or target.dynamic or target.parts:
        return None
    if operator == "<<" and "\\" in target.text:  # which a here-document may take away
        return None
    return target.text if interpreters.reads_alike(command.words[0].text, target.text) else None


Parse = Callable[[str], Script]


class LineEffects:
    """What the commands so far add up to, and the folders the next one may run in."""

    __slots__ = (
        "commands",
        "current_folders",
        "deletes",
        "depth",
        "effects",
        "effects_by_command",
        "handed_on",
        "hides",
        "known_values",
        "looked_for",
        "parse",
        "patterns",
        "position",
        "possible_folders",
        "reading_commands",
        "reads",
        "script",
        "variants",
        "why",
        "writes",
    )

    def __init__(self, folder: str, script: Script, parse: Parse | None = None, depth: int = 0) -> None:
        self.script = script
        self.parse = parse  # for the lines that stand in a word: `bash -c '…'`
        self.depth = depth
        self.known_values: Values | None = None
        self.variants = 0
        self.patterns: set[tuple[str, str]] = set()  # those that were looked at
        self.effects: Effects = NONE
        self.position = 0  # of the present command in the line
        self.effects_by_command: list[tuple[str, Effects, int]] = []  # what does more than read, by its name, and where
        self.commands: list[Sequence[Word]] = []
        self.reading_commands: list[tuple[Sequence[Word], int]] = []  # the commands that are judged to read
        self.why = ""
        self.reads: dict[str, None] = {}
        self.looked_for: dict[str, None] = {}  # looked for, and not opened
        self.writes: dict[str, None] = {}
        self.deletes: dict[str, None] = {}
        self.handed_on: dict[str, None] = {}  # what programs that are not known may run of what they are given
        self.hides = False  # and whether they may be given code
        self.possible_folders = [folder]  # every folder a command may find itself in
        self.current_folders = self.possible_folders  # those the present chain may be in

    @property
    def values(self) -> Values:
        if self.known_values is None:
            self.known_values = Values(self.script)
        return self.known_values

    def parts(self) -> tuple[LinePart, ...]:
        """What the commands of the line do, where it is more than plain reading and one of them needs more."""
        if not any(effects & _OPENS for _, effects, _ in self.effects_by_command):
            return ()
        read = [(words[0].text, READ, place) for words, place in self.reading_commands if not only_reads(words)]
        found = dict.fromkeys((*self.effects_by_command, *read))
        return tuple(LinePart(name, effect_set(effects), place) for name, effects, place in found)

    def add_effects(self, effects: Effects, why: str) -> None:
        if effects > READ:
            self.effects_by_command.append((why.partition(":")[0].partition(" ")[0], effects, self.position))
        new = effects & ~self.effects
        if new:
            if new > self.effects:  # the highest bit of all is the worst
                self.why = why if " " in why else f"{why}: {verb(effects)}"
            self.effects |= effects

    def add_script(self) -> None:
        """All of the line."""
        script = self.script
        try:
            for command in script.commands:
                self.add_command(command)
        except TooMany:
            self.add_effects(OPAQUE, "not understood: too many values to follow")
        if script.spans and (function := self_calling(script)):
            self.add_effects(DESTROY, f"{function}: a function that calls itself")
        if replaced := next((span.name for span in script.spans if is_known(span.name)), ""):
            self.add_effects(OPAQUE, f"{replaced}: a function that replaces a program")
        if script.evaluates:
            self.add_arithmetic(script)
        if script.problem:
            self.add_effects(OPAQUE, f"not understood: {script.problem}")

    def add_inner_line(self, text: str, parse: Parse, *, here: bool = False) -> None:
        """A line that is written out in a word of this one; `here`: run by this very shell, which it may move."""
        if self.depth == _MOST_LINES:
            self.add_effects(OPAQUE, "not understood: lines inside lines")
            return
        inner = LineEffects("", parse(text), parse, self.depth + 1)
        inner.possible_folders = inner.current_folders = list(self.current_folders)
        inner.position = self.position
        inner.add_script()
        self.position = inner.position
        if inner.effects & DELETE:
            self.check_order()
        known = [*self.effects_by_command, *inner.effects_by_command]
        self.add_effects(inner.effects, inner.why)
        self.effects_by_command = known
        self.commands += inner.commands
        self.reading_commands += inner.reading_commands
        if here:
            self.possible_folders = list(dict.fromkeys((*self.possible_folders, *inner.possible_folders)))
            self.current_folders = self.possible_folders
        for mine, its in (
            (self.reads, inner.reads),
            (self.looked_for, inner.looked_for),
            (self.writes, inner.writes),
            (self.deletes, inner.deletes),
            (self.handed_on, inner.handed_on),
        ):
            mine.update(its)
        self.hides = self.hides or inner.hides

    def add_command(self, command: ShellCommand) -> None:
        self.position += 1
        if not command.follows:
            self.current_folders = self.possible_folders
        if command.assignments:
            for assignment in command.assignments:
                self.assign(assignment, command)
        if command.redirects:
            for redirect in command.redirects:
                self.redirect(redirect)
        if command.words and self.parse and (line := _given_line(command)) is not None:
            self.commands.append(command.words)
            self.add_inner_line(line, self.parse)
        elif command.words:
            self.add_words(command.words)

    def add_words(self, words: Sequence[Word]) -> None:
        """A command, and what it would run in turn."""
        waiting = [words]
        expands = self.script.expands
        count = 0
        while waiting:
            words = waiting.pop()
            if expands and words[0].text not in _TALKS and any(word.parts for word in words):
                certain = self.values.certain(words)
                if certain and words[0].text in _MOVES:
                    self.move_to_any(self.variations(words))
                    continue
                if certain or words[0].text not in _MOVES:
                    waiting += filter(None, self.variations(words))
                if certain:
                    continue
            self.commands.append(words)
            if self.parse and (line := interpreters.literal_line(words)) is not None:
                self.add_inner_line(line, self.parse, here=words[0].text == "eval")
                continue
            judged = self.judge_words(words)
            if judged.effects & DELETE:
                self.check_order()
            self.add_effects(judged.effects, judged.why)
            self.hides = self.hides or judged.hides
            if judged.effects == READ:
                self.reading_commands.append((words, self.position))
            elif judged.effects & EXECUTE and not judged.inner and _is_strange(words[0].text):
                self.hides = self.hides or any(word.dynamic or not _NO_CODE.fullmatch(word.text) for word in words[1:])
                self.handed_on.update(dict.fromkeys(_handed_on(words)))
            if judged.reads or judged.writes or judged.globs:
                self.add_paths(judged, opened=not _only_names(words, judged))
            for path in judged.deletes:  # as written: what `..` means depends on links
                self.deletes.update(dict.fromkeys(lying_in(folder, path) for folder in self.current_folders))
            if judged.effects & DELETE and self.script.repeats:
                self.add_effects(DESTROY, f"{words[0].text}: deletes in a folder that may change while the loop runs")
            if judged.inner:
                waiting += filter(None, judged.inner)
                expands = True  # what it runs may be given what comes through a pipe
            count += 1
            if count > _MOST_INNER:
                self.add_effects(OPAQUE, "not understood: commands inside commands")
                break

    def move_to_any(self, found: Sequence[Sequence[Word]]) -> None:
        """cd by a variable: to one of the folders that it may hold, and not to one from another."""
        start, entered = self.current_folders, list[str]()
        for words in filter(None, found):
            self.current_folders = start
            judged = self.judge_words(words)
            self.commands.append(words)
            self.add_effects(judged.effects, judged.why)
            self.add_paths(judged)
            entered += self.current_folders
        self.current_folders = list(dict.fromkeys(entered)) or start

    def check_order(self) -> None:
        """What is deleted after something was changed or run may be another thing than its name says now."""
        if self.effects & ~(READ | DELETE):
            self.add_effects(DESTROY, "deletes after something else was changed or run in the same line")

    def variations(self, words: Sequence[Word]) -> list[list[Word]]:
        """What a command with variables may turn out to be."""
        program = words[0].text
        together = program in programs.READERS and program not in programs.PATTERN_FIRST
        found = self.values.variants(words, together=together)
        self.variants += len(found)
        if self.variants > _MOST_VARIANTS:
            raise TooMany
        return found

    def judge_words(self, words: Sequence[Word]) -> Judged:
        first = words[0]
        if first.dynamic or first.glob:
            return plain(first.text, OPAQUE, words[1:], "a program known only when it runs")
        program = first.text
        if program in READERS:
            return programs.read_program(program, words)
        if "/" in program:
            return self.by_path(words)
        handler = HANDLERS.get(program)
        if handler is not None:
            if program in ("mapfile", "readarray") or (
                program == "printf" and words[1:2] and words[1].text[:2] == "-v"
            ):
                self.check_hooks(words[1:])
            return handler(words)
        if program in interpreters.VARIABLES:
            self.set_variables(words)
            return interpreters.names_variables(program, words)
        if program in ("cd", "pushd", "popd", "chdir"):
            return self.change_folder(program, words)
        if program == "env":
            return self.judge_env(words)
        return by_table(program, words)

    def by_path(self, words: Sequence[Word]) -> Judged:
        """A program given by its path is what its name says, and more if it is none of the system's."""
        path = posixpath.normpath(words[0].text)
        folder, _, program = path.rpartition("/")
        if program in ("", ".", ".."):
            return plain(path, OPAQUE, words[1:], "no program name")
        named = self.judge_words((Word(program), *words[1:]))
        if is_system(folder):
            return named
        effects = named.effects | EXECUTE
        if any(joined(here, path)[:2] in ("..", "~/") for here in self.current_folders):
            effects |= OUTSIDE
        worse = named.effects > EXECUTE
        why = named.why if worse else f"{path}: a program Quintet does not know"
        return Judged(effects, why, [*named.reads, path], named.writes, named.globs, named.inner)

    def change_folder(self, program: str, words: Sequence[Word]) -> Judged:
        """cd: where the commands after it run."""
        operands = words[1:]
        if len(words) != 2:
            operands = [word for word in operands if word.text not in ("-L", "-e", "--")]
        if len(operands) > 1 or program == "popd" or any(w.dynamic or w.glob or w.text[:1] == "-" for w in operands):
            self.current_folders = ["~"]
            self.possible_folders = [*self.possible_folders, "~"]
            back = program == "popd" or any(word.text == "-" for word in operands)
            return Judged(EXECUTE, f"{program}: a folder known only when it runs", ["~"] if back else ())
        target = operands[0].text if operands else "~"
        entered = [joined(folder, target) for folder in self.current_folders]
        before = self.possible_folders
        self.possible_folders = [*before, *(folder for folder in entered if folder not in before)]
        if len(self.possible_folders) > _MOST_FOLDERS:
            self.possible_folders = ["~"]
        read = Judged(READ, f"{program}: reads", [target])
        self.add_paths(read)
        self.current_folders = entered
        return Judged(READ, read.why)

    def judge_env(self, words: Sequence[Word]) -> Judged:
        """env: assignments, then a command."""
        position = 1
        while position < len(words):
            word = words[position]
            text = word.text
            variable, equals, value = text.partition("=")
            if text in ("-u", "--unset", "-C", "--chdir"):
                if text in ("-C", "--chdir") and position + 1 < len(words):
                    self.add_paths(Judged(READ, "", [words[position + 1].text]))
                    self.add_effects(EXECUTE, "env -C: another folder")
                position += 1
            elif text[:1] == "-" and text not in ("-i", "-0", "-", "--ignore-environment", "--null", "--"):
                return plain("env", DESTROY, words[position:], f"{text} is a flag Quintet does not know")
            elif equals and text[:1] != "-":
                self.assign(
                    ShellAssignment(variable, Word(value, word.dynamic, word.glob)),
                    ShellCommand(tuple(words[position:])),
                )
            elif text[:1] != "-":
                return Judged(NONE, "env: runs a command", inner=(words[position:],))
            position += 1
        return Judged(READ, "env: reads")

    def check_hooks(self, words: Sequence[Word]) -> None:
        """A builtin that may set a variable by its name."""
        if any(is_hook(word.text) for word in words):
            self.add_effects(OPAQUE, "a variable that changes what programs do")

    def set_variables(self, words: Sequence[Word]) -> None:
        """read, export and their like set the variables they name."""
        for word in words[1:]:
            variable, _, value = word.text.partition("=")
            self.assign(ShellAssignment(variable, Word(value, word.dynamic)), ShellCommand(tuple(words)))

    def assign(self, assignment: ShellAssignment, command: ShellCommand) -> None:
        variable, value = assignment.name, assignment.value
        program = command.words[0].text if command.words else ""
        if variable == "IFS" and program == "read":
            return  # how it splits, and nothing else
        if is_hook(variable):
            self.add_effects(OPAQUE, f"{variable}: a variable that changes what programs do")
        elif "$(" in value.text or "`" in value.text:
            self.add_effects(OPAQUE, f"{variable}: contains code")
        elif program in interpreters.VARIABLES:
            if not _UNEVALUATED.fullmatch(value.text) and any(
                "i" in w.text for w in command.words if w.text[:1] == "-"
            ):
                self.add_effects(OPAQUE, f"{variable}: runs as an expression")
        elif program not in ("", "for") and variable not in KNOWN_VARIABLES:
            self.add_effects(EXECUTE, f"{variable}: a variable Quintet does not know")
        if value.text and not value.dynamic:
            self.add_paths(Judged(READ, "", name(value.text), (), [value.text] if value.glob else ()))

    def redirect(self, redirect: Redirect) -> None:
        operator, target = redirect.operator, redirect.target
        text = target.text
        if target.parts:
            for spelled in filter(None, self.values.words(target)):
                self.redirect(Redirect(operator, spelled[0]))
        if operator[:2] == "<<" or (operator.endswith("&") and _DIGITS.issuperset(text)) or operator.endswith("&-"):
            return
        if text in SAFE_DEVICES:
            return
        if operator[0] == "<" and operator != "<>":
            if text.startswith(("/dev/tcp/", "/dev/udp/")):
                self.add_effects(NETWORK | OUTSIDE, "a connection by redirection")
            elif target.dynamic:
                self.add_effects(EXECUTE, "which files it reads is known only when it runs")
            else:
                self.add_paths(Judged(READ, "", [text], (), [text] if target.glob else ()))
            return
        if target.dynamic or target.glob:
            self.add_effects(EDIT | OPAQUE, "writes to a place known only when it runs")
        elif text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.add_effects(NETWORK | OUTSIDE, "a connection by redirection")
        else:
            self.add_effects(EDIT, f"{operator} {text}: changes files")
            self.add_paths(Judged(EDIT, "", (), [text]))

    def add_paths(self, judged: Judged, opened: bool = True) -> None:
        """Take over the files a command names, relative to where it may run."""
        here, reads = self.current_folders, self.reads if opened else self.looked_for
        if len(here) == 1:
            folder = here[0]
            for path in judged.reads:
                reads[joined(folder, path) if folder or ".." in path else path] = None
                if path[:1] == "/":
                    self.check_device(path)
        else:
            for path in judged.reads:
                for folder in here:
                    reads[joined(folder, path)] = None
                self.check_device(path)
        for path in judged.writes:
            for folder in here:
                self.writes[joined(folder, path)] = None
            self.check_device(path)
            if not WILD.isdisjoint(path):
                self.writes[joined(here[0], guarded(path))] = None
        for pattern in judged.globs:
            if (here[0], pattern) not in self.patterns:
                self.patterns.add((here[0], pattern))
                for secret in secrets(pattern):
                    self.reads[joined(here[0], secret)] = None

    def check_device(self, path: str) -> None:
        """Devices and the kernel's own files are no files."""
        if path.startswith(("/dev/", "/proc", "/sys/", "//")) and path not in FILES_OF_THE_KERNEL:
            if path.startswith(("/dev/tcp/", "/dev/udp/")):
                self.add_effects(NETWORK | OUTSIDE, f"{path}: a connection")
            else:
                self.add_effects(OUTSIDE, f"{path}: a system file")

    def add_arithmetic(self, script: Script) -> None:
        """Arithmetic runs what a variable holds: harmless only if all that was assigned are plain values."""
        values = [a.value for c in script.commands for a in c.assignments]
        values += [w for c in script.commands if c.words[:1] == (Word("for"),) for w in c.words[1:]]
        tested = [w.text for c in script.commands if c.words[:1] == (Word("test"),) for w in c.words[1:]]
        if not all(_UNEVALUATED.fullmatch(value.text) for value in values) or any(
            "$(" in text or "`" in text or "[" in text for text in tested
        ):
            self.add_effects(OPAQUE, "arithmetic over what is known only when it runs")
        else:
            self.add_effects(EXECUTE, "arithmetic over variables")
