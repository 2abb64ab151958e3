"""Quintet's errors as those of JSON-RPC: the message for the person, the code and the hint in `data`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from acp.exceptions import RequestError

from quintet.domain.base.errors import ModelAuthFailed, NotFound, QuintetError, UsageError

AUTH_REQUIRED, NOT_FOUND, INVALID_PARAMS, INTERNAL = -32000, -32002, -32602, -32603

Given = ParamSpec("Given")
Made = TypeVar("Made")


def request_error(error: QuintetError) -> RequestError:
    match error:
        case ModelAuthFailed():
            number = AUTH_REQUIRED
        case NotFound():
            number = NOT_FOUND
        case UsageError():
            number = INVALID_PARAMS
        case _:
            number = INTERNAL
    return RequestError(number, error.message, told(error.code, error.hint))


def failed_turn(code: str, message: str, hint: str = "") -> RequestError:
    """A turn that could not be carried out."""
    number = AUTH_REQUIRED if code == ModelAuthFailed.code else INTERNAL
    return RequestError(number, message, told(code, hint))


def told(code: str, hint: str) -> dict[str, Any]:
    return {"code": code, "hint": hint} if hint else {"code": code}


def answered(method: Callable[Given, Coroutine[Any, Any, Made]]) -> Callable[Given, Coroutine[Any, Any, Made]]:
    """A method of the protocol: what Quintet raises on purpose is its error."""

    @functools.wraps(method)
    async def call(*words: Given.args, **named: Given.kwargs) -> Made:
        try:
            return await method(*words, **named)
        except QuintetError as error:
            raise request_error(error) from None

    return call
