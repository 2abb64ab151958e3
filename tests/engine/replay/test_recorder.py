"""What comes in is written down when what came before has had its consequences, however quickly it comes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from quintet.domain.base.errors import ModelRateLimited
from quintet.domain.turn.messages import Message, Part, Request, Role
from quintet.engine.replay.models import RecordedModel
from quintet.engine.replay.recorder import REST, Recorder


class Lines:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes, /) -> object:
        return self.written.append(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def kinds(self) -> list[str]:
        return [json.loads(line)[0] for line in self.written]


class Refusing:
    """A model that fails before it has waited for anything."""

    name = "refusing"

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        raise ModelRateLimited("slow down")
        yield  # which makes it a stream

    async def close(self) -> None: ...


async def at_once(recorder: Recorder) -> None:
    async def nothing() -> None: ...

    await recorder.awaited("over", nothing())


async def failing(recorder: Recorder) -> None:
    with pytest.raises(ModelRateLimited):
        async for _ in RecordedModel(Refusing(), recorder).stream(
            Request("refusing", (Message(Role.SYSTEM, "Be brief."),))
        ):
            pass


@pytest.mark.parametrize("quick", [at_once, failing])
def test_what_ends_at_once_waits_for_the_consequences_of_what_came_before_it(
    quick: Callable[[Recorder], Awaitable[None]],
) -> None:
    """As a command does that is still being carried out when a model refuses: a replay lets it finish first."""
    file = Lines()

    async def slowly(recorder: Recorder) -> None:
        for _ in range(REST - 2):
            await asyncio.sleep(0)
        recorder.add("consequence")

    async def both() -> None:
        recorder = Recorder(file)
        recorder.add("inbox")
        await asyncio.gather(slowly(recorder), quick(recorder))

    asyncio.run(both())
    kinds = [kind for kind in file.kinds() if kind != "ask"]
    assert kinds in (["inbox", "consequence", "over"], ["inbox", "consequence", "reply.over"])


def test_an_interrupt_that_comes_while_a_failure_waits_to_come_in_is_not_lost() -> None:
    """The turn continues with the failure, which it may try again after, and ends at its next wait."""
    file, seen = Lines(), list[str]()

    async def turn(recorder: Recorder) -> None:
        await failing(recorder)
        seen.append("told of the failure")
        await asyncio.sleep(0)
        seen.append("tried again")

    async def interrupted() -> None:
        recorder = Recorder(file)
        recorder.add("inbox")
        task = asyncio.create_task(turn(recorder))
        await asyncio.sleep(0)
        assert file.kinds() == ["inbox", "ask"]  # the failure waits to come in
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert (file.kinds(), seen) == (["inbox", "ask", "reply.over"], ["told of the failure"])


def test_at_rest_it_is_let_in_without_going_round() -> None:
    file = Lines()
    rounds = 0

    async def counted() -> None:
        nonlocal rounds
        recorder = Recorder(file)
        recorder.add("inbox")
        for _ in range(REST + 1):
            await asyncio.sleep(0)
        task = asyncio.ensure_future(at_once(recorder))
        while not task.done():
            rounds += 1
            await asyncio.sleep(0)

    asyncio.run(counted())
    assert (file.kinds(), rounds) == (["inbox", "over"], 1)


def test_what_has_no_form_ends_the_recording_which_says_so_in_its_last_line_and_once() -> None:
    file, told = Lines(), list[str]()

    async def run() -> None:
        recorder = Recorder(file)
        recorder.on_end = told.append
        recorder.add("facts", 1)
        recorder.add("bind", {"where": object()})
        recorder.add("facts", "\ud800")
        assert told == [], "the engine is in the middle of something"
        await asyncio.sleep(0)

    asyncio.run(run())
    assert file.kinds() == ["facts", "unrecorded"]
    assert told == [json.loads(file.written[-1])[1]]
    assert told[0].startswith("what came in as bind cannot be written down (TypeError: ")


def test_a_full_disk_ends_the_recording_and_is_told() -> None:
    told: list[str] = []

    class Full(Lines):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    async def run() -> None:
        recorder = Recorder(Full())
        recorder.on_end = told.append
        recorder.add("facts", 1)
        recorder.flush()
        recorder.flush()
        await asyncio.sleep(0)

    asyncio.run(run())
    assert told == ["[Errno 28] No space left on device"]
