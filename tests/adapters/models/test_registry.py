"""A conversation is looked through for secrets once, and what is sent is as if it were looked through each time."""

import asyncio
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.models.registry import RedactedModel
from quintet.domain.base.redaction import Redaction
from quintet.domain.turn.messages import EndPart, Finish, Message, Part, Request, Role

FIRST, SECOND = "correct-horse", "battery-staple"


class Keeping:
    """A model that keeps what it was sent."""

    name = "keeping"

    def __init__(self) -> None:
        self.sent: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        self.sent.append(request)
        yield EndPart(finish=Finish.STOP)

    async def close(self) -> None: ...


class Learning(Redaction):
    """Knows one secret, then two; counts what it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Counting([FIRST])

    def learn(self) -> None:
        self.now = Counting([FIRST, SECOND])

    @property
    def known(self) -> Redaction:
        return self.now


class Counting(Redaction):
    looked_at = 0

    def text(self, text: str) -> str:
        self.looked_at += 1
        return super().text(text)


def said(text: str) -> Message:
    return Message(Role.USER, text)


async def ask(model: RedactedModel, *texts: str) -> None:
    async for _ in model.stream(Request("m", tuple(map(said, texts)))):
        pass


def test_what_was_looked_through_is_not_looked_through_again() -> None:
    redactor, inner = Learning(), Keeping()
    model = RedactedModel(inner, redactor)

    async def twice() -> int:
        await ask(model, *[FIRST] * 50)
        before = redactor.now.looked_at
        await ask(model, *[FIRST] * 50, FIRST)
        return redactor.now.looked_at - before

    assert asyncio.run(twice()) < 10
    assert FIRST not in str(inner.sent) and len(inner.sent[1].messages) == 51


words = st.sampled_from(["", "plain", f"is {FIRST}", f"is {SECOND}"])


@given(st.lists(st.one_of(words, st.just("learn"), st.just("rewind")), max_size=12))
def test_what_is_sent_is_what_a_look_at_all_of_it_gives(deeds: list[str]) -> None:
    redactor, inner = Learning(), Keeping()
    model = RedactedModel(inner, redactor)
    texts: list[str] = ["system"]

    async def follow() -> None:
        for deed in deeds:
            if deed == "learn":
                redactor.learn()
            elif deed == "rewind":
                del texts[len(texts) // 2 + 1 :]
            else:
                texts.append(deed)
            await ask(model, *texts)
            assert inner.sent[-1] == redactor.now.clean(Request("m", tuple(map(said, texts))))

    asyncio.run(follow())
