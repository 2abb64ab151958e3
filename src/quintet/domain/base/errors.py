"""Every error Quintet raises on purpose, each with a stable code.

    QuintetError
    ├── UsageError            what the person typed cannot be taken            exit 2
    │   └── SettingsError     a settings file, variable or flag is wrong
    ├── StoreError            the state on disk cannot be read or written      exit 1
    │   ├── StoreNewer        written by a newer Quintet; left untouched
    │   ├── StoreDamaged      a page or row cannot be read; copied aside
    │   ├── StoreUnwritable   read-only, full, or no permission
    │   ├── StoreUnreachable  the database server cannot be reached, or lets nobody in
    │   ├── StoreOlder        made by an older Quintet; `quintet database migrate` brings it up
    │   ├── LeaseLost         another process owns the session now
    │   ├── OwnerGone         the process that owned the session has ended
    │   └── TaskTaken         another process works at the task, or has moved it
    ├── NotFound              no such session, event, question                 exit 1
    ├── DocumentUnreadable    a document that cannot go into the library       exit 1
    ├── RunFailed             an agent's command or a run; `failures` has codes exit 1
    ├── Unplayable            a recording that cannot be replayed              exit 1
    ├── ModelError            the model could not answer                       exit 1
    │   ├── ModelAuthFailed, ModelTimeout, ModelRateLimited, ModelHttpError, ModelBadResponse
    │   ├── ModelUnreachable
    │   └── ModelContextOverflow
    ├── ExecutorFailed        an AI CLI cannot work here: not there, not logged in, out of reach
    └── ToolFailed            a tool's failure; becomes a result, never leaves the toolbox

Raised anywhere, caught at Session and at the surfaces.
"""

from __future__ import annotations


class QuintetError(Exception):
    """Something went wrong that Quintet can name."""

    code = "QUINTET_ERROR"
    exit_code = 1

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        self.message = message or (self.__doc__ or "").strip()
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(QuintetError):
    """The command is not valid."""

    code = "USAGE"
    exit_code = 2


class SettingsError(UsageError):
    """A setting is wrong."""

    code = "SETTINGS_INVALID"


class StoreError(QuintetError):
    """The state on disk cannot be used."""

    code = "STORE_FAILED"


class StoreNewer(StoreError):
    """This project's state was written by a newer Quintet; it was left untouched."""

    code = "STORE_NEWER"


class StoreDamaged(StoreError):
    """This project's state is damaged."""

    code = "STORE_DAMAGED"


class StoreUnwritable(StoreError):
    """This project's state cannot be written."""

    code = "STORE_UNWRITABLE"


class StoreUnreachable(StoreError):
    """The database cannot be reached."""

    code = "STORE_UNREACHABLE"


class StoreOlder(StoreError):
    """The database has no tables of Quintet's, or those of an older one."""

    code = "STORE_OLDER"


class LeaseLost(StoreError):
    """Another process has taken this session over; what ran here was stopped. `quintet --resume` attaches to it."""

    code = "LEASE_LOST"


class OwnerGone(StoreError):
    """The process that owned this session has ended; `quintet --resume` takes the session over."""

    code = "OWNER_GONE"


class TaskTaken(StoreError):
    """Another process is working on this task."""

    code = "TASK_TAKEN"


class NotFound(QuintetError):
    """There is no such thing."""

    code = "NOT_FOUND"


class DocumentUnreadable(QuintetError):
    """The document cannot be read."""

    code = "DOCUMENT_UNREADABLE"


class RunFailed(QuintetError):
    """An agent's command or a run cannot be carried out; its code says why."""

    code = "UNKNOWN"

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class Unplayable(QuintetError):
    """The recording cannot be replayed."""

    code = "RECORDING_UNPLAYABLE"


class ModelError(QuintetError):
    """The model could not answer."""

    code = "UNKNOWN"
    retryable = False
    retry_after: float | None = None  # seconds, where the server says


class ModelAuthFailed(ModelError):
    """The model server refused the key."""

    code = "LLM_AUTH_FAILED"


class ModelTimeout(ModelError):
    """The model server did not answer in time."""

    code = "LLM_TIMEOUT"
    retryable = True


class ModelRateLimited(ModelError):
    """The model server asks us to slow down."""

    code = "LLM_RATE_LIMITED"
    retryable = True

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ModelHttpError(ModelError):
    """The model server answered with an error."""

    code = "LLM_HTTP_ERROR"

    def __init__(self, message: str = "", *, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retryable = status >= 500


class ModelUnreachable(ModelError):
    """The model server cannot be reached."""

    code = "LLM_HTTP_ERROR"
    retryable = True


class ModelBadResponse(ModelError):
    """The model server's answer cannot be read."""

    code = "LLM_BAD_RESPONSE"


class ModelContextOverflow(ModelError):
    """The conversation is longer than the model can read."""

    code = "LLM_CONTEXT_OVERFLOW"

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(
            message,
            hint=hint
            or ("shorten it with /compact, start a new session, or choose a model with a larger context window"),
        )


class ExecutorFailed(QuintetError):
    """An AI CLI could not work, for a reason outside its task."""

    code = "EXECUTOR_FAILED"


class ToolFailed(QuintetError):
    """The tool could not do it."""

    code = "TOOL_EXEC_FAILED"
