"""Every setting, typed, with its default, its meaning, and how far an untrusted project may go with it.

`reach` says what a project's own settings file may do before its folder is trusted: `free` (set it), `tighten` (only
make it stricter), `trusted` (nothing). The user's file, the environment and flags may always set everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, field

from quintet.domain.base.retry import FEW_RETRIES
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.settings.meta import FREE as FREE
from quintet.domain.settings.meta import OWN as OWN
from quintet.domain.settings.meta import TIGHTEN as TIGHTEN
from quintet.domain.settings.meta import TRUSTED as TRUSTED
from quintet.domain.settings.meta import setting
from quintet.domain.settings.screen import KeySettings, Theme
from quintet.domain.turn.messages import Effort
from quintet.domain.turn.tool_menu import Presentation

T = TypeVar("T")
REPLAYED = "replay:"  # before the file of a recording, in the place of a model's name


class DialSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The dials of a new session; unset ones have the surface's defaults."""

    work_mode: Annotated[WorkMode | None, setting("work mode of a new session", TIGHTEN)] = None
    run_control: Annotated[RunControl | None, setting("run control of a new session", TIGHTEN)] = None
    permission_profile: Annotated[PermissionProfile | None, setting("permission profile of a new session", TIGHTEN)] = (
        None
    )
    model_mode: Annotated[ModelMode | None, setting("model mode of a new session")] = None
    abort_active_tool: Annotated[
        bool, setting("a dial that is changed `now` interrupts the running tool instead of waiting for it")
    ] = False


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One model you can route to. Only your own settings may say where it is and which key is sent there.

    Unset values come from the table of known models, where it has them.
    """

    base_url: Annotated[str, setting("address of the API, up to and including /v1; pydantic-ai needs none", OWN)]
    model: Annotated[str, setting("the model's name there", TRUSTED)]
    api_key_env: Annotated[
        str, setting("variable that holds the key, in your environment or in your secrets (`quintet secrets`)", OWN)
    ] = ""
    api_key_command: Annotated[
        str | tuple[str, ...], setting("command that prints the key, in place of a variable; run when first used", OWN)
    ] = ()
    wire: Annotated[
        Literal["openai", "anthropic", "responses", "gemini", "pydantic-ai"],
        setting(
            "API of the server: openai (chat completions), responses (OpenAI), anthropic (messages), gemini "
            "(Google); or by pydantic-ai",
            TRUSTED,
        ),
    ] = "openai"
    headers: Annotated[dict[str, str], setting("additional headers of each request", OWN)] = field(default_factory=dict)
    query: Annotated[dict[str, str], setting("query parameters of the address, such as Azure's api-version", OWN)] = (
        field(default_factory=dict)
    )
    body: Annotated[dict[str, Any], setting("additional fields in the body of each request", TRUSTED)] = field(
        default_factory=dict
    )
    context_window: Annotated[
        int, Meta(ge=0), setting("tokens that the model can read; 0: the known value", TRUSTED)
    ] = 0
    max_tokens: Annotated[int, Meta(ge=0), setting("longest reply, in tokens; 0: the server's default", TRUSTED)] = 0
    temperature: Annotated[
        Annotated[float, Meta(ge=0)] | None, setting("sampling temperature; unset: the model's default", TRUSTED)
    ] = None
    effort: Annotated[
        Effort, setting("how hard it thinks: low, medium or high; empty for the model's default", TRUSTED)
    ] = ""
    thinking_tokens: Annotated[
        int,
        Meta(ge=-1),
        setting("anthropic, gemini: tokens for thinking; 0 asks for none, -1 leaves it to the model", TRUSTED),
    ] = 0
    vision: Annotated[bool | None, setting("whether it accepts images; unset: the known value", TRUSTED)] = None
    allowed_tools: Annotated[
        bool | None,
        setting("whether the API can be told which tools may be called; unset: OpenAI's own and Google's", TRUSTED),
    ] = None
    price_input: Annotated[
        Annotated[float, Meta(ge=0)] | None, setting("price of a million input tokens; unset: the known price", TRUSTED)
    ] = None
    price_cached: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        setting("price of input tokens read from a cache; unset means price_input", TRUSTED),
    ] = None
    price_cache_write: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        setting("price of input tokens written to a cache; unset means price_input", TRUSTED),
    ] = None
    price_output: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        setting("price of a million output tokens; unset: the known price", TRUSTED),
    ] = None
    price_long_above: Annotated[
        int, Meta(ge=0), setting("input tokens that make a request a long one; 0 for none", TRUSTED)
    ] = 0
    price_long_input: Annotated[float, Meta(ge=0), setting("factor on the input price of a long request", TRUSTED)] = (
        2.0
    )
    price_long_output: Annotated[float, Meta(ge=0), setting("factor on its output price", TRUSTED)] = 1.5
    timeout: Annotated[float, Meta(gt=0), setting("seconds without data after which a request fails", TRUSTED)] = 120.0


class RoutingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model each model mode uses: a name from [models], `builtin` (the offline rules), or `replay:FILE`."""

    fast: Annotated[str, setting("model for fast; empty means the one for smart", TRUSTED)] = ""
    smart: Annotated[str, setting("model for smart", TRUSTED)] = "builtin"
    deep: Annotated[str, setting("model for deep; empty means the one for smart", TRUSTED)] = ""
    vision: Annotated[str, setting("model that looks at images; empty means the one for smart", TRUSTED)] = ""
    fast_effort: Annotated[
        Effort, setting("how hard the model thinks in fast: low, medium, high; empty for its own setting", TRUSTED)
    ] = ""
    smart_effort: Annotated[Effort, setting("the same in smart", TRUSTED)] = ""
    deep_effort: Annotated[Effort, setting("the same in deep", TRUSTED)] = ""

    def model(self, use: str, named: str = "") -> str:
        """The model for a use: the one that the user named, else the one set for it, else the one for smart."""
        return named or str(getattr(self, use)) or self.smart

    def effort(self, use: str) -> Effort:
        """How hard the model is to think in a model mode; empty leaves it to the model's own setting."""
        found: Effort = getattr(self, f"{use}_effort", "")
        return found


ROUTES = ("fast", "smart", "deep", "vision")  # the fields of RoutingSettings that name a model


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What stops a run; 0 means no limit."""

    max_turns: Annotated[int, Meta(ge=0), setting("model requests in one turn", TIGHTEN)] = 50
    max_cost: Annotated[float, Meta(ge=0), setting("maximum cost of a session; 0: no limit", TIGHTEN)] = 0.0
    max_calls: Annotated[int, Meta(ge=0), setting("tool calls in one turn", TIGHTEN)] = 200
    max_seconds: Annotated[float, Meta(ge=0), setting("seconds one turn may take", TIGHTEN)] = 0.0
    input_bytes: Annotated[int, Meta(ge=0), setting("largest input accepted; put longer text in a file", TIGHTEN)] = (
        1_000_000
    )
    retries: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        setting(
            "times a failed model request is tried again; unset: as long as retry_seconds, at most 3 times where "
            "the server cannot be reached",
            TIGHTEN,
        ),
    ] = None
    retry_seconds: Annotated[
        float, Meta(ge=0), setting("seconds to wait in total for a busy model server before a request fails", TIGHTEN)
    ] = 120.0


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The stages of a turn."""

    reasoning: Annotated[bool, setting("whether a new session shows its reasoning; /reasoning changes it")] = False
    delivery_check: Annotated[
        bool,
        setting("check at the end of a turn whether the request is delivered; always done where a call was skipped"),
    ] = True
    qa_review: Annotated[bool, setting("review each turn that changed something; the review only advises")] = True
    qa_feedback: Annotated[bool, setting("tell the model, at the next turn, what the review found")] = False
    qa_modes: Annotated[tuple[WorkMode, ...], setting("the work modes in which turns are reviewed")] = (
        WorkMode.BUILD,
        WorkMode.REPAIR,
    )
    qa_controls: Annotated[tuple[RunControl, ...], setting("the run controls in which turns are reviewed")] = (
        RunControl.AUTONOMOUS,
    )
    recall_bytes: Annotated[
        int,
        Meta(ge=0, le=100_000),
        setting("most bytes that a turn begins with of what is known and fits the input; 0: nothing"),
    ] = 4000
    record: Annotated[bool, setting("keep a recording of each session, for `quintet replay`")] = True
    keep_recordings: Annotated[int, Meta(ge=0), setting("number of newest sessions that keep their recordings")] = 100

    def reviews(self, axes: Axes) -> bool:
        """Whether a turn that changed something is reviewed at these dials."""
        return self.qa_review and axes.work_mode in self.qa_modes and axes.run_control in self.qa_controls


class CompressionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When older messages of a conversation become a summary; the journal keeps everything."""

    share: Annotated[
        float,
        Meta(ge=0, le=1),
        setting(
            "share of the model's context window at which compression starts; 0: never; an unknown window counts as "
            "128000 tokens"
        ),
    ] = 0.75
    max_messages: Annotated[int, Meta(ge=0), setting("number of messages at which compression starts; 0: no limit")] = 0
    max_tokens: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        setting(
            "number of tokens (four characters each) at which compression starts before the share is reached; 0: "
            "never, and the share is not used either"
        ),
    ] = None
    keep_messages: Annotated[int, Meta(ge=0), setting("number of newest messages that are not changed")] = 20
    by: Annotated[
        Literal["rules", "model"],
        setting("who writes the summary: model (one more request, added to what the rules keep) or rules"),
    ] = "model"


class ToolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    presentation: Annotated[
        Presentation, setting("how tools are shown to a model: menu (by toolset), flat (all), search")
    ] = Presentation.MENU
    all_schemas: Annotated[
        bool,
        setting(
            "send the schemas of all tools in every request and name those that may be called, so that entering a "
            "toolset keeps the provider's cache valid; the first request is longer"
        ),
    ] = False
    swe_phases: Annotated[
        bool,
        setting("make a run follow the SWE phases: localization, understanding, fix, regression check, verification"),
    ] = False


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The sandbox of the commands that an agent runs."""

    use: Annotated[
        Literal["auto", "bwrap", "partial", "none"],
        setting("auto (the strongest that starts here), bwrap, partial (Landlock) or none", TRUSTED),
    ] = "auto"
    loopback: Annotated[
        Literal["closed", "open"],
        setting(
            "this machine's own ports for a command with a network: closed (with bwrap and pasta or slirp4netns), open",
            TRUSTED,
        ),
    ] = "closed"
    file_bytes: Annotated[int, Meta(ge=0), setting("largest file a command may write; 0: no limit", TIGHTEN)] = (
        1_000_000_000
    )
    show: Annotated[
        tuple[str, ...],
        setting(
            "folders and files outside the project that commands, their git hooks, your own MCP servers and language "
            'servers may read, as ["~/.cache/pre-commit"]; not places that hold secrets',
            OWN,
        ),
    ] = ()
    give: Annotated[
        tuple[str, ...],
        setting("folders outside the project that they may also write, where the call may write at all", OWN),
    ] = ()


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Your shell commands at certain points of a session: they may block something, never allow it.

    Hooks of a trusted project run after yours.
    """

    session_start: Annotated[tuple[str, ...], setting("run when a session is opened or resumed", TRUSTED)] = ()
    user_prompt_submit: Annotated[tuple[str, ...], setting("run before a turn; may prevent it", TRUSTED)] = ()
    pre_tool_use: Annotated[
        tuple[str, ...], setting("run before a call; may deny it, or require approval", TRUSTED)
    ] = ()
    post_tool_use: Annotated[tuple[str, ...], setting("run after a call; may tell the model something", TRUSTED)] = ()
    pre_compact: Annotated[
        tuple[str, ...], setting("run before a conversation is compacted; may prevent that", TRUSTED)
    ] = ()
    stop: Annotated[tuple[str, ...], setting("run when a turn is done; may send it back once", TRUSTED)] = ()
    permission_request: Annotated[
        tuple[str, ...], setting("run before you are asked to approve a call; may deny it", TRUSTED)
    ] = ()


class ProtectSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What no call may read, and what the reading work modes may write."""

    secrets: Annotated[
        tuple[str, ...],
        setting("additional file names that hold secrets, as patterns; a project's are added to yours", TIGHTEN),
    ] = ()
    not_secrets: Annotated[tuple[str, ...], setting("file names that look like secrets but are not", TRUSTED)] = ()
    specs: Annotated[tuple[str, ...], setting("what plan may write, as patterns", TRUSTED)] = (
        "specs/**",
        "docs/specs/**",
    )
    reports: Annotated[tuple[str, ...], setting("what review and research may write, as patterns", TRUSTED)] = (
        "reports/**",
    )


class CheckpointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The project's files as they were before each turn that may write, for /rewind."""

    enabled: Annotated[bool, setting("save checkpoints", TIGHTEN)] = True
    keep: Annotated[
        int, Meta(ge=0), setting("number of turns of the project that keep their checkpoint; 0: all", TRUSTED)
    ] = 200


class DoctorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as healthy."""

    free_bytes: Annotated[int, Meta(ge=0), setting("minimum free bytes on each disk that is written to")] = 100_000_000


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When an executor that failed is started again."""

    max_attempts: Annotated[
        int, Meta(ge=0), setting("attempts of one executor at one task, including the first", TIGHTEN)
    ] = 100
    base_seconds: Annotated[float, Meta(ge=0), setting("seconds before the second attempt")] = 10.0
    step_seconds: Annotated[float, Meta(ge=0), setting("additional seconds before each further one")] = 10.0
    max_reset_seconds: Annotated[float, Meta(ge=0), setting("longest wait for a rate limit with a known end")] = (
        21_600.0
    )


class CycleSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Plan, execute, verify: who does each, and what stops it; 0 means no limit."""

    planner: Annotated[str, setting("native, codex, claude, gemini or acp:COMMAND", TRUSTED)] = "native"
    executor: Annotated[str, setting("who carries out the tasks; the same names", TRUSTED)] = "native"
    verifier: Annotated[str, setting("who verifies them; empty means the planner", TRUSTED)] = ""
    from_input: Annotated[
        bool,
        setting("in build and autonomous, an input that is several tasks is planned first"),
    ] = True
    max_iterations: Annotated[int, Meta(ge=0), setting("maximum number of plans in one cycle", TIGHTEN)] = 20
    max_units: Annotated[int, Meta(ge=0), setting("maximum number of attempts at tasks in one cycle", TIGHTEN)] = 0
    max_tokens: Annotated[int, Meta(ge=0), setting("tokens that one cycle may use", TIGHTEN)] = 0
    max_cost: Annotated[float, Meta(ge=0), setting("maximum cost of one cycle; 0: no limit", TIGHTEN)] = 0.0
    max_seconds: Annotated[float, Meta(ge=0), setting("seconds that one cycle may take", TIGHTEN)] = 0.0
    max_retries: Annotated[int, Meta(ge=0), setting("failed attempts after which a task has failed", TIGHTEN)] = 3
    verify_seconds: Annotated[
        float, Meta(ge=0), setting("seconds that a task's verification command may take", TIGHTEN)
    ] = 600.0
    silence_seconds: Annotated[
        float, Meta(ge=0), setting("seconds without output after which an AI CLI is stopped", TIGHTEN)
    ] = 300.0
    executor_seconds: Annotated[float, Meta(ge=0), setting("seconds that one start of an AI CLI may take", TIGHTEN)] = (
        0.0
    )


class RepairSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What happens when something is wrong before a task is started."""

    auto_transition: Annotated[
        Literal["auto", "ask", "log-only"],
        setting(
            "switch to work mode repair: auto (by this rule), ask (after your approval), log-only (never)", TRUSTED
        ),
    ] = "ask"


class DisplaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    color: Annotated[Literal["auto", "always", "never"], setting("auto, always or never", FREE)] = "auto"
    theme: Annotated[
        Theme,
        setting(
            "theme of the terminal UI: auto (dark, or fewer colours where the terminal has fewer) or one of the others",
            FREE,
        ),
    ] = "auto"
    bell: Annotated[bool, setting("ring when a session needs your input, or ends while its window is not focused")] = (
        True
    )


class PromptSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The input line."""

    own_lines: Annotated[
        Literal["direct", "sandboxed"],
        setting(
            "how a `!` line that you typed at this terminal runs: direct (with your rights, outside the "
            "sandbox), or sandboxed (through gate and sandbox, like any other command)",
            OWN,
        ),
    ] = "direct"
    enter: Annotated[
        Literal["submit", "newline"],
        setting(
            "what Enter does: submit (Shift+Enter, Alt+Enter, Ctrl+J, or Enter after a backslash inserts a newline), "
            "or newline (Ctrl+D submits)"
        ),
    ] = "submit"
    rapid_paste: Annotated[
        bool,
        setting("treat keys that arrive faster than anyone types as a paste, even if the terminal does not mark it"),
    ] = True
    keys: Annotated[
        Literal["emacs", "vi"], setting("how the prompt is edited: emacs (as in a shell), or vi (Esc, then commands)")
    ] = "emacs"


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Searching the web and reading pages."""

    search: Annotated[
        Literal["auto", "ddgs", "brave", "exa", "searxng"],
        setting("search engine: auto uses the first with a key or an address, else ddgs, which needs neither", TRUSTED),
    ] = "auto"
    brave_key_env: Annotated[str, setting("environment variable that holds Brave's key", TRUSTED)] = "BRAVE_API_KEY"
    brave_url: Annotated[str, setting("address of Brave's API", TRUSTED)] = "https://api.search.brave.com"
    exa_key_env: Annotated[str, setting("environment variable that holds Exa's key", TRUSTED)] = "EXA_API_KEY"
    exa_url: Annotated[str, setting("address of Exa's API", TRUSTED)] = "https://api.exa.ai"
    searxng_url: Annotated[str, setting("address of a SearXNG that answers in JSON", TRUSTED)] = ""
    allow_hosts: Annotated[
        tuple[str, ...],
        setting("hosts of your own network that pages may come from: names, name:port, addresses, networks", TRUSTED),
    ] = ()
    max_bytes: Annotated[int, Meta(ge=1), setting("maximum bytes read of one page, after decompression", TIGHTEN)] = (
        5_000_000
    )
    seconds: Annotated[float, Meta(gt=0), setting("seconds that one page or search may take", TIGHTEN)] = 30.0
    redirects: Annotated[int, Meta(ge=0), setting("redirects that are followed for one page", TIGHTEN)] = 5


class SecretSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is hidden from models, journal and logs, and which commands get it."""

    patterns: Annotated[
        tuple[str, ...], setting("names of variables that hold secrets, in your environment and in env files", TRUSTED)
    ] = (
        *("*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_PAT", "*_DSN"),
        *("API_KEY", "TOKEN", "SECRET", "PASSWORD"),
    )
    ignore: Annotated[tuple[str, ...], setting("patterns of names that match but hold no secret", TRUSTED)] = ()
    files: Annotated[tuple[str, ...], setting("env files of the project that are read, as patterns", TRUSTED)] = (
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
    )
    expose: Annotated[
        tuple[str, ...], setting('commands that get a secret in their environment: "NAME: command *"', TRUSTED)
    ] = ()


class DatabaseSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where sessions and tasks are stored, if not in files of this machine's."""

    url: Annotated[
        str, setting("database that several machines share, as postgresql://USER@HOST/NAME; empty: a file here", OWN)
    ] = ""
    project: Annotated[
        str, setting("name of this project in that database; empty: the address that it was cloned from", OWN)
    ] = ""


class Settings(Struct, frozen=True):  # what a feature that is not here left in a recording is passed over
    dials: DialSettings = DialSettings()
    models: dict[str, ModelSettings] = field(default_factory=dict)
    routing: RoutingSettings = RoutingSettings()
    limits: LimitSettings = LimitSettings()
    runs: RunSettings = RunSettings()
    compression: CompressionSettings = CompressionSettings()
    tools: ToolSettings = ToolSettings()
    sandbox: SandboxSettings = SandboxSettings()
    protect: ProtectSettings = ProtectSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    display: DisplaySettings = DisplaySettings()
    prompt: PromptSettings = PromptSettings()
    hooks: HookSettings = HookSettings()
    doctor: DoctorSettings = DoctorSettings()
    keys: KeySettings = KeySettings()
    web: WebSettings = WebSettings()
    secrets: SecretSettings = SecretSettings()
    cycle: CycleSettings = CycleSettings()
    repair: RepairSettings = RepairSettings()
    retry: RetrySettings = RetrySettings()
    database: DatabaseSettings = DatabaseSettings()
    features: dict[str, Any] = field(default_factory=dict)  # tables of features, by their names in the file

    def table(self, name: str, kind: type[T]) -> T:
        """A feature's own table."""
        return self.features[name] if name in self.features else kind()

    def named(self, name: str, kind: type[T]) -> dict[str, T]:
        """A feature's tables that the user named."""
        return self.features.get(name) or {}


def is_tighter(key: str, value: Any, than: Any) -> bool:
    """Whether setting `key` to `value` is at least as strict as `than` (an unset dial counts as its default)."""
    if key.endswith("work_mode"):
        return WorkMode(value) not in (WorkMode.BUILD, WorkMode.REPAIR)
    if key.endswith("permission_profile"):
        return PermissionProfile(value).rank <= PermissionProfile(than or PermissionProfile.RESTRICTED).rank
    if key.endswith("run_control"):
        order = list(RunControl)
        return order.index(RunControl(value)) <= order.index(RunControl(than or RunControl.MANUAL))
    if isinstance(value, tuple):  # names that are held back: none of those that are may be left out
        return set(value) >= set(than or ())
    if isinstance(value, bool):
        return value
    if key.endswith("limits.retries") and than is None:
        than = FEW_RETRIES
    return value > 0 and (not than or value <= than)  # a limit: 0 is none
