"""Lines between Quintet and an editor."""

import asyncio
import json
import os

from quintet.features.acp.wire import LineTransport

MESSAGES, LENGTH = 20, 100_000  # more than a pipe and its writer hold


def test_a_client_that_does_not_read_is_waited_for_and_gets_every_message_in_order() -> None:
    async def send_and_read() -> list[dict[str, object]]:
        nothing, closed = os.pipe()
        os.close(closed)
        reads, writes = os.pipe()
        wire = await LineTransport.opened(nothing, writes)
        sent = 0

        async def send() -> None:
            nonlocal sent
            for number in range(MESSAGES):
                await wire.send({"number": number, "text": "x" * LENGTH})
                sent += 1
            await wire.close()

        sending = asyncio.create_task(send())
        for _ in range(1_000):
            await asyncio.sleep(0)
        assert sent < MESSAGES, "the rest waits"
        stream = asyncio.StreamReader()
        with open(reads, "rb") as file:
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), file)
            said = await stream.read()
        await sending
        os.close(nothing)
        return [json.loads(line) for line in said.splitlines()]

    got = asyncio.run(asyncio.wait_for(send_and_read(), 60))
    assert [message["number"] for message in got] == list(range(MESSAGES))
