"""When a failed model request is made again."""

from quintet.domain.base.errors import ModelAuthFailed, ModelRateLimited, ModelTimeout


def test_a_request_that_may_succeed_later_waits_twice_as_long_each_time() -> None:
    waits = [ModelTimeout().retry_in(attempt, retries=3) for attempt in (1, 2, 3, 4)]
    assert waits == [0.5, 1.0, 2.0, None]
    assert ModelTimeout().retry_in(2, retries=3, jitter=lambda: 1.0) == 1.5


def test_what_the_server_says_counts_and_no_chance_is_taken() -> None:
    assert ModelRateLimited(retry_after=7.0).retry_in(1, 3, jitter=lambda: 1 / 0) == 7.0


def test_what_a_second_try_cannot_cure_is_not_tried_again() -> None:
    assert ModelAuthFailed().retry_in(1, 3, jitter=lambda: 1 / 0) is None
    assert ModelTimeout().retry_in(1, retries=0) is None
