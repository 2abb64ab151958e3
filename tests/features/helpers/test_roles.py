"""What a helper can be: the built-in roles, and agents by their names, a project's only where it is trusted."""

from __future__ import annotations

import asyncio
from pathlib import Path

from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Request
from quintet.features.helpers.roles import BUILT_IN
from quintet.testing import Reply, call
from tests.features.helpers.helping import model, only, opened, said, started, turns_of
from tests.trusted import trust_now

AGENT = "---\nname: scout\ndescription: looks ahead\ntools: Read, Grep\n---\nYou are a scout of the harbour.\n"


def _report(repo: Path, role: str, helper: object = None) -> tuple[str, list[Request]]:
    requests: list[Request] = []

    def reply(request: Request, task: str) -> Reply:
        requests.append(request)
        if helper and turns_of(request) == 0:
            return [call("bash", command="ls")]
        return "looked"

    async def run() -> str:
        async with opened(repo, model([started("look", role=role)], reply)) as session:
            return str(only(p.ToolFinished, await said(session))[-1].content)

    return asyncio.run(run()), requests


def test_every_built_in_role_has_its_page(repo: Path) -> None:
    heads = set()
    for role in BUILT_IN:
        report, requests = _report(repo, role)
        assert report == f"## {role}-1: done\nlooked"
        heads.add(requests[0].messages[0].text)
    assert len(heads) == len(BUILT_IN)


def test_a_project_that_is_not_trusted_gives_no_orders(repo: Path) -> None:
    (repo / ".claude/agents").mkdir(parents=True)
    (repo / ".claude/agents/scout.md").write_text(AGENT)
    report, requests = _report(repo, "scout")
    assert requests == []
    assert 'there is no role "scout"' in report


def test_an_agent_file_is_a_role_with_its_tools(repo: Path) -> None:
    (repo / ".claude/agents").mkdir(parents=True)
    (repo / ".claude/agents/scout.md").write_text(AGENT)
    trust_now(repo)
    report, requests = _report(repo, "scout", helper=True)
    assert report == "## scout-1: done\nlooked"
    assert "You are a scout of the harbour." in requests[0].messages[0].text
    assert "You are a helper" in requests[0].messages[0].text
    assert "bash is not among this agent's tools" in requests[1].messages[-1].text


def test_s3_3_6_a_researcher_reads_other_repositories_that_the_user_shows(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "needle.txt").write_text("a needle\n")

    def reply(request: Request, task: str) -> Reply:
        if turns_of(request) == 0:
            return [call("bash", command=f"grep -rn needle {other}")]
        return next(m.text for m in reversed(request.messages) if m.role == "tool")

    async def report(shown: list[str]) -> str:
        asks = model([started("find the needle", role="researcher")], reply)
        async with opened(repo, asks, settings={"sandbox.show": shown}) as session:
            return str(only(p.ToolFinished, await said(session))[-1].content)

    assert "needle.txt:1:a needle" in asyncio.run(report([str(other)]))
    assert "a needle" not in asyncio.run(report([]))
