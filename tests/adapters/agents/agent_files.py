"""Files of agents for tests, and the agent that is read from them."""

from pathlib import Path
from textwrap import dedent

from quintet.adapters.agents.package import FoundPackage
from quintet.domain.agents.agent import Agent


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), "utf-8")
    return path


def agent_of(found: FoundPackage) -> Agent:
    assert found.package, found.problems
    (agent,) = found.package.agents
    return agent
