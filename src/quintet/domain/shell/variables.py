"""What the variables of a line may hold, as far as the line itself says it, and those that change what programs do.

Assignments, loops, `$(echo x)`, pipes into xargs and read are followed wherever they stand in the line, without regard
to order: what comes out are further commands a command may turn out to be, never fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.arguments import alternatives
from quintet.domain.shell.syntax import CommandSpan, Script, ShellCommand, Word, unescaped

PIPED = Word("$", True, False, ("", "|", ""))  # what a program is given through a pipe
MOST = 64  # values of one word that are followed
LONGEST = 4096
_BLANK = regex("[ \t\n]+")
_FUNCTIONS = 100
_DEPTH = 6
_POSITIONAL = word_set("1 2 3 4 5 6 7 8 9 @ *")
_SETTING = word_set("export declare typeset local readonly env")
_PRINTING = word_set("echo printf ls")
_NAMING = word_set("-name -iname -path -ipath -wholename -iwholename")


class TooMany(Exception):
    """More values than can be followed."""


class Values:
    """The values of a script's variables. `|` is what goes through its pipes, `@` the arguments of its functions."""

    def __init__(self, script: Script) -> None:
        self._evaluates = script.evaluates  # arithmetic may set any of them
        self._known: dict[str, list[Word]] = {
            "HOME": [Word("~")],
            "PWD": [Word(".")],
            "OLDPWD": [Word("~")],
        }
        self._piping = False
        self._settled_names: dict[str, bool] = {}
        self._words: dict[tuple[tuple[str, ...], bool], list[list[Word]]] = {}
        self._held_at: dict[tuple[str, int], list[Word]] = {}
        functions = {span.name for span in script.spans}
        for default in script.defaults:
            self._add(default.name, [default.value])
        for span in script.spans:
            self._add(span.name, _printed(script, span))
        for command in script.commands:
            self._command(command, functions)

    def _add(self, name: str, values: Iterable[Word]) -> None:
        name = "@" if name in _POSITIONAL else name
        self._known.setdefault(name, []).extend(values)

    def _command(self, command: ShellCommand, functions: set[str]) -> None:
        words = command.words
        program = words[0].text if words else ""
        for assignment in command.assignments:
            self._add(assignment.name, words[1:] if program == "for" else [assignment.value])
        for redirect in command.redirects:
            if redirect.operator in ("<<<", "<<"):
                self._add("|", [redirect.target])
        if program in _PRINTING:
            self._add("|", _output(words))
            if program == "printf" and len(words) > 2 and words[1].text == "-v":
                self._add(words[2].text, _output(words[2:]))
        elif program == "find":
            wanted = [word for flag, word in pairwise(words) if flag.text in _NAMING]
            self._add("|", [Word(word.text, word.dynamic, True, word.parts) for word in wanted])
        elif program in ("read", "mapfile", "readarray", "getopts", "let"):
            for word in words[1:]:
                self._add(word.text, [PIPED])
        elif program == "set" or program in functions:
            self._add("@", words[1:])
        elif program in _SETTING:
            for word in words[1:]:
                name, equals, value = word.text.partition("=")
                if equals:
                    self._add(name, [Word(value)])

    def variants(self, words: Sequence[Word], *, together: bool = False) -> list[list[Word]]:
        """The commands that `words` may turn out to be, every value of each of them in one at least.

        `together`: the program only reads what its operands name, so that one command can name them all.
        """
        values = [self.words(word) if word.parts else [] for word in words]
        if not any(values):
            return []
        choices = [
            choice or [[Word(word.text, word.dynamic, word.glob)]] for choice, word in zip(values, words, strict=True)
        ]
        if together:
            whole = [word for choice in choices for chosen in choice for word in chosen]
            if len([word for word in whole if word.text[:1] == "-"]) == len([w for w in words if w.text[:1] == "-"]):
                return [whole]
        most = max(map(len, choices))
        return [[word for choice in choices for word in choice[turn % len(choice)]] for turn in range(most)]

    def certain(self, words: Sequence[Word]) -> bool:
        """Whether the line says all that these words can be; what the environment may set, it cannot say."""
        if self._evaluates or words[0].parts:
            return False
        return all(self._settled(word, 0) for word in words if word.dynamic or word.parts)

    def _settled(self, word: Word, depth: int) -> bool:
        return bool(word.parts) and all(self._is_settled(name, depth) for name in word.parts[1::2])

    def _is_settled(self, name: str, depth: int) -> bool:
        settled = self._settled_names.get(name)
        if settled is None:
            values = self._known.get(name, ()) if name.islower() and depth < _DEPTH else ()
            settled = bool(values)
            for value in values:
                settled = settled and (self._settled(value, depth + 1) if value.parts else not value.dynamic)
            self._settled_names[name] = settled
        return settled

    def words(self, word: Word) -> list[list[Word]]:
        """What one word may become: each value whole, and parted at its blanks."""
        if (word.parts, word.glob) in self._words:
            return self._words[word.parts, word.glob]
        found: list[list[Word]] = []
        for value in self._spelled(word, 0):
            if value.text:
                found.append([Word(value.text, False, value.glob)])
            split = _fields(value.text)
            if split and (len(split) > 1 or value.text != split[0]):
                found.append([_part(part) for part in split])
                found += [[_part(part)] for part in split]
        self._words[word.parts, word.glob] = found
        return found

    def _spelled(self, word: Word, depth: int) -> list[Word]:
        if not word.parts:
            return [Word(text, False, word.glob) for text in alternatives(word.text)] if word.dynamic else [word]
        found = [Word(word.parts[0], False, word.glob)]
        for place in range(1, len(word.parts), 2):
            values = self._held(word.parts[place], depth)
            after = word.parts[place + 1]
            found = list(
                dict.fromkeys(
                    Word(before.text + value.text + after, False, before.glob or value.glob)
                    for before in found
                    for value in values
                    if before.text or value.text or after[:1] != "/"  # an unknown folder is not the root
                )
            )
            if len(found) > MOST or (found and len(found[0].text) > LONGEST):
                raise TooMany
        return found

    def _held(self, name: str, depth: int) -> list[Word]:
        """The values of a variable; one that the line does not set may be empty."""
        name = "@" if name in _POSITIONAL else name
        known = self._known.get(name)
        if not known or depth == _DEPTH:
            return [Word("")]
        if (name, depth) in self._held_at:
            return self._held_at[name, depth]
        found: list[Word] = []
        if name == "|":
            if self._piping:  # what is read from a pipe and printed again
                known = [value for value in known if not value.parts]
            self._piping = True
        for value in known:
            for spelled in self._spelled(value, depth + 1):
                found.append(spelled)
                split = _fields(spelled.text)
                if len(split) > 1:
                    found += [_part(part) for part in split]
            if len(found) > MOST:
                raise TooMany
        if name == "|":
            self._piping = False
        self._held_at[name, depth] = list(dict.fromkeys(found))
        return self._held_at[name, depth]


def _fields(text: str) -> list[str]:
    """The words that a shell makes of a value: its blanks, and no others that Unicode knows."""
    return _BLANK.sub(" ", text).strip(" ").split(" ") if text.strip(" \t\n") else []


def _part(text: str) -> Word:
    return Word(text, False, "*" in text or "?" in text or "[" in text)


def _printed(script: Script, span: CommandSpan) -> list[Word]:
    """What the commands of a substitution may print, as far as they say it."""
    found: list[Word] = []
    for command in script.commands[span.first : span.end]:
        found += [redirect.target for redirect in command.redirects if redirect.operator[:2] == "<<"]
        if command.words and command.words[0].text in _PRINTING:
            found += _output(command.words)
    return found


def _output(words: Sequence[Word]) -> list[Word]:
    """What echo or printf prints, a word at a time and with its format filled in."""
    found = [word for word in words[1:] if word.text[:1] != "-"]
    plain = [word.text for word in found if not word.dynamic]
    if words[0].text == "printf" and plain and "%" in plain[0]:
        filled = plain[0]
        for text in plain[1:]:
            filled = filled.replace("%s", text, 1) if "%s" in filled else filled + text
        found.append(Word(filled))
    return found + [Word(unescaped(w.text) or "") for w in found if "\\" in w.text and not w.dynamic]


def self_calling(script: Script) -> str:
    """A function that calls itself, if only by way of others."""
    calls = {
        span.name: {_called(command) for command in script.commands[span.first : span.end]}
        for span in script.spans
        if span.name[0] != "("
    }
    if len(calls) > _FUNCTIONS:
        return next(iter(calls))
    for name in calls:
        reached: set[str] = set()
        going = {name}
        while going:
            reached |= going
            going = set().union(*(calls[function] for function in going)) & calls.keys()
            if name in going:
                return name
            going -= reached
    return ""


def _called(command: ShellCommand) -> str:
    texts = [word.text for word in command.words if word.text not in ("time", "-p", "!")]
    return texts[0] if texts else ""


# Variables that make a program do something else than what it is called for.
_HOOKS = word_set(
    "PATH IFS BASH_ENV ENV PAGER EDITOR VISUAL BROWSER PROMPT_COMMAND PS0 PS1 PS2 PS4 SHELLOPTS BASHOPTS SHELL HOME "
    "CDPATH LESSOPEN LESSCLOSE LESS LESSKEY MANPAGER MANOPT MORE CLASSPATH http_proxy https_proxy HTTP_PROXY "
    "HTTPS_PROXY all_proxy ALL_PROXY no_proxy FTP_PROXY MAKEFLAGS MAKEFILES RUSTC RUSTDOC RUSTFLAGS GOFLAGS GOROOT "
    "GOPROXY GOTOOLCHAIN CC CXX LD AR AS CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS TMPDIR GZIP ZIPOPT UNZIP RSYNC_RSH "
    "FIGNORE GLOBIGNORE HISTFILE INPUTRC TERMINFO TERMCAP OPENSSL_CONF CURL_HOME WGETRC SUDO_ASKPASS SUDO_EDITOR "
    "DBUS_SESSION_BUS_ADDRESS AWKPATH AWKLIBPATH EXINIT VIMINIT EMACSLOADPATH TEXEDIT GCONV_PATH LOCPATH NLSPATH "
    "HOSTALIASES RESOLV_HOST_CONF EXECIGNORE POSIXLY_CORRECT FPATH ZDOTDIR PSQLRC KUBECONFIG OLDPWD PWD MAILPATH "
    "COVERAGE_PROCESS_START COVERAGE_RCFILE MYPY_CONFIG_FILE ELECTRON_RUN_AS_NODE COMSPEC FCEDIT HGRCPATH"
)
_HOOK_STARTS = tuple(
    word_set(
        "LD_ DYLD_ GIT_ SSH_ BASH_ npm_config_ NPM_CONFIG_ PIP_ AWS_ GPG_ PYTEST_ PYTHON PERL RUBY NODE_ JAVA_ _JAVA "
        "JDK_ MAVEN_ GRADLE_ ANT_ SBT_ CARGO_ RUSTC_ UV_ POETRY_ BUNDLE_ GEM_ XDG_ DOCKER_ QUINTET_ CMAKE_ TS_NODE_ "
        "FZF_ SVN_"
    )
)
_HOOK_ENDS = tuple(
    word_set(
        "_PAGER _EDITOR _proxy _PROXY _COMMAND _ASKPASS _WRAPPER _OPTIONS _OPTS _SHELL _CONFIG_PATH _CONFIG_FILE "
        "_PRELOAD"
    )
)
KNOWN_VARIABLES = word_set(
    "PYTHONPATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONDEVMODE "
    "PYTHONASYNCIODEBUG PYTHONTRACEMALLOC PYTHONFAULTHANDLER LANG LANGUAGE TZ LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES "
    "CI DEBUG VERBOSE NO_COLOR FORCE_COLOR CLICOLOR TERM COLUMNS LINES NODE_ENV RUST_BACKTRACE RUST_LOG GO111MODULE "
    "CGO_ENABLED GOOS GOARCH DJANGO_SETTINGS_MODULE FLASK_ENV FLASK_APP LOG_LEVEL HYPOTHESIS_PROFILE COVERAGE_FILE "
    "TOX_ENV CARGO_TERM_COLOR"
)


def is_hook(variable: str) -> bool:
    if variable in KNOWN_VARIABLES:
        return False
    return variable in _HOOKS or variable.startswith(_HOOK_STARTS) or variable.endswith(_HOOK_ENDS)
