from pathlib import Path

import pytest

from tests.tools.calling import Caller


@pytest.fixture
def tools(repo: Path) -> Caller:
    """The tools of a small git repository."""
    return Caller(repo)
