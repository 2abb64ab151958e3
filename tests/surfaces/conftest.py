from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import Model, ModelThread, Program


@pytest.fixture
def quintet(repo: Path) -> Iterator[Program]:
    """The program in a small repository, with the offline rules."""
    program = Program(repo)
    yield program
    program.close()


@pytest.fixture
def model(quintet: Program) -> Iterator[Model]:
    """`model(reply, …)` serves these replies and routes the program to them; keywords go to its settings."""
    started: list[ModelThread] = []

    def serve(*replies: Reply, timeout: float = 60, retries: int = 0, more: str = "") -> ModelThread:
        server = ModelThread(replies)
        started.append(server)
        quintet.settings(server.settings(timeout=timeout, retries=retries, more=more))
        return server

    yield serve
    for server in started:
        server.close()
