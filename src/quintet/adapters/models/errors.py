"""What a model server's errors mean, in the user's terms and under stable codes.

A server's words go in without the key or anything that a terminal would obey.
"""

from __future__ import annotations

import re
from typing import Any

from quintet.adapters.files.loose_json import as_dict, as_list, as_text, words_in
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
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_TOO_LONG = regex(
    r"context[ _](length|window|size|limit)|context (the )?overflow|(prompt|input|request) is too (long|large)"
    r"|too many (input )?tokens|maximum (prompt length|number of tokens)|model token limit|prompt exceeds",
    re.IGNORECASE,
)
_NO_KEY = regex(r"api[ _]key (not|is not|isn't) valid|API_KEY_INVALID|invalid api[ _]key", re.IGNORECASE)
_NO_CREDIT = regex(r"credit balance|insufficient[ _](balance|credits?|funds|quota)|billing hard limit", re.IGNORECASE)
_NO_MODEL = regex(
    r"model_not_found|model[^.]{0,80}(not found|does not exist|not exist|is not available)|invalid model|unknown model",
    re.IGNORECASE,
)
_NO_SIGHT = regex(r"image", re.IGNORECASE)
_PAGE = regex(r"\s*<(!doctype html|html|head|body)", re.IGNORECASE)
_TITLE = regex(r"<title[^>]*>([^<]{1,80})", re.IGNORECASE)
_SECONDS = regex(r"^(\d+(?:\.\d+)?)s$")
# Words of a refused request, and the setting that brought about what it refuses.
_BY_SETTING = {
    "temperature": "temperature",
    "effort": "effort",
    "thinking": "thinking_tokens",
    "allowed_tools": "allowed_tools",
    "allowed_function_names": "allowed_tools",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
}


class Failures:
    """Errors of one model; `setting` is what hints call it."""

    def __init__(self, setting: str, key: str, key_env: str, *, by_command: bool = False) -> None:
        self.setting = setting
        self.by_command = by_command
        self.key = key
        self.key_env = key_env

    def of_status(self, status: int, answer: Any, body: bytes = b"") -> errors.ModelError:
        """What an answer with an error status means; `answer` is its JSON, if it has any."""
        text = f"the model server answered HTTP {status}"
        if _PAGE.match(body.decode("utf-8", "replace")):
            return self._of_page(status, text, body)
        answer = answer[0] if isinstance(answer, list) and answer else answer  # Google's, where nothing was streamed
        said = self.words(words_in(answer))[:1000] or self.words(body.decode("utf-8", "replace"))[:200]
        return self._of(status, text, said, as_dict(as_dict(answer).get("error")))

    def of_event(self, error: Any) -> errors.ModelError:
        """What an error in the middle of a reply means."""
        fields = as_dict(error)
        code = fields.get("code")
        named = next((STATUS_OF[n] for n in (code, fields.get("type"), fields.get("status")) if n in STATUS_OF), 0)
        status = code if isinstance(code, int) and 400 <= code < 600 else named
        said = self.words(words_in(error))[:1000]
        return self._of(status, "the model server reported an error", said, fields, streamed=True)

    def of_key(self, text: str) -> errors.ModelAuthFailed:
        hint = f"set {self.setting}.api_key_env to the name of the environment variable that contains the key"
        hint = f"check what {self.setting}.api_key_command prints" if self.by_command else hint
        return errors.ModelAuthFailed(text, hint=f"check the key in {self.key_env}" if self.key_env else hint)

    def of_reply(self, text: str, sample: bytes = b"", *, again: bool) -> errors.ModelBadResponse:
        if _PAGE.match(sample.decode("utf-8", "replace")):
            return errors.ModelBadResponse(f"{text}: it is a web page{self._titled(sample)}", hint=self._proxy_hint())
        begins = self.words(sample.decode("utf-8", "replace"))[:60]
        hint = "try again" if again else f"check {self.setting}.base_url and the server"
        error = errors.ModelBadResponse(f"{text}; it begins {begins!r}" if begins else text, hint=hint)
        error.retryable = again
        return error

    def of_package(self, error: Exception) -> errors.ModelError:
        """What a provider's own package raised before or beside any answer."""
        said = self.words(str(error))[:300] or "no reason given"
        return errors.ModelError(f"{type(error).__name__}: {said}", hint=f"check {self.setting} in your settings")

    def _of(
        self, status: int, text: str, said: str, fields: dict[str, Any], *, streamed: bool = False
    ) -> errors.ModelError:
        text += f": {said}" if said else ""
        kinds = {str(kind) for kind in (fields.get("code"), fields.get("type"), fields.get("status")) if kind}
        words = " ".join([said, *kinds])
        if status in (401, 403) or (status == 400 and _NO_KEY.search(words)):
            return self.of_key(text)
        unsaid = status in (0, 400, 422) or (streamed and status != 429)
        if status == 413 or (unsaid and _TOO_LONG.search(words)):
            return errors.ModelContextOverflow(text)
        if status == 429:
            return self._slow_down(text, "insufficient_quota" in kinds, _wait(fields))
        if status in (408, 504):
            return errors.ModelTimeout(text, hint="try again later")
        return errors.ModelHttpError(text, hint=self._hint(status, words), status=status)

    def _hint(self, status: int, words: str) -> str:
        if status == 402 or _NO_CREDIT.search(words):
            return "the account needs credit; add some, or choose another model"
        if status >= 500:
            return "the provider has a problem; wait, or choose another model"
        if _NO_MODEL.search(words):
            return (
                f"set {self.setting}.model to a model that the server has; `quintet models list` shows the known ones"
            )
        if 300 <= status < 400 or status in (404, 405):
            return f"check {self.setting}.base_url and {self.setting}.model"
        if status in (400, 422):
            named = next((setting for word, setting in _BY_SETTING.items() if word in words.lower()), "")
            if named:
                return f"change {self.setting}.{named}, or remove it"
            if _NO_SIGHT.search(words):
                return f"if this model cannot see pictures, set {self.setting}.vision = false"
        return ""

    def _of_page(self, status: int, text: str, body: bytes) -> errors.ModelError:
        """A web page comes from something that stands before the API."""
        text += f" with a web page{self._titled(body)}"
        if status in (408, 504):
            return errors.ModelTimeout(text, hint="try again later")
        if status == 429:
            return self._slow_down(text, False, None)
        return errors.ModelHttpError(text, hint=self._proxy_hint(), status=status)

    def _titled(self, body: bytes) -> str:
        title = _TITLE.search(body.decode("utf-8", "replace"))
        return f" ({self.words(title[1])})" if title else ""

    def _proxy_hint(self) -> str:
        return (
            f"a proxy or a login page answers instead of the API: check {self.setting}.base_url and the proxy variables"
        )

    def _slow_down(self, text: str, used_up: bool, wait: float | None) -> errors.ModelRateLimited:
        hint = "the account's quota is used up; choose another model" if used_up else "wait, or choose another model"
        error = errors.ModelRateLimited(text, hint=hint, retry_after=wait)
        error.retryable = not used_up
        return error

    def words(self, text: str) -> str:
        hidden = text.replace(self.key, "***") if len(self.key) > 3 else text
        from quintet.domain.base.redaction import Redaction  # for an error alone

        hidden = Redaction((self.key,)).text(hidden)  # in base64, percent-encoded, escaped
        return " ".join("".join(c if c.isprintable() else " " for c in hidden).split())


def _wait(fields: dict[str, Any]) -> float | None:
    """The seconds that Google's errors say to wait, among their details."""
    for detail in map(as_dict, as_list(fields.get("details"))):
        if found := _SECONDS.match(as_text(detail.get("retryDelay"))):
            return float(found[1])
    return None
