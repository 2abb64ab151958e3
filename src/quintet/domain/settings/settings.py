"""Every setting, typed, with its default, its meaning, and how far an untrusted project may go with it.

`reach` says what a project's own settings file may do before its folder is trusted: `free` (set it), `tighten` (only
make it stricter), `trusted` (nothing). The user's file, the environment and flags may always set everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct, field

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
    """Where the dials stand when a session opens; unset ones follow the surface's defaults."""

    work_mode: Annotated[WorkMode | None, setting("work mode of a new session", TIGHTEN)] = None
    run_control: Annotated[RunControl | None, setting("run control of a new session", TIGHTEN)] = None
    permission_profile: Annotated[PermissionProfile | None, setting("permission profile of a new session", TIGHTEN)] = (
        None
    )
    model_mode: Annotated[ModelMode | None, setting("model mode of a new session")] = None
    abort_active_tool: Annotated[
        bool, setting("a dial turned `now` interrupts the running tool instead of waiting for it")
    ] = False


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One model you can route to. Where it is, and what is sent there as a key, only your own settings may say.

    What is left unset comes from the table of known models, where that has it.
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
            "what the server speaks: openai (chat completions), responses (OpenAI), anthropic (messages), gemini "
            "(Google); or by pydantic-ai",
            TRUSTED,
        ),
    ] = "openai"
    headers: Annotated[dict[str, str], setting("more headers of each request", OWN)] = field(default_factory=dict)
    query: Annotated[dict[str, str], setting("what the address ends in, such as Azure's api-version", OWN)] = field(
        default_factory=dict
    )
    body: Annotated[dict[str, Any], setting("more fields of each request's body", TRUSTED)] = field(
        default_factory=dict
    )
    context_window: Annotated[int, setting("tokens that the model can read; 0 for what is known of it", TRUSTED)] = 0
    max_tokens: Annotated[int, setting("longest reply, in tokens; 0 for what is usual there", TRUSTED)] = 0
    temperature: Annotated[
        float | None, setting("how freely it chooses its words; unset for the model's default", TRUSTED)
    ] = None
    effort: Annotated[
        Effort, setting("how hard it thinks: low, medium or high; empty for the model's default", TRUSTED)
    ] = ""
    thinking_tokens: Annotated[
        int, setting("anthropic, gemini: tokens for thinking; 0 asks for none, -1 leaves it to the model", TRUSTED)
    ] = 0
    vision: Annotated[bool | None, setting("whether it sees pictures; unset for what is known of it", TRUSTED)] = None
    allowed_tools: Annotated[
        bool | None,
        setting("whether the API can be told which tools may be called; unset: OpenAI's own and Google's", TRUSTED),
    ] = None
    price_input: Annotated[
        float | None, setting("price of a million input tokens; unset for what is known", TRUSTED)
    ] = None
    price_cached: Annotated[
        float | None, setting("of those, the ones read from a cache; unset means price_input", TRUSTED)
    ] = None
    price_cache_write: Annotated[
        float | None, setting("of those, the ones put into a cache; unset means price_input", TRUSTED)
    ] = None
    price_output: Annotated[
        float | None, setting("price of a million output tokens; unset for what is known", TRUSTED)
    ] = None
    price_long_above: Annotated[int, setting("input tokens that make a request a long one; 0 for none", TRUSTED)] = 0
    price_long_input: Annotated[float, setting("times that a long request's input costs as much", TRUSTED)] = 2.0
    price_long_output: Annotated[float, setting("times that its output costs as much", TRUSTED)] = 1.5
    timeout: Annotated[float, setting("seconds without a byte before a request is given up", TRUSTED)] = 120.0


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

    max_turns: Annotated[int, setting("rounds of the loop (model requests) in one turn", TIGHTEN)] = 50
    max_cost: Annotated[float, setting("money a session may spend", TIGHTEN)] = 0.0
    max_calls: Annotated[int, setting("tool calls in one turn", TIGHTEN)] = 200
    max_seconds: Annotated[float, setting("seconds one turn may take", TIGHTEN)] = 0.0
    input_bytes: Annotated[int, setting("largest input taken; longer text belongs in a file", TIGHTEN)] = 1_000_000
    retries: Annotated[
        int | None,
        setting(
            "times a failed model request is tried again; unset: as long as retry_seconds, at most 3 times where "
            "the server cannot be reached",
            TIGHTEN,
        ),
    ] = None
    retry_seconds: Annotated[
        float, setting("seconds to wait in all for a model server that is busy, before a request is given up", TIGHTEN)
    ] = 120.0


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The stages of a turn."""

    reasoning: Annotated[bool, setting("whether a new session shows its reasoning; /reasoning turns it")] = False
    delivery_check: Annotated[
        bool,
        setting("ask at the end of a turn whether what was asked for is delivered; always where a call was skipped"),
    ] = True
    qa_review: Annotated[bool, setting("review, as an advisor, a turn that changed something")] = True
    qa_feedback: Annotated[bool, setting("tell the model, at the next turn, what the review found")] = False
    qa_modes: Annotated[tuple[WorkMode, ...], setting("the work modes in which it does")] = (
        WorkMode.BUILD,
        WorkMode.REPAIR,
    )
    qa_controls: Annotated[tuple[RunControl, ...], setting("and the run controls")] = (RunControl.AUTONOMOUS,)
    record: Annotated[bool, setting("keep a recording of each session, for `quintet replay`")] = True
    keep_recordings: Annotated[int, setting("sessions whose recordings are kept, the newest ones")] = 100

    def reviews(self, axes: Axes) -> bool:
        """Whether a turn that changed something is reviewed at these dials."""
        return self.qa_review and axes.work_mode in self.qa_modes and axes.run_control in self.qa_controls


class CompressionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When older messages of a conversation become a summary; the journal keeps everything."""

    share: Annotated[
        float,
        setting(
            "share of the model's window that makes compression due, 0 for none; a window that nobody knows counts as "
            "128000 tokens"
        ),
    ] = 0.75
    max_messages: Annotated[int, setting("messages that make it due; 0 for any number")] = 0
    max_tokens: Annotated[
        int | None,
        setting(
            "tokens that make it due before the share does, at four characters a token; 0 for any number, and then the "
            "share does not count either"
        ),
    ] = None
    keep_messages: Annotated[int, setting("newest messages that stay as they are")] = 20
    by: Annotated[
        Literal["rules", "model"],
        setting(
            "who tells in a summary what happened: model (one more request, beside what the rules keep), or rules alone"
        ),
    ] = "model"


class ToolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    presentation: Annotated[
        Presentation, setting("how tools are put before a model: menu (by toolset), flat (all), search")
    ] = Presentation.MENU
    all_schemas: Annotated[
        bool,
        setting(
            "send the schemas of all tools in every request and name those that may be called, so that entering a "
            "toolset leaves the provider's cache whole; a longer first request"
        ),
    ] = False
    swe_phases: Annotated[
        bool, setting("keep a run to SWE phases: localization, understanding, fix, regression check, verification")
    ] = False


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What contains the commands an agent runs."""

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
    file_bytes: Annotated[int, setting("largest file a command may write; 0 for any", TIGHTEN)] = 1_000_000_000
    show: Annotated[
        tuple[str, ...],
        setting(
            "folders and files outside the project that commands, their git hooks, your own MCP servers and language "
            'servers may read, as ["~/.cache/pre-commit"]; no place of secrets',
            OWN,
        ),
    ] = ()
    give: Annotated[
        tuple[str, ...],
        setting("folders outside the project that they may also write, where the call may write at all", OWN),
    ] = ()


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Shell commands of yours at places of a session: they may hold something back, never allow it.

    Those of a trusted project's file run after those of yours.
    """

    session_start: Annotated[tuple[str, ...], setting("run when a session is opened or taken up", TRUSTED)] = ()
    user_prompt_submit: Annotated[
        tuple[str, ...], setting("run before a turn; may keep it from beginning", TRUSTED)
    ] = ()
    pre_tool_use: Annotated[tuple[str, ...], setting("run before a call; may deny it, or have it asked", TRUSTED)] = ()
    post_tool_use: Annotated[tuple[str, ...], setting("run after a call; may tell the model something", TRUSTED)] = ()
    pre_compact: Annotated[
        tuple[str, ...], setting("run before a conversation is compacted; may keep it", TRUSTED)
    ] = ()
    stop: Annotated[tuple[str, ...], setting("run when a turn is done; may send it back once", TRUSTED)] = ()
    permission_request: Annotated[
        tuple[str, ...], setting("run before you are asked to approve a call; may deny it", TRUSTED)
    ] = ()


class ProtectSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What no call may read, and what the reading work modes may write."""

    secrets: Annotated[
        tuple[str, ...],
        setting("more file names that hold secrets, as patterns; a project's come on top of yours", TIGHTEN),
    ] = ()
    not_secrets: Annotated[tuple[str, ...], setting("file names that look like secrets and are not", TRUSTED)] = ()
    specs: Annotated[tuple[str, ...], setting("what plan may write, as patterns", TRUSTED)] = (
        "specs/**",
        "docs/specs/**",
    )
    reports: Annotated[tuple[str, ...], setting("what review and research may write, as patterns", TRUSTED)] = (
        "reports/**",
    )


class CheckpointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The project's files as they were before each turn that may write, for /rewind."""

    enabled: Annotated[bool, setting("keep them", TIGHTEN)] = True
    keep: Annotated[int, setting("turns of the project whose files are kept; 0 for all", TRUSTED)] = 200


class DoctorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as healthy."""

    free_bytes: Annotated[int, setting("bytes that have to be free on each disk that is written to")] = 100_000_000


class RetrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When an executor that failed is started again."""

    max_attempts: Annotated[int, setting("starts of one executor for one task, the first included", TIGHTEN)] = 100
    base_seconds: Annotated[float, setting("seconds before the second attempt")] = 10.0
    step_seconds: Annotated[float, setting("seconds more before each further one")] = 10.0
    max_reset_seconds: Annotated[float, setting("longest wait for a rate limit that says when it ends")] = 21_600.0


class CycleSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Plan, execute, verify: who does each, and what stops it; 0 means no limit."""

    planner: Annotated[str, setting("native, codex, claude, gemini or acp:COMMAND", TRUSTED)] = "native"
    executor: Annotated[str, setting("who does the units; the same names", TRUSTED)] = "native"
    verifier: Annotated[str, setting("who verifies them; empty means the planner", TRUSTED)] = ""
    from_input: Annotated[
        bool,
        setting("in build and autonomous, an input that is several tasks is planned first"),
    ] = True
    max_iterations: Annotated[int, setting("plans of one cycle", TIGHTEN)] = 20
    max_units: Annotated[int, setting("units of one cycle", TIGHTEN)] = 0
    max_tokens: Annotated[int, setting("tokens that one cycle may use", TIGHTEN)] = 0
    max_cost: Annotated[float, setting("money that one cycle may spend", TIGHTEN)] = 0.0
    max_seconds: Annotated[float, setting("seconds that one cycle may take", TIGHTEN)] = 0.0
    max_retries: Annotated[int, setting("failed units of a task before the task has failed", TIGHTEN)] = 3
    verify_seconds: Annotated[float, setting("seconds that a task's verification command may take", TIGHTEN)] = 600.0
    silence_seconds: Annotated[float, setting("seconds without a word before an AI CLI is given up", TIGHTEN)] = 300.0
    executor_seconds: Annotated[float, setting("seconds that one start of an AI CLI may take", TIGHTEN)] = 0.0


class RepairSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What happens when something is wrong before a unit is begun."""

    auto_transition: Annotated[
        Literal["auto", "ask", "log-only"],
        setting("go over to work mode repair: auto (by this rule), ask (you are asked), log-only (never)", TRUSTED),
    ] = "ask"


class DisplaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    color: Annotated[Literal["auto", "always", "never"], setting("auto, always or never", FREE)] = "auto"
    theme: Annotated[
        Theme,
        setting(
            "of the terminal UI: auto (dark, or fewer colours where the terminal has fewer) or one of the others", FREE
        ),
    ] = "auto"
    bell: Annotated[bool, setting("ring when a session needs your input, or ends while you look elsewhere")] = True


class PromptSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where you type."""

    own_lines: Annotated[
        Literal["direct", "sandboxed"],
        setting(
            "how a `!` line runs that you typed yourself at this terminal: direct (with your rights, outside the "
            "sandbox), or sandboxed (behind gate and sandbox, like any other command)",
            OWN,
        ),
    ] = "direct"
    enter: Annotated[
        Literal["submit", "newline"],
        setting(
            "what Enter does: submit (Shift+Enter, Alt+Enter, Ctrl+J, or Enter behind a backslash inserts a newline), "
            "or newline (Ctrl+D submits)"
        ),
    ] = "submit"
    rapid_paste: Annotated[
        bool, setting("take keys that come too fast to be typed for a paste, also where the terminal does not mark it")
    ] = True
    keys: Annotated[
        Literal["emacs", "vi"], setting("how the prompt is edited: emacs (as in a shell), or vi (Esc, then commands)")
    ] = "emacs"


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Searching the web and reading pages."""

    search: Annotated[
        Literal["auto", "ddgs", "brave", "exa", "searxng"],
        setting(
            "what searches: auto takes the first with a key or an address, else ddgs, which needs neither", TRUSTED
        ),
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
    max_bytes: Annotated[int, setting("most that is read of one page, unpacked", TIGHTEN)] = 5_000_000
    seconds: Annotated[float, setting("seconds that one page or search may take", TIGHTEN)] = 30.0
    redirects: Annotated[int, setting("redirects that are followed for one page", TIGHTEN)] = 5


class SecretSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept from models, journal and logs, and which commands get it."""

    patterns: Annotated[
        tuple[str, ...], setting("names of variables that hold secrets, in your environment and in env files", TRUSTED)
    ] = (
        *("*_KEY", "*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_PAT", "*_DSN"),
        *("API_KEY", "TOKEN", "SECRET", "PASSWORD"),
    )
    ignore: Annotated[tuple[str, ...], setting("names, as patterns, that fit and hold none", TRUSTED)] = ()
    files: Annotated[
        tuple[str, ...], setting("env files of the project that are looked into, as patterns", TRUSTED)
    ] = (
        ".env",
        ".env.*",
        "*.env",
        ".envrc",
    )
    expose: Annotated[
        tuple[str, ...], setting('commands that get a secret in their environment: "NAME: command *"', TRUSTED)
    ] = ()


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
