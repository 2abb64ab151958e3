"""When a failed model request is made again."""

from quintet.domain.base.errors import (
    ModelAuthFailed,
    ModelError,
    ModelHttpError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
)
from quintet.domain.base.retry import RetryPolicy, given_up, model_wait


def waits(error: ModelError, seconds: float, retries: int | None = None) -> list[float]:
    """The waits before a request that fails in this way is given up."""
    made: list[float] = []
    while (wait := model_wait(error, len(made) + 1, retries, seconds=seconds, waited=sum(made))) is not None:
        made.append(wait)
    return made


def test_a_busy_server_is_waited_for_twice_as_long_each_time_up_to_the_time_set() -> None:
    for error in (ModelRateLimited(), ModelHttpError(status=529), ModelHttpError(status=500)):
        assert waits(error, 120.0) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 28.5]
        assert waits(error, 120.0, retries=2) == [0.5, 1.0]
        assert waits(error, 2.0) == [0.5, 1.0, 0.5]
    assert model_wait(ModelRateLimited(), 2, 3, jitter=lambda: 1.0) == 1.5


def test_a_server_that_cannot_be_reached_gets_a_few_tries() -> None:
    for error in (ModelUnreachable(), ModelTimeout()):
        assert waits(error, 120.0) == [0.5, 1.0, 2.0]
        assert waits(error, 120.0, retries=5) == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_what_the_server_says_counts_and_no_chance_is_taken() -> None:
    assert model_wait(ModelRateLimited(retry_after=7.0), 1, 3, jitter=lambda: 1 / 0) == 7.0
    assert model_wait(ModelRateLimited(retry_after=90.0), 3, seconds=120.0, waited=30.0) == 90.0
    assert model_wait(ModelRateLimited(retry_after=90.0), 3, seconds=120.0, waited=31.0) is None
    assert model_wait(ModelRateLimited(retry_after=9000.0), 1, seconds=0.0) == 9000.0


def test_a_server_that_says_at_once_each_time_is_not_asked_in_a_burst() -> None:
    for told in (0.0, 0.01):
        assert waits(ModelRateLimited(retry_after=told), 120.0) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert waits(ModelRateLimited(retry_after=0.0), 120.0, retries=2) == [0.5, 1.0]


def test_who_gives_up_for_want_of_time_says_so() -> None:
    told = given_up(ModelRateLimited(retry_after=3600.0), 120.0, 0.0)
    assert told.startswith("the server asks to wait 3600 s, and limits.retry_seconds = 120: ")
    assert given_up(ModelHttpError(status=529), 120.0, 120.0).startswith("120 s have passed, and limits.retry_seconds")
    assert given_up(ModelRateLimited(), 120.0, 3.0) == given_up(ModelAuthFailed(), 120.0, 120.0) == ""


def test_what_a_second_try_cannot_cure_is_not_tried_again() -> None:
    assert model_wait(ModelAuthFailed(), 1, 3, jitter=lambda: 1 / 0) is None
    assert model_wait(ModelTimeout(), 1, retries=0) is None


def test_a_wait_grows_in_equal_steps_and_what_is_told_stays_within_bounds() -> None:
    policy = RetryPolicy(attempts=4, first=10.0, step=5.0, least_told=1.0, most_told=60.0)
    assert [policy.wait(attempt) for attempt in (1, 2, 3, 4)] == [10.0, 15.0, 20.0, None]
    assert [policy.wait(1, told) for told in (0.0, 30.0, 90.0)] == [1.0, 30.0, 60.0]
    assert policy.wait(4, 30.0) is None
