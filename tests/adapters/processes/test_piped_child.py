"""Children that are spoken to: where the system weighs their priority."""

import asyncio
import os
import sys

import pytest

from quintet.adapters.processes.lifeline import watched
from quintet.adapters.processes.piped_child import Piped
from quintet.adapters.processes.processes import own_environment

WHERE = "import os; print(os.getsid(0), os.getpgrp())"


@pytest.mark.parametrize("beside", [True, False])
def test_a_child_is_in_a_group_of_its_own_and_beside_us_in_our_session(beside: bool) -> None:
    async def ask() -> list[int]:
        child = await Piped.start(watched((sys.executable, "-c", WHERE), "/"), own_environment(), beside=beside)
        try:
            return [int(word) for word in (await child.reader.readline()).split()]
        finally:
            await child.end()

    session, group = asyncio.run(ask())
    assert (session == os.getsid(0)) is beside
    assert group != os.getpgrp()
