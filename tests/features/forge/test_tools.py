"""The seven remote git tools against a forge on loopback: what is shown, what is sent, what is waited for."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import INTERACTIVE, Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.todos import Criterion, Todo, TodoStatus
from quintet.features.forge.github import GitHub
from quintet.features.forge.settings import ForgeSettings
from quintet.features.forge.token import find_token
from tests.hub import HEAD, TOKEN, Hub, hub, limited, user
from tests.loopback import Answer
from tests.tools.calling import Caller

PULL: dict[str, Any] = {"repo": "ada/tea", "pull_number": 7}
EVERYTHING = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)


@pytest.fixture
def forge() -> Iterator[Hub]:
    with hub() as made:
        yield made


@pytest.fixture(autouse=True)
def token(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)


def tools(root: Path, forge: Hub, **settings: Any) -> Caller:
    return Caller(root, forge=GitHub(ForgeSettings(url=forge.server.url, **settings), first_delay=0.01))


# ── looking


def test_s0_a_todo_is_verified_by_a_pull_request_that_is_there(repo: Path, forge: Hub) -> None:
    def finding(**criterion: Any) -> tuple[str, bool, str]:
        caller = tools(repo, forge)
        todo = Todo("1", "x", TodoStatus.CLAIMED, criteria=(Criterion("pr_exists", **criterion),))
        caller.todos = {"1": todo}
        (after,) = caller("TodoVerify", id="1").todos
        return after.status, after.checks[0].held, after.checks[0].finding

    assert finding(**PULL) == ("verified", True, "#7 is open: Brew stronger tea")
    status, held, said = finding(repo="ada/tea", pull_number=8)
    assert (status, held) == ("claimed", False) and "404" in said
    status, held, said = finding(repo="https://elsewhere.example/ada/tea", pull_number=7)
    assert (status, held) == ("claimed", False) and "is expected" in said


def test_a_pull_request_is_shown_with_its_files_talk_and_diff(repo: Path, forge: Hub) -> None:
    forge.reviews = [
        {"user": user("bob"), "state": "CHANGES_REQUESTED", "body": "Hotter.", "submitted_at": "2026-05-02"}
    ]
    forge.comments = [{"user": user("cy"), "body": "Nice.", "created_at": "2026-05-01"}]
    forge.remarks = [
        {"user": user("bob"), "body": "Why 3?", "created_at": "2026-05-03", "path": "tea.py", "line": 2, "id": 31}
    ]
    said = tools(repo, forge).ok("git_view_pr", **PULL)
    assert said == (
        "# Brew stronger tea (#7, open)\n"
        "ada asks to merge ada:tea into shop:main\n"
        "1 files, +2 -1 · can be merged · head aaaaaaaaaaaa · https://hub.example/ada/tea/pull/7\n\n"
        "It was too weak.\n\n"
        "## Files (1)\n\n- tea.py +2 -1 modified\n\n"
        "## Comments (3)\n\ncy: Nice.\n\nbob changes requested: Hotter.\n\nbob at tea.py:2 (id 31): Why 3?\n\n"
        "## Diff\n\ndiff tea.py\n@@ -1 +1,2 @@\n-weak = 1\n+strong = 2\n+hot = 3"
    )
    assert {asked.headers["authorization"] for asked in forge.server.asked} == {f"Bearer {TOKEN}"}


def test_a_long_list_is_read_page_by_page(repo: Path, forge: Hub) -> None:
    forge.files = [
        {"filename": f"f{n}.py", "status": "added", "additions": 1, "deletions": 0, "patch": "+" * 1000}
        for n in range(250)
    ]
    result = tools(repo, forge)("git_view_pr", **PULL)
    assert "## Files (250)" in result.content and "- f249.py +1 -0 added" in result.content
    assert len(result.content) < 60_000 and "(not shown here: f30.py, f31.py" in result.content
    where = result.content.rpartition("the full diff is in ")[2].rstrip(")")
    assert Path(where).read_text().count("diff f") == 250
    assert sum(path.endswith("/files") for path in forge.server.paths) == 3


def test_a_page_on_another_host_is_not_followed(repo: Path, forge: Hub) -> None:
    forge.first = [Answer([{"full_name": "ada/tea"}], headers={"link": '<http://evil.test/2>; rel="next"'})]
    assert tools(repo, forge).ok("list_repos") == "ada/tea"


def test_repositories_are_listed_by_keyword_and_page(repo: Path, forge: Hub) -> None:
    forge.repos = [{"full_name": f"ada/tea-{n}", "description": None, "private": n == 0} for n in range(120)]
    forge.repos.append({"full_name": "ada/pots", "description": "for TEA"})
    listed = tools(repo, forge)
    first = listed.ok("list_repos", keyword="tea").splitlines()
    assert first[0] == "ada/tea-0  (private)" and len(first) == 31 and first[-1] == "(91 more: page 2)"
    assert listed.ok("list_repos", keyword="tea", page=5) == "ada/pots  for TEA"
    assert listed.ok("list_repos", keyword="coffee") == "no repository"


def test_checks_are_shown_with_what_failed_first(repo: Path, forge: Hub) -> None:
    forge.runs = lambda: [
        {"id": 1, "name": "build", "status": "completed", "conclusion": "success", "html_url": "https://hub/1"},
        {"id": 4, "name": "spell", "status": "completed", "conclusion": "success", "html_url": "https://spell/4"}
        | {"app": {"slug": "speller"}},
        {"id": 2, "name": "test", "status": "completed", "conclusion": "failure", "html_url": "https://hub/2"},
        {"id": 3, "name": "docs", "status": "in_progress", "conclusion": None, "html_url": "https://hub/3"},
    ]
    assert tools(repo, forge).ok("git_pr_checks", **PULL).splitlines() == [
        "3 passed, 1 failed, 1 open at aaaaaaaaaaaa",
        "failure      test   job 2  https://hub/2",
        "in_progress  docs   job 3  https://hub/3",
        "success      build  job 1  https://hub/1",
        "success      lint",
        "success      spell         https://spell/4",
    ]


def test_checks_are_waited_for_until_none_is_open(repo: Path, forge: Hub) -> None:
    states = iter(["queued", "in_progress", "completed"])

    def runs() -> list[dict[str, Any]]:
        state = next(states)
        return [{"id": 1, "name": "test", "status": state, "conclusion": "success" if state == "completed" else None}]

    forge.runs = runs
    waiting = tools(repo, forge, poll_seconds=0.01)
    result = waiting("git_pr_checks", **PULL, wait_until_complete=True)
    assert result.summary == "2 passed" and next(states, "") == ""


def test_waiting_for_checks_ends_by_itself(repo: Path, forge: Hub) -> None:
    forge.runs = lambda: [{"id": 1, "name": "test", "status": "queued", "conclusion": None}]
    waiting = tools(repo, forge, poll_seconds=0.02, checks_seconds=0.05)
    said = waiting.ok("git_pr_checks", **PULL, wait_until_complete=True)
    assert said.startswith("1 passed, 1 open") and said.endswith("(stopped waiting: forge.checks_seconds)")


def test_a_log_is_fetched_from_where_it_is_kept_without_the_token(repo: Path, forge: Hub) -> None:
    forge.log = "".join(f"line {n}\n" for n in range(10_000))
    said = tools(repo, forge).ok("git_ci_job_logs", repo="ada/tea", job_id=5)
    assert said.endswith("line 9999") and len(said) < 31_000
    where = said.partition("the full log is in ")[2].partition(" …")[0]
    assert Path(where).read_text() == forge.log and os.stat(where).st_mode & 0o777 == 0o600
    asked = forge.server.asked[-1]
    assert asked.path == "/blob/log" and "authorization" not in asked.headers


# ── publishing


def test_a_pull_request_is_opened(repo: Path, forge: Hub) -> None:
    wanted = {"title": "Tea", "head_branch": "tea", "base_branch": "main", "body": "Why", "draft": True}
    said = tools(repo, forge).ok("git_create_pr", repo="https://127.0.0.1/ada/tea.git", **wanted)
    assert said == "pull request #8 is open: https://hub.example/made"
    body = {"title": "Tea", "head": "tea", "base": "main", "body": "Why", "draft": True}
    assert forge.made == [("POST", "/repos/ada/tea/pulls", body)]


def test_a_description_that_is_there_is_replaced_only_with_force(repo: Path, forge: Hub) -> None:
    writing = tools(repo, forge)
    said = writing.fails("git_update_pr_description", **PULL, body="New")
    assert "force replaces it" in said and "It was too weak." in said and forge.made == []
    writing.ok("git_update_pr_description", **PULL, body="New", force=True)
    forge.pulls[7]["body"] = None
    writing.ok("git_update_pr_description", **PULL, body="First")
    assert forge.made == [("PATCH", "/repos/ada/tea/pulls/7", {"body": text}) for text in ("New", "First")]


@pytest.mark.parametrize(
    ("arguments", "path", "sent"),
    [
        ({}, "/repos/ada/tea/issues/7/comments", {}),
        (
            {"path": "tea.py", "line": 2},
            "/repos/ada/tea/pulls/7/comments",
            {"commit_id": HEAD, "path": "tea.py", "line": 2, "side": "RIGHT"},
        ),
        (
            {"path": "tea.py", "commit_id": "c" * 40},
            "/repos/ada/tea/pulls/7/comments",
            {"commit_id": "c" * 40, "path": "tea.py", "subject_type": "file"},
        ),
        ({"in_reply_to": 31}, "/repos/ada/tea/pulls/7/comments/31/replies", {}),
    ],
)
def test_a_comment_goes_to_the_whole_a_line_a_file_or_a_comment(
    repo: Path, forge: Hub, arguments: dict[str, Any], path: str, sent: dict[str, Any]
) -> None:
    said = tools(repo, forge).ok("git_comment_on_pr", **PULL, body="Hm.", **arguments)
    assert said == "commented: https://hub.example/made (id 99)"
    assert forge.made == [("POST", path, {"body": "Hm.", **sent})]


def test_s0_publishing_asks_at_every_profile_and_looking_never_does(repo: Path, forge: Hub) -> None:
    judged = tools(repo, forge)
    pr = {"repo": "ada/tea", "title": "T", "head_branch": "t", "base_branch": "main"}
    assert judged.verdict("git_create_pr", EVERYTHING, **pr) is Verdict.ASK
    assert judged.verdict("git_comment_on_pr", EVERYTHING, **PULL, body="x", path="/etc/passwd") is Verdict.ASK
    assert judged.verdict("git_update_pr_description", EVERYTHING, **PULL) is Verdict.ASK
    for tool in ("git_view_pr", "git_pr_checks"):
        assert judged.verdict(tool, INTERACTIVE, **PULL) is Verdict.ALLOW


# ── what goes wrong


@pytest.mark.parametrize("secondary", [False, True])
def test_a_rate_limit_is_waited_for_with_a_countdown(repo: Path, forge: Hub, secondary: bool) -> None:
    forge.first = [limited(1 if secondary else 0, secondary=secondary)]
    told: list[str] = []

    async def read() -> Any:
        return await GitHub(ForgeSettings(url=forge.server.url)).read("repos/ada/tea/pulls/7", told.append)

    assert asyncio.run(read())["number"] == 7
    assert told[0] == "the forge's rate limit: 1 s left\n" and len(forge.server.asked) == 2


def test_a_write_that_meets_a_rate_limit_is_done_once_when_it_ends(repo: Path, forge: Hub) -> None:
    forge.first = [limited(0, secondary=True)]
    tools(repo, forge).ok("git_comment_on_pr", **PULL, body="once")
    assert len(forge.made) == 1


def test_a_rate_limit_that_is_too_long_is_not_waited_for(repo: Path, forge: Hub) -> None:
    forge.first = [limited(3000)]
    said = tools(repo, forge).fails("git_view_pr", **PULL)
    assert "rate limit ends in 300" in said and "forge.wait_seconds = 600" in said


def test_waiting_for_a_rate_limit_can_be_interrupted(repo: Path, forge: Hub) -> None:
    forge.first = [limited(300, secondary=True)]

    async def run() -> None:
        waiting = asyncio.Event()
        reading = GitHub(ForgeSettings(url=forge.server.url)).read("user", lambda text: waiting.set())
        task = asyncio.create_task(reading)
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_read_that_fails_on_the_server_is_tried_again(repo: Path, forge: Hub) -> None:
    forge.first = [Answer("bad gateway", 502), Answer("busy", 503)]
    assert "Brew stronger tea" in tools(repo, forge).ok("git_view_pr", **PULL)
    forge.first = [Answer("down", 500) for _ in range(3)]
    assert "the forge answered 500" in tools(repo, forge).fails("git_view_pr", **PULL)
    assert forge.first == []


def test_a_write_that_fails_on_the_server_is_not_tried_again(repo: Path, forge: Hub) -> None:
    forge.first = [Answer("bad gateway", 502)]
    said = tools(repo, forge).fails("git_comment_on_pr", **PULL, body="once")
    assert "it may have been done anyway" in said and len(forge.server.asked) == 1 and forge.made == []


def test_a_write_that_is_not_answered_may_have_been_done(repo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as quiet:
        url = f"http://127.0.0.1:{quiet.getsockname()[1]}"
        writing = Caller(repo, forge=GitHub(ForgeSettings(url=url, seconds=0.3)))
        said = writing.fails("git_comment_on_pr", **PULL, body="once")
        assert "no answer in 0.3 s" in said and "it may have been done anyway" in said
    writing = Caller(repo, forge=GitHub(ForgeSettings(url=url, seconds=60)))
    said = writing.fails("git_comment_on_pr", **PULL, body="once")
    assert "no connection" in said and "may have been done" not in said


def test_a_repository_elsewhere_is_not_looked_for_here(repo: Path, forge: Hub) -> None:
    said = tools(repo, forge).fails("git_comment_on_pr", repo="https://gitlab.com/ada/tea", pull_number=7, body="x")
    assert "is on gitlab.com, but the forge in use is 127.0.0.1" in said and forge.made == []


@pytest.mark.parametrize("answer", [[], "tea", {"message": "hi"}])
def test_what_is_not_githubs_shape_is_said(repo: Path, forge: Hub, answer: Any) -> None:
    forge.first = [Answer(answer)]
    tool = "list_repos" if isinstance(answer, dict) else "git_view_pr"
    arguments = {} if isinstance(answer, dict) else PULL
    assert "does not answer like GitHub's REST API" in tools(repo, forge).fails(tool, **arguments)


def test_errors_are_in_the_forges_own_words(repo: Path, forge: Hub) -> None:
    body = {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for ada:tea."}]}
    forge.first = [Answer(body, 422)]
    pr = {"repo": "ada/tea", "title": "T", "head_branch": "t", "base_branch": "main"}
    assert tools(repo, forge).fails("git_create_pr", **pr) == (
        "the forge answered 422: Validation Failed: A pull request already exists for ada:tea."
    )
    assert "Not Found" in tools(repo, forge).fails("git_view_pr", repo="ada/tea", pull_number=404)
    assert "expected owner/name" in tools(repo, forge).fails("git_view_pr", repo="tea", pull_number=7)


def test_without_a_token_the_fix_is_said_and_public_things_are_read(
    repo: Path, forge: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GH_TOKEN")
    monkeypatch.setenv("PATH", "/nowhere")
    without = tools(repo, forge)
    assert "Brew stronger tea" in without.ok("git_view_pr", **PULL)
    assert "export GH_TOKEN" in without.fails("git_comment_on_pr", **PULL, body="x")
    assert all("authorization" not in asked.headers for asked in forge.server.asked)


def test_the_token_of_gh_is_used_where_no_variable_holds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    gh = tmp_path / "bin/gh"
    wanted = '[ "$*" = "auth token --hostname hub.corp" ] && [ "$DBUS_SESSION_BUS_ADDRESS" ]'  # where keyrings are
    gh.write_text(f"#!/bin/sh\n{wanted} && echo token-of-gh\n")
    gh.chmod(0o755)
    monkeypatch.delenv("GH_TOKEN")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus")
    enterprise = ForgeSettings(url="https://hub.corp/api/v3")
    assert find_token(enterprise, os.environ) == ("token-of-gh", "gh auth token")
    assert find_token(ForgeSettings(), os.environ) == ("", "")
    assert find_token(enterprise, {"GITHUB_TOKEN": "x", "GH_ENTERPRISE_TOKEN": "y"}) == ("y", "GH_ENTERPRISE_TOKEN")
    assert find_token(ForgeSettings(token_env="MY_TOKEN"), {"GH_TOKEN": "x"}) == ("", "")
