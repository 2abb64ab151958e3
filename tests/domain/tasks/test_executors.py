"""When a failed executor is started again (linear backoff), over every kind of failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.settings.settings import RetrySettings
from quintet.domain.tasks.executors import RETRY, Again, ExecutorFailure, GiveUp, Retry, retry_after, retry_policy

DEFAULT = RetrySettings()
TRIED_AGAIN = [failure for failure in ExecutorFailure if RETRY[failure] is not Retry.NEVER]
NOT_TRIED_AGAIN = [failure for failure in ExecutorFailure if RETRY[failure] is Retry.NEVER]


def test_s4_the_wait_grows_by_ten_seconds_from_ten():
    waits = [retry_after(attempt, ExecutorFailure.CRASHED, 0, DEFAULT) for attempt in range(1, 5)]
    assert [wait.seconds for wait in waits if isinstance(wait, Again)] == [10, 20, 30, 40]


@pytest.mark.parametrize("failure", TRIED_AGAIN)
def test_s4_a_hundred_attempts_and_no_more(failure):
    assert isinstance(retry_after(99, failure, 0, DEFAULT), Again)
    assert retry_after(100, failure, 0, DEFAULT) == GiveUp("100 of 100 attempts failed (retry.max_attempts)")


@pytest.mark.parametrize("failure", NOT_TRIED_AGAIN)
def test_what_a_person_has_to_mend_is_not_tried_again(failure):
    assert isinstance(retry_after(1, failure, 30, DEFAULT), GiveUp)


def test_every_kind_of_failure_has_its_rule():
    assert set(RETRY) == set(ExecutorFailure)
    assert {ExecutorFailure.LOGIN, ExecutorFailure.MISSING, ExecutorFailure.CONTAINMENT} <= set(NOT_TRIED_AGAIN)


def test_a_rate_limit_is_waited_out_when_it_says_when_it_ends():
    assert retry_after(7, ExecutorFailure.RATE_LIMIT, 95.5, DEFAULT) == Again(95.5, "until its limit ends")
    assert retry_after(2, ExecutorFailure.RATE_LIMIT, 0, DEFAULT) == Again(20, "attempt 2 of 100 failed")


def test_a_limit_that_ends_next_week_is_asked_about_sooner():
    assert retry_after(1, ExecutorFailure.RATE_LIMIT, 600_000, DEFAULT) == Again(
        21_600, "its limit ends too late to wait for"
    )


def test_only_a_rate_limit_has_an_end():
    assert retry_after(1, ExecutorFailure.UNREACHABLE, 95, DEFAULT) == Again(10, "attempt 1 of 100 failed")


retries = st.builds(
    RetrySettings,
    max_attempts=st.integers(1, 1000),
    base_seconds=st.floats(0, 100),
    step_seconds=st.floats(0, 100),
    max_reset_seconds=st.floats(1, 100_000),
)


@given(retries, st.sampled_from(list(ExecutorFailure)), st.floats(0, 1e7))
def test_it_always_comes_to_an_end_and_never_waits_backwards(settings, failure, resets_in):
    waits = []
    for attempt in range(1, settings.max_attempts + 1):
        follows = retry_after(attempt, failure, resets_in, settings)
        if isinstance(follows, GiveUp):
            break
        waits.append(follows.seconds)
    else:
        raise AssertionError("no end")
    assert len(waits) in (0, settings.max_attempts - 1)
    assert waits == sorted(waits)
    longest = max(settings.max_reset_seconds, retry_policy(settings).backoff(settings.max_attempts))
    assert all(0 <= wait <= longest for wait in waits)
