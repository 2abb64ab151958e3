"""/review of a pull request: by number or address, from the forge, or from the commits that are here."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.git.repository import GitRepository
from quintet.domain.base.errors import ToolFailed
from quintet.domain.journal import protocol as p
from quintet.features.forge.github import GitHub
from quintet.features.forge.pull_request import elsewhere, named, repo_of
from quintet.features.forge.repository import AWAY, ForgeRepository
from quintet.features.forge.settings import ForgeSettings
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.planted import commit, git
from tests.engine.turn.test_review import CHAT, made, request_text
from tests.hub import HEAD, Hub, hub, pull
from tests.loopback import Answer
from tests.tools.calling import Caller

pytestmark = pytest.mark.usefixtures("replays")

FINDINGS = [
    {"severity": "high", "file": "tea.py", "line": 2, "title": "too hot"},
    {"severity": "low", "file": "tea.py", "line": 9, "title": "too far"},
    {"severity": "low", "file": "pot.py", "line": 1, "title": "nowhere"},
    {"severity": "low", "file": ".env", "line": 1, "title": "secret"},
]
REPORT = json.dumps({"summary": "Not yet.", "findings": FINDINGS})


def reviewed(root: Path, forge: Hub, wanted: str, replies: list[Any]) -> tuple[Driver, ScriptedModel]:
    model = ScriptedModel(replies)

    async def script(driver: Driver) -> None:
        await driver.turn(f"/review {wanted}")

    return drive(root, script, model, axes=CHAT, settings={"forge.url": forge.server.url}), model


@pytest.mark.parametrize("wanted", ["7", '"#7"', "https://127.0.0.1/ada/tea/pull/7/files"])
def test_s3_a_pull_request_that_is_not_here_is_reviewed_as_the_forge_shows_it(repo: Path, wanted: str) -> None:
    git(repo, "remote", "add", "origin", "git@127.0.0.1:ada/tea.git")
    with hub() as forge:
        looks = [[call("git_view_pr", repo="ada/tea", pull_number=7)]]
        driver, model = reviewed(repo, forge, wanted, [*looks, REPORT])
    request = request_text(model)
    assert request.startswith("Review ada/tea#7: 1 file, +2 -1.")
    assert 'git_view_pr with repo "ada/tea" and pull_number 7' in request and "- tea.py +2 -1" in request
    event, _, value = made(driver)
    assert event.subject == "ada/tea#7"
    assert {found["title"]: found["unresolved"] for found in value["findings"]} == {
        "too hot": "",
        "too far": "no such line: the file ends at line 2",
        "nowhere": "no such file",
        "secret": "protected, not checked",
    }
    (shown,) = [e for e in driver.of(p.ToolFinished) if e.tool == "git_view_pr"]
    assert "+strong = 2" in shown.content and forge.made == []


def test_a_pull_request_whose_commits_are_here_is_reviewed_here(repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "checkout", "-q", "-b", "tea")
    (repo / "tea.py").write_text("strong = 2\nhot = 3\n")
    commit(repo, "Tea")
    head = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "checkout", "-q", "main")
    git(repo, "remote", "add", "upstream", "https://127.0.0.1/ada/tea")
    git(repo, "remote", "add", "origin", "https://127.0.0.1/me/tea")
    with hub() as forge:
        forge.pulls[7] = pull(head={"ref": "tea", "sha": head}, base={"ref": "main", "sha": base})
        driver, model = reviewed(repo, forge, "7", [REPORT])
        assert forge.server.paths == ["/repos/ada/tea/pulls/7"]
    assert f'git_diff with target "{base}...{head}"' in request_text(model)
    _, _, value = made(driver)
    assert next(found["unresolved"] for found in value["findings"]) == ""


def test_a_pull_request_that_cannot_be_found_begins_nothing(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        assert "has no remote" in (await driver.command("/review 7")).text
        git(repo, "remote", "add", "origin", "https://gitlab.com/ada/tea")
        said = (await driver.command("/review 7")).text
        assert "7 is on gitlab.com, but the forge in use is 127.0.0.1 (setting forge.url)" in said
        said = (await driver.command("/review https://github.com/ada/tea/pull/7")).text
        assert "is on github.com, but the forge in use is 127.0.0.1" in said
        git(repo, "remote", "set-url", "origin", "git@127.0.0.1:ada/tea")
        said = (await driver.command("/review 404")).text
        assert "pull request ada/tea#404 cannot be reviewed: the forge answered 404" in said

    with hub() as forge:
        driver = drive(repo, script, axes=CHAT, settings={"forge.url": forge.server.url})
    assert driver.of(p.TurnStarted) == []


def test_a_file_is_missing_only_where_the_forge_says_so_itself(repo: Path) -> None:
    with hub() as forge:
        there = ForgeRepository(
            GitRepository(Caller(repo).processes, ProjectFiles(str(repo))), GitHub(ForgeSettings(url=forge.server.url))
        )
        counts = there.line_counts(["gone.py", "tea.py"], f"{AWAY}ada/tea@{HEAD}")
        assert asyncio.run(counts) == {"tea.py": 2}
        forge.first = [Answer({"message": "the server behind this answered 404"}, 403)]
        with pytest.raises(ToolFailed):
            asyncio.run(there.line_counts(["tea.py"], f"{AWAY}ada/tea@{HEAD}"))


@pytest.mark.parametrize(
    ("text", "repo"),
    [
        ("ada/tea", "ada/tea"),
        ("git@github.com:ada/tea.git", "ada/tea"),
        ("ssh://git@hub.corp/ada/tea.git", "ada/tea"),
        ("https://github.com/ada/tea/", "ada/tea"),
        ("ada", ""),
        ("../tea", ""),
        ("ada/tea/more", ""),
    ],
)
def test_a_repository_is_read_from_its_name_or_address(text: str, repo: str) -> None:
    assert repo_of(text) == repo


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("ada/tea", ""),
        ("https://github.com/ada/tea", ""),
        ("https://me@www.github.com:443/ada/tea", ""),
        ("ssh://git@ssh.github.com:443/ada/tea.git", ""),
        ("git@work:ada/tea", ""),
        ("git@gitlab.com:ada/tea.git", "gitlab.com"),
        ("https://github.com.evil.test/ada/tea", "github.com.evil.test"),
        ("https://notgithub.com/ada/tea/pull/3", "notgithub.com"),
    ],
)
def test_an_address_of_another_forge_is_told(text: str, host: str) -> None:
    assert elsewhere(text, "github.com") == host


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12", ("", 12)),
        ("#12", ("", 12)),
        ("PR12", ("", 12)),
        ("https://hub.corp/ada/tea/pull/3?w=1", ("ada/tea", 3)),
        ("1234567", None),
        ("main", None),
        ("HEAD~1..HEAD", None),
    ],
)
def test_a_pull_request_is_told_from_a_commit_and_a_branch(text: str, found: tuple[str, int] | None) -> None:
    assert named(text) == found
