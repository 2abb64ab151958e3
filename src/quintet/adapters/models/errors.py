"""What a model server's errors mean, in the user's terms and under stable codes.

A server's words go in without the key or anything that a terminal would obey.
"""

from __future__ import annotations

import re
from typing import Any

from quintet.adapters.files.loose_json import as_dict, words_in
from quintet.domain.base import errors
from quintet.domain.base.lazy_regex import regex

# What servers call an error, in a body or in the middle of a stream, and the status it would have had.
STATUS_OF = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TOO_LONG = regex(
    r"context[ _](length|window|size|limit)|(prompt|input|request) is too (long|large)|too many (input )?tokens",
    re.IGNORECASE,
)


class Failures:
    """Errors of one model; `setting` is what hints call it."""

    def __init__(self, setting: str, key: str, key_env: str) -> None:
        self.setting = setting
        self.key = key
        self.key_env = key_env

    def of_status(self, status: int, answer: Any, body: bytes = b"") -> errors.ModelError:
        """What an answer with an error status means; `answer` is its JSON, if it has any."""
        said = self._words(words_in(answer))[:1000] or self._words(body.decode("utf-8", "replace"))[:200]
        return self._of(status, f"the model server answered HTTP {status}", said, as_dict(as_dict(answer).get("error")))

    def of_event(self, error: Any) -> errors.ModelError:
        """What an error in the middle of a reply means."""
        fields = as_dict(error)
        code = fields.get("code")
        named = next((STATUS_OF[name] for name in (code, fields.get("type")) if name in STATUS_OF), 0)
        status = code if isinstance(code, int) and 400 <= code < 600 else named
        return self._of(status, "the model server reported an error", self._words(words_in(error))[:1000], fields)

    def of_key(self, text: str) -> errors.ModelAuthFailed:
        hint = f"name the environment variable that holds the key in {self.setting}.api_key_env"
        return errors.ModelAuthFailed(text, hint=f"check the key in {self.key_env}" if self.key_env else hint)

    def of_reply(self, text: str, sample: bytes = b"", *, again: bool) -> errors.ModelBadResponse:
        begins = self._words(sample.decode("utf-8", "replace"))[:60]
        hint = "try again" if again else f"check {self.setting}.base_url and the server"
        error = errors.ModelBadResponse(f"{text}; it begins {begins!r}" if begins else text, hint=hint)
        error.retryable = again
        return error

    def _of(self, status: int, text: str, said: str, fields: dict[str, Any]) -> errors.ModelError:
        text += f": {said}" if said else ""
        kinds = {fields.get("code"), fields.get("type")} - {None}
        if status in (401, 403):
            return self.of_key(text)
        if status == 413 or (status in (0, 400, 422) and (_TOO_LONG.search(" ".join([said, *map(str, kinds)])))):
            return errors.ModelContextOverflow(text)
        if status == 429:
            return self._slow_down(text, "insufficient_quota" in kinds)
        if status in (408, 504):
            return errors.ModelTimeout(text, hint="try again later")
        hint = "the account there needs credit" if status == 402 else ""
        if 300 <= status < 400 or status in (404, 405):
            hint = f"check {self.setting}.base_url and {self.setting}.model"
        return errors.ModelHttpError(text, hint=hint, status=status)

    def _slow_down(self, text: str, used_up: bool) -> errors.ModelRateLimited:
        hint = "the account's quota is used up; choose another model" if used_up else "wait, or choose another model"
        error = errors.ModelRateLimited(text, hint=hint)
        error.retryable = not used_up
        return error

    def _words(self, text: str) -> str:
        hidden = text.replace(self.key, "***") if len(self.key) > 3 else text
        return " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
