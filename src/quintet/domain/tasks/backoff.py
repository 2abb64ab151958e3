"""Whether and when a failed executor is started again: linear backoff, or the end of the limit that it ran into.

Attempts are starts of one executor for one assignment, and count from 1. The decision is a value: whoever carries it
out waits, or says why it is over.
"""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.settings.settings import RetrySettings
from quintet.domain.tasks.executors import RETRY, ExecutorFailure, Retry

LEAST_SECONDS = 1.0  # a limit that ends at once is still not asked again at once


class Again(Struct, frozen=True, tag="again"):
    seconds: float
    reason: str


class GiveUp(Struct, frozen=True, tag="give-up"):
    reason: str = ""  # empty: it would fail the same way again


def linear(attempts: int, settings: RetrySettings) -> float:
    """Seconds to wait after so many attempts."""
    return settings.base_seconds + max(attempts - 1, 0) * settings.step_seconds


def after_failure(attempts: int, failure: ExecutorFailure, resets_in: float, settings: RetrySettings) -> Again | GiveUp:
    """What follows when attempt number `attempts` failed; `resets_in` is 0 where no end of a limit was said."""
    how = RETRY[failure]
    if how is Retry.NEVER:
        return GiveUp()
    if attempts >= settings.max_attempts:
        return GiveUp(f"{attempts} of {settings.max_attempts} attempts failed (retry.max_attempts)")
    if how is Retry.AT_RESET and resets_in > 0:
        seconds = min(max(resets_in, LEAST_SECONDS), settings.max_reset_seconds)
        return Again(seconds, "until its limit ends" if seconds >= resets_in else "its limit ends later than we wait")
    return Again(linear(attempts, settings), f"attempt {attempts} of {settings.max_attempts} failed")
