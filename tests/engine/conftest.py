"""Every run of these tests is replayed from its recording, and has to come out the same."""

import pytest


@pytest.fixture(autouse=True)
def always(replays: None) -> None:
    """Nothing of its own: what a test recorded is replayed when it is over."""
