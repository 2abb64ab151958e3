"""git in the sandbox: which lines bring files into the project, and what a failure means that the sandbox made. Pure.

git says `does not appear to be a git repository` of a folder that is only not shown, and exits 128 for want of a key.
Each note names the cause and what the user can do; none of it is done for them. For lines that are git's alone and
bring files, protected files of the work tree are writable, and what git leaves there is judged by content afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.exposure import AGENT, FETCHING
from quintet.domain.permission.protected_paths import inside

SIGNING = (
    "git is set to sign here (commit.gpgsign or tag.gpgsign), and the sandbox has none of your signing keys: nothing "
    'was committed. With git.sign = "ask" in the user\'s settings, git_commit_signed asks for one signature. Or '
    "they commit in their own terminal, or agree to an unsigned commit: git commit --no-gpg-sign"
)
UPSTREAM = (
    "git's configuration is read-only in the sandbox, so the upstream is not set, whatever git "
    "says; the push itself was done. The user can set it in their own terminal: git branch "
    "--set-upstream-to=REMOTE/BRANCH"
)
UNKNOWN_HOST = (
    "the host is not in ~/.ssh/known_hosts, and nobody can confirm its key here. The user can "
    "connect once in their own terminal"
)
NO_KEYS = (
    "in the sandbox, only an approved git command can use ssh: git fetch and git pull get the user's ssh agent where "
    "they need approval (profile trusted or below). The user can also run the command in their own terminal"
)
NO_KEYS_IN_PARTIAL = "a partial sandbox shows none of the user's ssh keys: the user can run it in their own terminal"
NO_AGENT = (
    "this line gets the user's ssh agent and no private key: an agent that has the key (ssh-add) must run before "
    "Quintet starts. Or the user runs it in their own terminal"
)
NO_PASSWORD = "the sandbox has no passwords of the user for this: the user can run it in their own terminal, or use ssh"


class FailedCommand(Struct, frozen=True):
    output: str
    exit_code: int
    grant: Grant
    sandbox: Sandbox
    root: str


_SIGNS = regex(
    r"gpg failed to sign the data|Couldn't load (?:public|private) key|cannot run (?:gpg|ssh-keygen)\b|"
    r"No (?:private|secret) key|user\.signingkey|Load key \"[^\"\n]*\": (?:No such file|invalid format)"
)
_CONFIG = regex(r"could not (?:lock|write) config file \S*config: (?:Read-only file system|Device or resource busy)")
_ELSEWHERE = regex(r"fatal: (?:repository )?'((?:file://)?(?:/|\.\./)[^'\n]*)' does not (?:appear to be|exist)")


def explained(failure: FailedCommand) -> tuple[str, ...]:
    """What there is to say of a contained command that is over; mostly nothing."""
    if failure.sandbox is Sandbox.NONE or Effect.OUTSIDE in failure.grant.effects:
        return ()
    return tuple(note for mark, tell in _MARKS.items() if mark in failure.output and (note := tell(failure)))


def _signing(failure: FailedCommand) -> str:
    return SIGNING if failure.exit_code and _SIGNS.search(failure.output) else ""


def _upstream(failure: FailedCommand) -> str:
    return UPSTREAM if _CONFIG.search(failure.output) else ""


def _elsewhere(failure: FailedCommand) -> str:
    for found in _ELSEWHERE.finditer(failure.output):
        path = found[1].removeprefix("file://")
        if inside(path, failure.root) is None:
            return (
                f"{path} is outside the project, and the sandbox shows only a folder that the line names: git "
                f"pull {path} BRANCH needs approval, and then sees it read-only. The user can push there from "
                "their own terminal"
            )
    return ""


def _no_key(failure: FailedCommand) -> str:
    if failure.sandbox is Sandbox.PARTIAL:
        return NO_KEYS_IN_PARTIAL
    if AGENT not in failure.grant.keys:
        return NO_KEYS
    return NO_AGENT if failure.grant.keys == FETCHING else ""


_MARKS: dict[str, Callable[[FailedCommand], str]] = {
    "failed to write commit object": _signing,
    "unable to sign the tag": lambda failure: SIGNING,
    " config file ": _upstream,
    "does not appear to be a git repository": _elsewhere,
    "' does not exist": _elsewhere,
    "Host key verification failed": lambda failure: UNKNOWN_HOST,
    "Permission denied (publickey": _no_key,
    "terminal prompts disabled": lambda failure: NO_PASSWORD,
}


_EFFECTS = frozenset({Effect.READ, Effect.FETCH, Effect.EDIT, Effect.COMMIT, Effect.NETWORK, Effect.DESTROY})
_BRINGS = "checkout|switch|pull|merge|rebase|stash|reset|restore|cherry-pick|revert"
_PART = r"\s*git [a-z][a-z-]*(?: [^|&;<>()$`\\\n]*)?"
_LINE = regex(rf"{_PART}(?:(?:&&|;){_PART})*")
_BRINGING = regex(rf"(?:^|&&|;)\s*git (?:{_BRINGS})(?![\w-])")


def brings_by_git(command: Sequence[str], grant: Grant) -> bool:
    """Plain words only: a line with anything else in it has the covers that every other command has."""
    if Effect.COMMIT not in grant.effects or not _EFFECTS.issuperset(grant.effects):
        return False
    if len(command) != 3 or tuple(command[:2]) != ("bash", "-c"):
        return False
    return bool(_LINE.fullmatch(command[2]) and _BRINGING.search(command[2]))
