"""What git's configuration holds of passwords and tokens is shown to no model: not by a command, not by a tool."""

import base64
import subprocess
from urllib.parse import quote

import pytest

from quintet.domain.git.plain_git import credentials_in
from tests.attacks.conftest import World
from tests.attacks.running import Attacker, bash, call
from tests.attacks.world import GIT_ENV, put

PASSWORD, TOKEN, HEADER = "hunter2canarypw", "ghp_abcdefghij0123456789abcdefghij012345", "bot:canaryheaderword"
BASIC = base64.b64encode(HEADER.encode()).decode()


@pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root"), ("none", "root")], indirect=True)
def test_no_command_shows_the_credentials_of_a_remote(world: World, attacker: Attacker) -> None:
    world.make_repository()
    module = world.project / ".git/modules/lib/config"
    put(module, f'[remote "origin"]\n\turl = https://ann:{PASSWORD}2@example.com/m.git\n')
    put(world.home / ".gitconfig", f'[url "https://{TOKEN}z@example.com/"]\n\tinsteadOf = gh:\n')
    for name, value in (
        ("remote.origin.url", f"https://bob:{PASSWORD}@example.com/a.git"),
        ("remote.two.url", f"https://{TOKEN}@example.com/b.git"),
        ("remote.three.url", f"https://bob:{quote('p@ss/canary', safe='')}@example.com/b.git"),
        ("http.https://example.com/.extraHeader", f"AUTHORIZATION: basic {BASIC}"),
    ):
        subprocess.run(("git", "config", name, value), cwd=world.project, env=GIT_ENV, check=True)
    outcome = attacker.session(
        bash("cat .git/config"),
        bash("git remote -v"),
        bash("git config --list"),
        bash("cat .git/modules/lib/config"),
        call("grep", pattern="example", path=".git/config"),
        call("Read", file_path=".git/config"),
        work_mode="chat",
        profile="restricted",
    )
    assert "example.com/a.git" in outcome.texts
    shown = (PASSWORD, TOKEN, quote("p@ss/canary", safe=""), BASIC, "canaryheaderword")
    assert [word for word in shown if word in outcome.said] == [], outcome.texts


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"url = https://bob:{PASSWORD}@h/x", {f"bob:{PASSWORD}", PASSWORD}),
        ("url = https://bob:pw@h/x", {"bob:pw", "pw"}),
        (f"url = https://{TOKEN}@h/x", {TOKEN}),
        (f"url = https://{TOKEN}:x-oauth-basic@h/x", {TOKEN}),
        (f"url = https://oauth2:{TOKEN}@h/x", {f"oauth2:{TOKEN}", TOKEN}),
        (f'[url "https://x-access-token:{TOKEN}@h/"]', {f"x-access-token:{TOKEN}", TOKEN}),
        ("url = https://bob:a%40b%2Fc@h/x", {"bob:a%40b%2Fc", "a%40b%2Fc", "bob:a@b/c", "a@b/c"}),
        ("url = https://bob:one@two@h/x", {"bob:one@two", "one@two"}),
        (f"extraheader = AUTHORIZATION: basic {BASIC}", {f"basic {BASIC}", BASIC, HEADER, "canaryheaderword"}),
        ("ExtraHeader = X-Token: abc", {"abc"}),
        ('\ttoken = "abc def" # mine', {"abc def"}),
        ("\tsmtpPass = abcdefgh ; mine", {"abcdefgh"}),
        ("url = https://bob:\\\n  pw@h/x", {"bob:pw", "pw"}),
        ("url = https://organisation@dev.example.com/organisation/x", set()),
        ("url = ssh://git@h/x", set()),
        ("url = git@github.com:somebody/something.git", set()),
        ("url = https://h/x@y:z", set()),
        ("[user]\n\temail = ada@example.com", set()),
    ],
)
def test_what_is_a_credential_and_what_is_not(text: str, wanted: set[str]) -> None:
    assert credentials_in(text) == wanted
