"""What a lost connection says of itself."""

import asyncio

import pytest

from quintet.features.language_servers.json_rpc import ConnectionLost, RpcConnection


class Closed:
    """A pipe that nobody reads any more."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize(("ends", "why"), [(True, "it ended"), (False, "it no longer accepts input")])
def test_a_program_that_has_ended_is_said_to_have_ended_whichever_pipe_tells_first(
    monkeypatch: pytest.MonkeyPatch, ends: bool, why: str
) -> None:
    async def told() -> str:
        reader = asyncio.StreamReader()
        connection = RpcConnection(reader, Closed(), {}, {}, lambda: None)  # type: ignore[arg-type]
        if ends:
            asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(reader.feed_eof))
        else:
            monkeypatch.setattr("quintet.features.language_servers.json_rpc.END_SECONDS", 0.01)
        with pytest.raises(ConnectionLost) as lost:
            await connection.request("initialize", {})
        await connection.close()
        return str(lost.value)

    assert asyncio.run(told()) == why
