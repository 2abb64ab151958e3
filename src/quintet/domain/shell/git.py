"""git and gh, subcommand by subcommand: what reads, what writes the repository, what loses work, what leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.arguments import (
    COMMIT,
    DELETE,
    DESTROY,
    EDIT,
    EXECUTE,
    NETWORK,
    NONE,
    OPAQUE,
    OUTSIDE,
    PUBLISH,
    READ,
    Effects,
    Judged,
    abbreviates,
    arguments,
    letters,
    names,
    patterns,
    plain,
    specification,
    table,
    verb,
)
from quintet.domain.shell.syntax import Word

_LOST = DESTROY | COMMIT
_SUBCOMMANDS: dict[str, Effects] = table(
    read=(
        READ,
        "status diff log show rev-parse ls-files blame annotate describe shortlog ls-tree cat-file rev-list name-rev "
        "merge-base for-each-ref show-ref grep whatchanged count-objects diff-tree diff-files diff-index check-ignore "
        "check-attr version range-diff cherry show-branch verify-commit merge-tree",
    ),
    commit=(
        COMMIT,
        "add commit stage write-tree commit-tree mktree hash-object update-index pack-refs notes rerere replace",
    ),
    both=(COMMIT | EDIT, "merge cherry-pick revert am init mv checkout-index sparse-checkout"),
    edit=(EDIT, "format-patch bundle"),
    network=(NETWORK | COMMIT, "fetch"),
    pull=(NETWORK | COMMIT | EDIT, "pull"),
    ls_remote=(NETWORK, "ls-remote"),
    destroy=(_LOST, "prune prune-packed gc filter-branch filter-repo unpack-objects fast-import update-ref"),
    outside=(
        OUTSIDE,
        "difftool mergetool instaweb daemon gui citool svn p4 cvsimport cvsserver cvsexportcommit hook maintenance "
        "credential credential-store credential-cache shell upload-pack receive-pack http-backend web--browse "
        "send-pack remote-ext remote-fd update-server-info imap-send fsmonitor--daemon scalar",
    ),
    publish=(PUBLISH, "send-email request-pull"),
)
_BRANCH = (
    "a r v vv all remotes verbose list l show-current contains= no-contains= merged no-merged sort= format= column "
    "color no-color points-at= i"
)
_TAG = "l n list contains= no-contains= merged no-merged sort= format= points-at= column i"
_RUNS_A_PROGRAM = (
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--template",
    "--unsafe-paths",
    "--remote",
    "--config",
    "--filters",
)
_WHOLE_FLAGS = word_set("--text --filter --remotes")  # that only begin like one of those
_GREP_VALUES = frozenset("efABCm")  # what stands behind one of these letters is its value
_FORCE = frozenset({"f", "force", "D", "delete", "d", "mirror", "prune", "force-with-lease", "force-if-includes"})
_SAFE_SETTINGS = ("color.", "user.name=", "user.email=", "advice.", "core.quotepath=", "commit.gpgsign=false")
VALUELESS = word_set("--no-pager -P --literal-pathspecs --no-optional-locks --no-replace-objects --bare -p")
_MESSAGE = frozenset({"-m", "--message", "-am", "--author", "--date", "--trailer"})
_FILE_LIKE = regex(r"\.[A-Za-z]\w*$|/$|^\.$|^\.\.?/|^:|\*")


def git(words: Sequence[Word]) -> Judged:
    effects: Effects = NONE
    folders: list[str] = []
    place = 1
    while place < len(words) and words[place].text[:1] == "-" and not words[place].dynamic:
        flag = words[place].text
        value = words[place + 1] if place + 1 < len(words) else Word("")
        if flag in ("--version", "--help", "--exec-path", "--html-path", "--man-path") and len(words) == 2:
            return Judged(READ, "git: reads")
        if flag == "-C" and not value.dynamic:
            folders.append(value.text)
            place += 1
        elif flag == "-c":
            safe = value.text.lower().startswith(_SAFE_SETTINGS) and not value.dynamic
            effects |= NONE if safe else OPAQUE
            place += 1
        elif flag.startswith(("--git-dir", "--work-tree", "--namespace")):
            effects |= OUTSIDE
            folders += names(words[place : place + 2])
            if "=" not in flag:
                place += 1
        elif flag not in VALUELESS:
            return plain("git", OPAQUE, words[1:], f"{flag} before the subcommand")
        place += 1
    if place >= len(words):
        return plain("git", EXECUTE if len(words) > 1 else READ, words[1:])
    sub = words[place]
    if sub.dynamic:
        return plain("git", OPAQUE, words[1:], "a subcommand known only when it runs")
    judged = _subcommand(sub.text, words[place + 1 :])
    why = f"git -c: a setting that could run a program, and {sub.text}" if effects & OPAQUE else judged.why
    effects |= judged.effects
    if effects & DELETE and folders:
        effects |= DESTROY  # what is lost lies elsewhere than its words say
    return Judged(effects, why, [*folders, *judged.reads], judged.writes, judged.globs, deletes=judged.deletes)


@lru_cache(1024)
def _runs_a_program(text: str) -> bool:
    if text[:2] != "--":
        return "ext::" in text
    return text.partition("=")[0] not in _WHOLE_FLAGS and abbreviates(text, *_RUNS_A_PROGRAM)


def _opens(rest: Sequence[Word]) -> bool:
    """Whether `git grep` gives its files to a program: -O, also among other letters and with the program behind it."""
    for word in rest:
        if word.text == "--":
            return False
        if word.text[:1] == "-" and word.text[1:2] != "-":
            before, found, _ = word.text[1:].partition("O")
            if found and _GREP_VALUES.isdisjoint(before):
                return True
    return False


def _subcommand(sub: str, rest: Sequence[Word]) -> Judged:
    if (sub != "config" and any(_runs_a_program(word.text) for word in rest)) or (sub == "grep" and _opens(rest)):
        return plain("git", OUTSIDE | COMMIT, rest, f"{sub} with a program to run")
    effects = _SUBCOMMANDS.get(sub)
    if effects == READ:
        return _reads(sub, rest)
    named = _without_messages(rest) if sub in ("commit", "tag", "merge", "notes", "stash", "revert") else rest
    if row := _BY_FLAG.get(sub):
        effects = row[1] if _flags(rest) & row[0] else row[2]
    elif special := _SPECIAL.get(sub):
        effects = special(_GitCall(rest))
        if effects == READ:
            return _reads(sub, rest)
    if effects is None:
        return plain("git", EXECUTE | NETWORK, rest, f"{sub} is not a subcommand Quintet knows")
    effects = effects or READ  # a listing, with flags that were looked at
    writes = [word.text for word in named if word.text[:1] != "-"] if sub in _WRITES_OPERANDS else []
    if sub == "clone" or sub == "init":
        writes = writes[-1:]
    lost = [word.text for word in rest if word.text[:1] != "-"] if effects & DELETE else ()
    return Judged(effects, f"git {sub}: {verb(effects)}", names(named), writes, patterns(named), deletes=lost)


_WRITES_OPERANDS = word_set("mv clone init worktree archive format-patch rm bundle")


def _without_messages(rest: Sequence[Word]) -> list[Word]:
    """Without what is written into a commit: it names no file."""
    kept: list[Word] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word.text in _MESSAGE or (word.text[:1] == "-" and word.text[1:2] != "-" and word.text.endswith("m")):
            skip = True
        elif not word.text.startswith(("--message=", "--author=", "--date=", "--trailer=")):
            kept.append(word)
    return kept


def _flags(rest: Sequence[Word]) -> set[str]:
    return arguments(rest, {}).flags | {
        letter for word in rest if word.text[:1] == "-" and word.text[1:2] != "-" for letter in word.text[1:]
    }


def _reads(sub: str, rest: Sequence[Word]) -> Judged:
    """git that reads, unless a flag names a file to write."""
    got = arguments(rest, {})
    reads, globs = names(rest), patterns(rest)
    written = next((w.text for w in rest if abbreviates(w.text, "--output") or w.text[:2] == "-o"), "")
    if written and sub != "ls-files":
        return Judged(EDIT, f"git {sub} {written}: changes files", reads, reads, globs)
    if got.dynamic:
        return Judged(EXECUTE, f"git {sub}: which files it reads is known only when it runs", reads, (), globs)
    return Judged(READ, "git", reads, (), globs)


class _GitCall:
    """The words behind a subcommand."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self.flags = frozenset(_flags(words))
        self.operands = [word.text for word in words if word.text[:1] != "-"]
        self.dynamic = any(word.dynamic for word in words)


def _branch(call: _GitCall) -> Effects:
    if call.flags & {"D", "f", "force", "M", "C"}:
        return _LOST
    return _lists(call.words, _BRANCH, {"list", "l", "contains", "no-contains", "merged", "no-merged", "a", "r"})


def _tag(call: _GitCall) -> Effects:
    if call.flags & {"d", "delete", "f", "force"} and not call.flags & {"list"}:
        return _LOST
    return _lists(call.words, _TAG, {"l", "list", "contains", "no-contains", "merged", "no-merged"})


def _lists(rest: Sequence[Word], known: str, listing: set[str]) -> Effects:
    got = arguments(rest, specification(known))
    if got.odd or got.dynamic or (got.operands and not got.flags & listing):
        return COMMIT
    return NONE


def _stash(call: _GitCall) -> Effects:
    sub = call.operands[0] if call.operands else ""
    if sub in ("list", "show"):
        return READ
    return _LOST if sub in ("drop", "clear") else COMMIT | EDIT


def _remote(call: _GitCall) -> Effects:
    if not call.operands or call.operands[0] == "get-url":
        return NONE if call.flags <= {"v", "verbose", "all", "push"} else EXECUTE
    if call.operands[0] in ("show", "update", "prune"):
        return NETWORK | COMMIT
    return OUTSIDE | COMMIT


def _config(call: _GitCall) -> Effects:
    places = {"global", "local", "system", "worktree", "show-origin", "show-scope", "z", "null", "name-only", "bool"}
    if call.dynamic or call.flags & {"f", "file", "blob"}:
        return OUTSIDE | COMMIT
    if call.flags & {"get", "get-all", "get-regexp", "list", "l", "get-urlmatch"}:
        return NONE if not call.flags - places - {"get", "get-all", "get-regexp", "list", "l", "type"} else OUTSIDE
    if call.flags <= places and (len(call.operands) == 1 or call.operands[:1] in (["get"], ["list"])):
        return NONE
    return OUTSIDE | COMMIT


_PUTS_BACK = DELETE | EDIT | COMMIT  # git notes it in its index
_PATHSPEC = regex(r"^:|[*?\[\\]")  # what git itself takes for a pattern, which no shell would
_RESTORE_FLAGS = word_set("W worktree s source q quiet progress no-progress overlay no-overlay")


def _names_files(call: _GitCall) -> bool:
    texts = [word.text for word in call.words]
    flag_like = any(text[:1] == "-" for text in texts[texts.index("--") + 1 :]) if "--" in texts else False
    return bool(call.operands) and not (call.dynamic or flag_like or any(map(_PATHSPEC.search, call.operands)))


def _checkout(call: _GitCall) -> Effects:
    if [word.text for word in call.words[:1]] == ["--"] and _names_files(call):
        return _PUTS_BACK
    new = call.flags & {"b", "orphan"}
    loses = call.flags & {"f", "force", "B", "p", "patch", "ours", "theirs", "pathspec-from-file"}
    paths = any(word.text == "--" for word in call.words) or any(_FILE_LIKE.search(o) for o in call.operands)
    if loses or (not new and (paths or len(call.operands) > 1)) or call.dynamic:
        return _LOST | EDIT
    return COMMIT | EDIT


def _restore(call: _GitCall) -> Effects:
    if _names_files(call) and not any(word.glob for word in call.words) and call.flags - {""} <= _RESTORE_FLAGS:
        return _PUTS_BACK
    return COMMIT if call.flags & {"staged", "S"} and not call.flags & {"worktree", "W"} else _LOST | EDIT


def _reset(call: _GitCall) -> Effects:
    return _LOST if call.flags & {"hard", "merge", "keep"} or call.dynamic else COMMIT


def _clean(call: _GitCall) -> Effects:
    return NONE if call.flags & {"n", "dry-run"} and not call.flags - {"n", "dry-run", "d", "x", "X"} else DESTROY


def _remove(call: _GitCall) -> Effects:
    return COMMIT if "cached" in call.flags and not call.dynamic else _LOST


def _worktree(call: _GitCall) -> Effects:
    sub = call.operands[0] if call.operands else ""
    if sub == "list":
        return NONE
    return _LOST | EDIT if sub == "remove" or call.flags & {"f", "force"} else COMMIT | EDIT


def _reflog(call: _GitCall) -> Effects:
    return _LOST if call.operands and call.operands[0] in ("expire", "delete", "drop") else READ


def _push(call: _GitCall) -> Effects:
    forced = call.flags & _FORCE or any(o[:1] in "+:" for o in call.operands) or call.dynamic
    return PUBLISH | COMMIT | (DESTROY if forced else NONE)  # it writes refs/remotes


def _symbolic_ref(call: _GitCall) -> Effects:
    return COMMIT if len(call.operands) > 1 or call.flags & {"d", "delete"} else NONE


def _submodule(call: _GitCall) -> Effects:
    sub = call.operands[0] if call.operands else "status"
    if sub in ("status", "summary"):
        return NONE
    if sub == "foreach":
        return OUTSIDE | COMMIT
    return _LOST | EDIT if sub == "deinit" else NETWORK | COMMIT | EDIT


def _bisect(call: _GitCall) -> Effects:
    sub = call.operands[0] if call.operands else ""
    if sub in ("log", "view", "visualize"):
        return NONE if sub == "log" else OUTSIDE
    return OUTSIDE | COMMIT | EDIT if sub == "run" else COMMIT | EDIT


# subcommand → flags, what it does with one of them, and what without
_BY_FLAG: dict[str, tuple[frozenset[str], Effects, Effects]] = {
    "switch": (word_set("f force discard-changes C force-create"), _LOST | EDIT, COMMIT | EDIT),
    "rebase": (word_set("x exec"), OUTSIDE | COMMIT | EDIT, COMMIT | EDIT),
    "read-tree": (word_set("u reset"), _LOST | EDIT, COMMIT),
    "repack": (word_set("d"), _LOST, COMMIT),
    "archive": (word_set("o output"), EDIT, NONE),
    "apply": (word_set("index cached 3 3way"), EDIT | COMMIT, EDIT),
    "clone": (word_set("c u"), NETWORK | COMMIT | EDIT | OUTSIDE, NETWORK | COMMIT | EDIT),
}
_SPECIAL: dict[str, Callable[[_GitCall], Effects]] = {
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "remote": _remote,
    "config": _config,
    "checkout": _checkout,
    "restore": _restore,
    "reset": _reset,
    "clean": _clean,
    "rm": _remove,
    "worktree": _worktree,
    "reflog": _reflog,
    "push": _push,
    "symbolic-ref": _symbolic_ref,
    "submodule": _submodule,
    "bisect": _bisect,
}

_GH_READS = word_set("list view status checks diff watch")
_GH_TALKS = word_set("pr mr issue run repo release workflow gist label cache search project ruleset")


def gh(words: Sequence[Word]) -> Judged:
    operands = [word for word in words[1:] if word.text[:1] != "-"]
    kind, action = ([word.text for word in operands] + ["", ""])[:2]
    if any(word.dynamic for word in operands[:2]) or kind in ("alias", "extension", "config", "codespace", "auth"):
        effects = OUTSIDE | PUBLISH
    elif kind in _GH_TALKS and (action in _GH_READS or kind == "search"):
        effects = NETWORK
    elif kind == "pr" and action == "checkout":
        effects = NETWORK | COMMIT | EDIT
    elif kind == "api" and not any(word.text[:2] == "--" or letters(word.text) & set("XfF") for word in words[2:]):
        effects = NETWORK
    elif not kind or kind in ("version", "help"):
        effects = READ
    else:
        effects = PUBLISH
    return Judged(effects, f"{words[0].text} {kind} {action}: {verb(effects)}".replace(" :", ":"), names(words[3:]))
