"""Programs, flags and variables with which one program is made to run another, or to send what it reads away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quintet.domain.shell.arguments import (
    BUILD,
    DESTROY,
    EXECUTE,
    NETWORK,
    OUTSIDE,
    PUBLISH,
    READ,
    Judged,
    abbreviates,
    arguments,
    letters,
    listed,
    names,
    patterns,
    plain,
    written,
)
from quintet.domain.shell.programs import edit_program
from quintet.domain.shell.syntax import Word
from quintet.domain.shell.variables import PIPED

# Variables that make a program do something else than what it is called for.
_HOOKS = listed(
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
    listed(
        "LD_ DYLD_ GIT_ SSH_ BASH_ npm_config_ NPM_CONFIG_ PIP_ AWS_ GPG_ PYTEST_ PYTHON PERL RUBY NODE_ JAVA_ _JAVA "
        "JDK_ MAVEN_ GRADLE_ ANT_ SBT_ CARGO_ RUSTC_ UV_ POETRY_ BUNDLE_ GEM_ XDG_ DOCKER_ QUINTET_ CMAKE_ TS_NODE_ "
        "FZF_ SVN_"
    )
)
_HOOK_ENDS = tuple(
    listed(
        "_PAGER _EDITOR _proxy _PROXY _COMMAND _ASKPASS _WRAPPER _OPTIONS _OPTS _SHELL _CONFIG_PATH _CONFIG_FILE "
        "_PRELOAD"
    )
)
KNOWN_VARIABLES = listed(
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


def fd(words: Sequence[Word]) -> Judged:
    for place, word in enumerate(words):
        if abbreviates(word.text, "--exec", "--exec-batch") or letters(word.text) & set("xX"):
            command = [PIPED if "{" in w.text else w for w in words[place + 1 :] if w.text != ";"]
            stuck = [Word(word.text.partition("=")[2])] if "=" in word.text else []
            inner = [*stuck, *command, PIPED]
            return Judged(EXECUTE, "fd: runs a command", names(words[1:place]), (), patterns(words), (inner,))
    return plain("fd", EXECUTE, words[1:])


def zip_(words: Sequence[Word]) -> Judged:
    judged = edit_program("zip", words)
    if any("m" in letters(w.text) or abbreviates(w.text, "--move", "--delete") for w in words[1:]):
        files = names(words[1:])
        return Judged(judged.effects | DESTROY, "zip -m: deletes what it packs", files, files, judged.globs)
    return judged


def connection(words: Sequence[Word]) -> Judged:
    """nc, socat and their like: raw connections, with a program at this end of it or not."""
    program = words[0].text
    for word in words[1:]:
        address = word.text.upper()
        if letters(word.text) & set("ec") or abbreviates(word.text, "--exec", "--sh-exec", "--lua-exec"):
            return plain(program, NETWORK | DESTROY, words[1:], "a program to run")
        if program == "socat" and any(kind in address for kind in ("EXEC", "SYSTEM", "SHELL")):
            return plain(program, NETWORK | DESTROY, words[1:], "a program to run")
    return Judged(NETWORK | OUTSIDE, f"{program}: a raw connection", [n for n in names(words[1:]) if "/" in n])


_LOOKS = listed("status why permit sessions settings tools help --version --help -h")


def quintet(words: Sequence[Word]) -> Judged:
    """Quintet looks at itself, but a call does not use it to do what it may not."""
    if len(words) > 1 and words[1].text in _LOOKS and not any(w.dynamic or w.text[:1] == "-" for w in words[2:]):
        return Judged(READ, f"quintet {words[1].text}: reads", names(words[2:]))
    return plain("quintet", OUTSIDE, words[1:], "asked to do it instead")


_HUB_READS = listed("browse ci-status help status version")


def hub(words: Sequence[Word]) -> Judged:
    if len(words) > 1 and words[1].text in _HUB_READS and not words[1].dynamic:
        return plain("hub", NETWORK, words[1:])
    return plain("hub", PUBLISH, words[1:], "publishes")


_EMPTIES = ("--basetemp",)


def build(program: str, words: Sequence[Word]) -> Judged:
    """Compilers, linters, test runners: what they are told to write is named."""
    rest = words[1:]
    for word in rest:
        if word.text.startswith(_EMPTIES):
            return plain(program, DESTROY, rest, f"{word.text}: a folder to empty")
    return Judged(BUILD, program, names(rest), written(rest), patterns(rest))


def coverage(words: Sequence[Word]) -> Judged:
    """coverage run: Python, with another name."""
    if len(words) > 1 and words[1].text == "run":
        got = arguments(words[2:], {})
        place = 2
        while place < len(words) and words[place].text[:1] == "-" and words[place].text not in ("-m", "--module"):
            place += 1
        rest = words[place:]
        if rest and rest[0].text == "--module":
            rest = (Word("-m"), *rest[1:])
        return Judged(BUILD, "coverage run: builds or tests", got.values, (), (), ((Word("python"), *rest),))
    return build("coverage", words)


HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    "fd": fd,
    "fdfind": fd,
    "zip": zip_,
    "quintet": quintet,
    "hub": hub,
    "coverage": coverage,
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet"), connection),
}
