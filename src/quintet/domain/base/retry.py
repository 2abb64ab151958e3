"""When something that failed is tried again: the one policy of model requests and of executors.

Attempts count from 1. What the other side says about when to come back counts; else the wait grows with each attempt.
The decision is a value: whoever carries it out waits, or says why it is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from quintet.domain.base.errors import ModelError, ModelHttpError, ModelRateLimited

FIRST_RETRY = 0.5  # seconds after the first attempt at a model request; doubles with each
LONGEST_RETRY = 30.0  # seconds between two attempts where the server does not say
FEW_RETRIES = 3  # where the user does not say, of a server that cannot be reached
MANY_RETRIES = 1000


class RetryPolicy(Struct, frozen=True):
    """How often something is tried, and how long the waits between the attempts are."""

    attempts: int  # in all
    first: float  # seconds after the first
    step: float = 0.0  # seconds more after each further one
    factor: float = 1.0  # times as long after each further one
    least_told: float = 0.0  # bounds of what the other side says
    most_told: float = math.inf

    def backoff(self, attempt: int) -> float:
        """Seconds to wait after an attempt where the other side does not say."""
        return self.first * self.factor ** min(attempt - 1, 64) + self.step * (attempt - 1)

    def wait(self, attempt: int, told: float | None = None, jitter: Callable[[], float] = lambda: 0.0) -> float | None:
        """Seconds to wait after an attempt that failed; None: it was the last one.

        `told` is what the other side says, if it does. `jitter`, from 0 to 1, adds up to half to a wait of our own.
        """
        if attempt >= self.attempts:
            return None
        if told is not None:
            return min(max(told, self.least_told), self.most_told)
        return self.backoff(attempt) * (1.0 + jitter() / 2)


def model_wait(
    error: ModelError,
    attempt: int,
    retries: int | None = None,
    *,
    seconds: float = 0.0,
    waited: float = 0.0,
    jitter: Callable[[], float] = lambda: 0.0,
) -> float | None:
    """Seconds until a model request that failed is made again; None: it is not.

    A server that is busy is waited for as long as `seconds` in all, 0 for any time, of which `waited` are over; one
    that cannot be reached gets a few tries. `retries` bounds the number of both, where the user set it.
    """
    if not error.retryable:
        return None
    busy = isinstance(error, ModelRateLimited | ModelHttpError)
    tries = retries if retries is not None else MANY_RETRIES if busy else FEW_RETRIES
    policy, told = RetryPolicy(tries + 1, FIRST_RETRY, factor=2.0), error.retry_after
    if told is not None and told < FIRST_RETRY:  # "at once", said each time, would be a burst of requests
        told = min(policy.backoff(attempt), LONGEST_RETRY)
    wait = policy.wait(attempt, told, jitter)
    if wait is None:
        return None
    left = seconds - waited if seconds else math.inf
    if told is not None:
        return wait if wait <= left else None
    wait = round(min(wait, LONGEST_RETRY, left), 2)
    return wait if wait >= FIRST_RETRY else None


def given_up(error: ModelError, seconds: float, waited: float) -> str:
    """Why a busy server is not waited for any longer, for the hint; empty where time is not the reason."""
    told = error.retry_after or 0.0
    if not (error.retryable and seconds and waited + max(told, FIRST_RETRY) > seconds):
        return ""
    asked = f"the server asks to wait {told:g} s" if told else f"{waited:g} s have passed"
    return f"{asked}, and limits.retry_seconds = {seconds:g}: try again later, raise it, or choose another model"
