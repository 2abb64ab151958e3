"""What must not count when a model is offered or its key is looked for."""

import asyncio
from pathlib import Path

import pytest

from quintet.adapters.models.discovery import _read_within
from quintet.adapters.models.keys import Key
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.domain.base.errors import ModelAuthFailed
from quintet.domain.settings.settings import ModelSettings


def test_a_program_of_the_project_is_not_run_for_a_key(repo: Path) -> None:
    program = repo / "getkey"
    program.write_text("#!/bin/sh\ntouch ran\necho key\n")
    program.chmod(0o755)
    stay_out_of(str(repo))
    key = Key(ModelSettings("", "m", api_key_command=str(program)), "m")
    with pytest.raises(ModelAuthFailed, match="was not found"):
        asyncio.run(key.value())


class Dripping:
    """An answer that never ends."""

    def read1(self, size: int) -> bytes:
        return b"."


def test_a_server_that_drips_is_not_read_beyond_its_time() -> None:
    assert _read_within(Dripping(), 0.0) == b""
