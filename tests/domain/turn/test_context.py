"""What fills a window: limits from settings and what is known, outputs made short, a picture that adds up."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.settings.settings import CompressionSettings
from quintet.domain.turn import compaction, context
from quintet.domain.turn.context import ContextLimits, Measured
from quintet.domain.turn.messages import Message, Request, Role, ToolCall, ToolSchema


def result(text: str, call: str = "c") -> Message:
    return Message(Role.TOOL, text, call_id=call)


def step(number: int, text: str) -> list[Message]:
    call = ToolCall(f"c{number}", "bash", "{}")
    return [Message(Role.ASSISTANT, "", (call,)), result(text, call.id)]


@pytest.mark.parametrize(
    ("own", "told", "most"),
    [
        ({}, {}, 96_000),  # a window that nobody knows
        ({}, {"window": 200_000}, 150_000),
        ({"share": 0.5}, {"window": 200_000}, 100_000),
        ({"share": 7.0}, {"window": 200_000}, 200_000),
        ({"share": 0.0}, {"window": 200_000}, 0),
        ({}, {"window": 32_000, "head": 4_000}, 20_000),
        ({}, {"window": 32_000, "head": 4_000, "scale": 200}, 8_000),
        ({}, {"window": 32_000, "reply": 16_000}, 16_000),
        ({}, {"window": 32_000, "reply": 31_000}, 24_000),  # most that it may write is no promise to
        ({}, {"window": 4_000, "head": 9_000}, context.LEAST_ROOM),
        ({"max_tokens": 10_000}, {"window": 200_000}, 10_000),
        ({"max_tokens": 100_000}, {}, 100_000),  # what the user said, as it always was
        ({"max_tokens": 100_000}, {"window": 32_000}, 24_000),
        ({"max_tokens": 0}, {"window": 32_000}, 0),
        ({"max_tokens": 0}, {"overflowed": 8_000}, 6_000),
        ({}, {"window": 32_000, "overflowed": 8_000}, 6_000),
        ({}, {"window": 32_000, "overflowed": 80_000}, 24_000),
    ],
)
def test_the_limit_is_a_share_of_the_window_less_what_is_taken(
    own: dict[str, Any], told: dict[str, Any], most: int
) -> None:
    assert context.limits(CompressionSettings(**own), **told).tokens == most


@pytest.mark.parametrize(
    ("measured", "scale"),
    [
        (None, 100),
        (Measured(300, 1), 150),
        (Measured(10, 1), 100),
        (Measured(10**9, 1), 400),
        (Measured(300, 9), 100),  # of messages that are no longer there
    ],
)
def test_the_estimate_is_scaled_by_what_the_provider_counted(measured: Measured | None, scale: int) -> None:
    assert context.scale(measured, 100, [result("x" * 400), result("y" * 4000)]) == scale


def test_a_short_output_keeps_its_first_and_last_lines_and_says_what_is_gone() -> None:
    text = "".join(f"line {n}\n" for n in range(1000))
    short = context.shortened(text, 300)
    first, *_, last = short.splitlines()
    assert (first, last) == ("line 0", "line 999") and len(short) < 500
    gone = next(line for line in short.splitlines() if line.startswith("[…"))
    whole = [line for line in short.splitlines() if line.startswith("line")]
    assert f"[… {1000 - len(whole)} lines, " in gone and "the journal has them" in gone
    assert all(line in text.splitlines() for line in whole)


@given(st.text(max_size=6000), st.integers(context.OLD_OUTPUT, 3000))
def test_shortening_makes_nothing_longer_and_once_is_enough(text: str, most: int) -> None:
    short = context.shortened(text, most)
    assert len(short) <= max(len(text), most) + len(context.LEFT_OUT) + 20
    assert context.shortened(short, most) == short
    assert short == text or len(short) < len(text)


def test_old_outputs_are_shortened_before_anything_is_summarised_and_the_newest_stay() -> None:
    limits = ContextLimits(tokens=10_000)
    messages = [Message(Role.USER, "go"), *(m for n in range(6) for m in step(n, f"{n}\n" * 4000))]
    assert compaction.over(messages, limits)
    places = compaction.to_shorten(messages, limits)
    assert set(places) == {2, 4, 6, 8, 10} and set(places.values()) == {context.OLD_OUTPUT}
    after = context.with_shortened(messages, places)
    assert after[-1] == messages[-1] and not compaction.over(after, limits)
    assert [m.call_id for m in after] == [m.call_id for m in messages]


def test_where_that_is_not_enough_there_is_a_summary() -> None:
    limits = ContextLimits(tokens=10_000)
    said = [Message(Role.ASSISTANT, "word " * 2000) for _ in range(5)]
    assert compaction.to_shorten([*said, *step(1, "x" * 8000), *step(2, "y" * 8000)], limits) == {}


def test_a_newest_output_that_alone_is_too_long_is_cut_to_the_room_there_is() -> None:
    limits = ContextLimits(tokens=10_000)
    messages = [Message(Role.USER, "summary"), *step(1, "line\n" * 40_000)]
    places = compaction.to_shorten(messages, limits, summarised=True)
    assert list(places) == [2]
    after = context.with_shortened(messages, places)
    assert 5_000 < context.tokens(after) < 10_000
    assert compaction.to_shorten(after, limits, summarised=True) == {}


OUTPUTS = st.lists(st.integers(0, 30_000), min_size=1, max_size=12)


@given(OUTPUTS, st.integers(500, 20_000))
def test_any_outputs_come_to_fit_in_a_few_steps(lengths: list[int], most: int) -> None:
    """Each step is worth its break of a provider's cache, and no more than three are needed."""
    limits = ContextLimits(tokens=most)
    messages = [m for n, length in enumerate(lengths) for m in step(n, "x" * length)]
    summarised = False
    for _ in range(3):
        if not compaction.over(messages, limits, summarised=summarised):
            break
        if places := compaction.to_shorten(messages, limits, summarised=summarised):
            after = context.with_shortened(messages, places)
            assert context.tokens(after) < context.tokens(messages)
            messages = after
        elif (start := compaction.cut(messages, limits, summarised=summarised)) > summarised:
            messages, summarised = [Message(Role.USER, "summary"), *messages[start:]], True
    assert not compaction.over(messages, limits, summarised=summarised) or most < 4 * context.OLD_OUTPUT


def test_the_picture_adds_up() -> None:
    tool = ToolSchema("t", "d" * 400, {})
    messages = (
        Message(Role.SYSTEM, "s" * 400),
        Message(Role.USER, "summary " * 50),
        Message(Role.USER, "u" * 40),
        *step(1, "r" * 80),
    )
    request = Request("m", messages, (tool,))
    parts = {part.name: part.tokens for part in context.parts(request, summarised=True)}
    assert parts["system message"] == 100 and parts["summary"] == 100 and parts["tools"] >= 100
    assert [parts[name] for name in context.KINDS.values()] == [10, 1, 20]
    assert sum(parts.values()) == context.head_tokens(request) + context.tokens(messages[1:])
