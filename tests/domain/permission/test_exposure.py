"""Which keys a line is shown, by what it runs."""

from __future__ import annotations

import pytest

from quintet.domain.permission.effects import Effect, LinePart
from quintet.domain.permission.exposure import AGENT, FETCHING, HOSTS, PRIVATE, keys_for, keys_shown

PUBLISH = frozenset({Effect.PUBLISH, Effect.NETWORK})
NETWORK = frozenset({Effect.NETWORK, Effect.COMMIT})
GIT = LinePart("git", NETWORK)


@pytest.mark.parametrize(
    ("commands", "keys"),
    [
        (("npm publish",), ("npm",)),
        (("npm ci", "npm publish"), ("npm",)),
        (("git status", "npm publish"), ("npm",)),  # git that does not push needs no key
        (("git push origin main",), (HOSTS, AGENT, PRIVATE, "git", "gh")),
        (("gitx push",), ()),
        (("git pushx",), ()),
        (("goreleaser release",), ()),
        (("./release.sh",), ()),
        (("", "git"), ()),
    ],
)
def test_a_publishing_line_gets_what_its_programs_need(commands: tuple[str, ...], keys: tuple[str, ...]) -> None:
    assert keys_for(PUBLISH, commands, (), approved=True) == keys
    assert keys_for(PUBLISH, commands, (), approved=False) == ()
    assert keys_for(NETWORK, commands, (), approved=True) == ()


def test_a_deploy_target_gets_ssh_and_its_programs_login() -> None:
    ssh = (HOSTS, AGENT, PRIVATE)
    assert keys_for(PUBLISH, ("./deploy.sh",), (), approved=True, user_line=True) == ssh
    assert keys_for(PUBLISH, ("fly deploy",), (), approved=True, user_line=True) == (*ssh, "fly")
    assert keys_for(frozenset({Effect.NETWORK}), ("fly logs",), (), approved=True, user_line=True) == ()


def test_git_alone_that_fetches_gets_the_agent_and_no_key() -> None:
    assert keys_for(NETWORK, ("git fetch",), (GIT,), approved=True) == FETCHING
    assert PRIVATE not in FETCHING
    assert keys_for(NETWORK, ("git fetch",), (GIT,), approved=False) == ()
    assert (
        keys_for(NETWORK, ("git fetch", "make"), (GIT, LinePart("make", frozenset({Effect.BUILD}))), approved=True)
        == ()
    )


def test_what_a_grant_of_another_version_names_is_passed_over() -> None:
    assert keys_shown(("npm", "unknown")) == "~/.npmrc"
