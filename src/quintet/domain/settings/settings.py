"""Every setting, typed, with its default, its meaning, and how far an untrusted project may go with it.

`reach` says what a project's own settings file may do before its folder is trusted: `free` (set it), `tighten` (only
make it stricter), `trusted` (nothing). The user's file, the environment and flags may always set everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct, field

from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.settings.meta import FREE as FREE
from quintet.domain.settings.meta import OWN as OWN
from quintet.domain.settings.meta import TIGHTEN as TIGHTEN
from quintet.domain.settings.meta import TRUSTED as TRUSTED
from quintet.domain.settings.meta import setting
from quintet.domain.settings.outside_settings import SecretSettings, WebSettings
from quintet.domain.settings.screen import KeySettings, Theme
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
    """One model you can route to."""

    base_url: Annotated[str, setting("address of the API, up to and including /v1; pydantic-ai needs none", TRUSTED)]
    model: Annotated[str, setting("the model's name there", TRUSTED)]
    api_key_env: Annotated[str, setting("environment variable that holds the key", TRUSTED)] = ""
    wire: Annotated[
        Literal["openai", "anthropic", "pydantic-ai"],
        setting("what the server speaks: openai (chat completions), anthropic (messages); or by pydantic-ai", TRUSTED),
    ] = "openai"
    max_tokens: Annotated[int, setting("longest reply, in tokens; 0 for what is usual there", TRUSTED)] = 0
    thinking_tokens: Annotated[
        int, setting("anthropic: tokens for thinking; 0 asks for none, -1 leaves it to the model", TRUSTED)
    ] = 0
    price_input: Annotated[float, setting("price of a million input tokens", TRUSTED)] = 0.0
    price_cached: Annotated[float, setting("of those, the ones read from a cache; 0 means price_input", TRUSTED)] = 0.0
    price_output: Annotated[float, setting("price of a million output tokens", TRUSTED)] = 0.0
    timeout: Annotated[float, setting("seconds without a byte before a request is given up", TRUSTED)] = 120.0


class RoutingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model each model mode uses: a name from [models], `builtin` (the offline rules), or `replay:FILE`."""

    fast: Annotated[str, setting("model for fast; empty means the one for smart", TRUSTED)] = ""
    smart: Annotated[str, setting("model for smart", TRUSTED)] = "builtin"
    deep: Annotated[str, setting("model for deep; empty means the one for smart", TRUSTED)] = ""
    vision: Annotated[str, setting("model that looks at images; empty means the one for smart", TRUSTED)] = ""

    def model(self, use: str, named: str = "") -> str:
        """The model for a use: the one that the user named, else the one set for it, else the one for smart."""
        return named or str(getattr(self, use)) or self.smart


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What stops a run; 0 means no limit."""

    max_turns: Annotated[int, setting("rounds of the loop (model requests) in one turn", TIGHTEN)] = 50
    max_cost: Annotated[float, setting("money a session may spend", TIGHTEN)] = 0.0
    max_calls: Annotated[int, setting("tool calls in one turn", TIGHTEN)] = 200
    max_seconds: Annotated[float, setting("seconds one turn may take", TIGHTEN)] = 0.0
    input_bytes: Annotated[int, setting("largest input taken; longer text belongs in a file", TIGHTEN)] = 1_000_000
    retries: Annotated[int, setting("times a failed model request is tried again", TIGHTEN)] = 3


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The stages of a turn."""

    reasoning: Annotated[bool, setting("whether a new session shows its reasoning; /reasoning turns it")] = False
    delivery_check: Annotated[bool, setting("ask at the end of a turn whether what was asked for is delivered")] = True
    qa_review: Annotated[bool, setting("review, as an advisor, a turn that changed something")] = True
    qa_feedback: Annotated[bool, setting("tell the model, at the next turn, what the review found")] = False
    qa_modes: Annotated[tuple[WorkMode, ...], setting("the work modes in which it does")] = (
        WorkMode.BUILD,
        WorkMode.REPAIR,
    )
    record: Annotated[bool, setting("keep a recording of each session, for `quintet replay`")] = True
    keep_recordings: Annotated[int, setting("sessions whose recordings are kept, the newest ones")] = 100


class CompressionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When older messages of a conversation become a summary; the journal keeps everything."""

    max_messages: Annotated[int, setting("messages that make compression due; 0 for any number")] = 200
    max_tokens: Annotated[int, setting("tokens that make it due, at four characters a token; 0 for any number")] = (
        100_000
    )
    keep_messages: Annotated[int, setting("newest messages that stay as they are")] = 20
    by: Annotated[
        Literal["rules", "model"],
        setting("who writes a summary that is due: rules, or model (one more request); /compact goes by the rules"),
    ] = "rules"


class ToolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    presentation: Annotated[
        Presentation, setting("how tools are put before a model: menu (by toolset), flat (all), search")
    ] = Presentation.MENU
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
    from_input: Annotated[bool, setting("in build and autonomous, an input that is several tasks is planned first")] = (
        True
    )
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
    bell: Annotated[bool, setting("ring when a session waits for you, or ends while you look elsewhere")] = True


class PromptSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where you type."""

    enter: Annotated[
        Literal["submit", "newline"],
        setting(
            "what Enter does: submit (Shift+Enter, Alt+Enter or Ctrl+J begins a line), or newline (Ctrl+D submits)"
        ),
    ] = "submit"
    rapid_paste: Annotated[
        bool, setting("take keys that come too fast to be typed for a paste; for terminals that do not say so")
    ] = True


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
    return value > 0 and (not than or value <= than)  # a limit: 0 is none
