"""Which of the user's own keys and secrets a command gets: only those that the program it runs needs.

Keys that the sandbox shows are one table, by the command and with its reason. A line that publishes always needs
approval, and its question names what it may read. A line that is git alone and only fetches gets the ssh agent, never
a key itself, and only with approval. Secrets of the environment go to the commands that the user's settings name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect, LinePart

AGENT, HOSTS, PRIVATE = "ssh-agent", "ssh-hosts", "ssh-keys"


class ProgramKeys(Struct, frozen=True, gc=False):
    shown: str  # in a question
    paths: tuple[str, ...] = ()  # below the home; what is not there is left out


KEYS = {
    AGENT: ProgramKeys("your ssh agent"),  # the socket; it signs, and gives no key away
    HOSTS: ProgramKeys(
        "~/.ssh (config, known_hosts, public keys)",
        (
            *(".ssh/config", ".ssh/config.d", ".ssh/known_hosts", ".ssh/known_hosts2"),
            *(".ssh/id_ed25519.pub", ".ssh/id_rsa.pub", ".ssh/id_ecdsa.pub", ".ssh/id_ed25519_sk.pub"),
            *(".ssh/id_ecdsa_sk.pub", ".ssh/id_dsa.pub"),
        ),
    ),
    PRIVATE: ProgramKeys(  # and what IdentityFile names in ~/.ssh/config
        "your private ssh keys",
        (
            *(".ssh/id_ed25519", ".ssh/id_rsa", ".ssh/id_ecdsa", ".ssh/id_ed25519_sk", ".ssh/id_ecdsa_sk"),
            *(".ssh/id_dsa", ".ssh/id_ed25519-cert.pub", ".ssh/id_rsa-cert.pub", ".ssh/id_ecdsa-cert.pub"),
        ),
    ),
    "git": ProgramKeys("git's stored passwords", (".git-credentials", ".config/git/credentials", ".netrc")),
    "gh": ProgramKeys("~/.config/gh", (".config/gh/hosts.yml", ".config/gh/config.yml")),
    "glab": ProgramKeys("~/.config/glab-cli", (".config/glab-cli",)),
    "hub": ProgramKeys("~/.config/hub", (".config/hub",)),
    "npm": ProgramKeys("~/.npmrc", (".npmrc",)),
    "yarn": ProgramKeys("~/.yarnrc, ~/.npmrc", (".yarnrc", ".yarnrc.yml", ".npmrc")),
    "pnpm": ProgramKeys("~/.npmrc", (".npmrc", ".config/pnpm/rc")),
    "bun": ProgramKeys("~/.bunfig.toml, ~/.npmrc", (".bunfig.toml", ".npmrc", ".bun/.npmrc")),
    "pypi": ProgramKeys("~/.pypirc", (".pypirc",)),
    "uv": ProgramKeys("uv's credentials", (".local/share/uv/credentials",)),
    "poetry": ProgramKeys("poetry's auth.toml", (".config/pypoetry",)),
    "hatch": ProgramKeys("~/.pypirc, hatch's settings", (".pypirc", ".config/hatch")),
    "cargo": ProgramKeys("~/.cargo/credentials", (".cargo/credentials", ".cargo/credentials.toml")),
    "gem": ProgramKeys("~/.gem/credentials", (".gem/credentials", ".local/share/gem/credentials")),
    "hex": ProgramKeys("~/.hex/hex.config", (".hex/hex.config",)),
    "svn": ProgramKeys("~/.subversion", (".subversion",)),
    "fly": ProgramKeys("~/.fly/config.yml", (".fly/config.yml",)),
    "wrangler": ProgramKeys("wrangler's login", (".config/.wrangler", ".wrangler/config")),
    "firebase": ProgramKeys("firebase's login", (".config/configstore/firebase-tools.json",)),
    "terraform": ProgramKeys("terraform's credentials", (".terraformrc", ".terraform.d/credentials.tfrc.json")),
    "pulumi": ProgramKeys("~/.pulumi/credentials.json", (".pulumi/credentials.json",)),
    "msmtp": ProgramKeys("~/.msmtprc", (".msmtprc", ".config/msmtp/config")),
}
_SSH = (HOSTS, AGENT, PRIVATE)
_NODE = "publish unpublish deprecate login logout adduser access owner dist-tag token star run run-script"


def _each(program: str, subcommands: str, *keys: str) -> dict[str, tuple[str, ...]]:
    return {f"{program} {sub}": keys for sub in subcommands.split()}


# By how a command begins. What is not here gets nothing: programs that take a token from their environment (goreleaser,
# semantic-release), those whose line runs outside the sandbox anyway (ssh, docker, kubectl, clouds), and what a script
# of the project would like.
PUBLISHING: dict[str, tuple[str, ...]] = {
    "git push": (*_SSH, "git", "gh"),  # over ssh, or over https by git's own store or gh
    "git send-email": ("git",),
    "gh": ("gh",),
    "glab": ("glab",),
    "hub": ("hub",),
    **_each("npm", _NODE, "npm"),
    **_each("yarn", f"{_NODE} npm", "yarn"),
    **_each("pnpm", _NODE, "pnpm"),
    **_each("bun", _NODE, "bun"),
    "twine": ("pypi",),
    "flit publish": ("pypi",),
    "hatch publish": ("hatch",),
    "uv publish": ("uv",),
    "poetry publish": ("poetry",),
    **_each("cargo", "publish yank owner login", "cargo"),
    **_each("gem", "push yank", "gem"),
    "mix hex.publish": ("hex",),
    **_each("svn", "commit ci", "svn"),
    "msmtp": ("msmtp",),
    **{program: (program,) for program in ("fly", "wrangler", "firebase", "terraform", "pulumi")},  # deploy targets
}
FETCHING = (HOSTS, AGENT)  # hooks and filters of the repository may run beside it, so it gets no key


def keys_for(
    effects: frozenset[Effect],
    commands: Sequence[str],
    parts: Sequence[LinePart],
    *,
    approved: bool,
    user_line: bool = False,
) -> tuple[str, ...]:
    """The names of what a line is shown. `approved`: a person is asked about it, or a rule of theirs names it.
    `user_line`: it is a line of the user's settings, as of a deploy target; most of these log in by ssh."""
    if not approved:
        return ()
    if Effect.PUBLISH in effects:
        begun = [key for command in commands for key in _begins(command)]
        needed = [name for key in begun for name in PUBLISHING.get(key, ())]
        return tuple(dict.fromkeys((*(_SSH if user_line else ()), *needed)))
    if Effect.NETWORK in effects and parts and all(part.name == "git" for part in parts):
        return FETCHING
    return ()


def _begins(command: str) -> tuple[str, str]:
    program, _, rest = command.partition(" ")
    return program, f"{program} {rest.partition(' ')[0]}"


def keys_shown(names: Sequence[str]) -> str:
    return ", ".join(KEYS[name].shown for name in names if name in KEYS)


_SUSPECT = regex(r"(?i)KEY|TOKEN|SECRET|PASS|PWD|CRED|AUTH|COOKIE|SESSION|PRIVATE|DSN|PAT$")


def is_secret_name(name: str, patterns: Iterable[str]) -> bool:
    return bool(_any_of(tuple(patterns)).match(name.upper()))


def may_be_secret(name: str, patterns: Iterable[str]) -> bool:
    """Whether a variable of this name may be one: what is handed to a stranger is looked at more strictly."""
    return is_secret_name(name, patterns) or bool(_SUSPECT.search(name))


def given_to(server: str, variable: str, variables: Iterable[str]) -> bool:
    """Whether the user lets an MCP server of a project have a variable, by lines such as "docs: GH_TOKEN"."""
    return (server, variable) in {tuple(part.strip() for part in line.split(":", 1)) for line in variables}


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.upper()) for pattern in patterns) or r"(?!)")


def exposures(settings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The commands that get each secret, from lines such as "GH_TOKEN: gh *"."""
    found: dict[str, tuple[str, ...]] = {}
    for line in settings:
        name, colon, command = line.partition(":")
        if colon and name.strip() and command.strip():
            found[name.strip()] = (*found.get(name.strip(), ()), command.strip())
    return found


def granted(
    effects: frozenset[Effect], commands: Sequence[str], exposed: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The secrets a call gets: those that every command of its lines may have.

    A line that is not understood, or destroys, gets none: nobody knows all that it would run.
    """
    if not exposed or not commands or Effect.DESTROY in effects:
        return ()
    return tuple(
        name
        for name, patterns in sorted(exposed.items())
        if all(any(fnmatchcase(command, pattern) for pattern in patterns) for command in commands)
    )
