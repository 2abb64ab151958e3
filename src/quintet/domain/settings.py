"""Every setting, typed, with its default, its meaning, and how far an untrusted project may go with it.

`reach` says what a project's own settings file may do before its folder is trusted: `free` (set it), `tighten` (only
make it stricter), `trusted` (nothing). The user's file, the environment and flags may always set everything.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, field

from quintet.domain.axes import ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.tool_menu import Presentation

FREE, TIGHTEN, TRUSTED = "free", "tighten", "trusted"
REPLAYED = "replay:"  # before the file of a recording, in the place of a model's name


def _about(text: str, reach: str = FREE) -> Meta:
    return Meta(description=text, extra={"reach": reach})


class DialSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the dials stand when a session opens; unset ones follow the surface's defaults."""

    work_mode: Annotated[WorkMode | None, _about("work mode of a new session", TIGHTEN)] = None
    run_control: Annotated[RunControl | None, _about("run control of a new session", TIGHTEN)] = None
    permission_profile: Annotated[PermissionProfile | None, _about("permission profile of a new session", TIGHTEN)] = (
        None
    )
    model_mode: Annotated[ModelMode | None, _about("model mode of a new session")] = None
    abort_active_tool: Annotated[
        bool, _about("a dial turned `now` interrupts the running tool instead of waiting for it")
    ] = False


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One model you can route to."""

    base_url: Annotated[str, _about("address of the API, up to and including /v1; pydantic-ai needs none", TRUSTED)]
    model: Annotated[str, _about("the model's name there", TRUSTED)]
    api_key_env: Annotated[str, _about("environment variable that holds the key", TRUSTED)] = ""
    wire: Annotated[
        Literal["openai", "anthropic", "pydantic-ai"],
        _about("what the server speaks: openai (chat completions), anthropic (messages); or by pydantic-ai", TRUSTED),
    ] = "openai"
    max_tokens: Annotated[int, _about("longest reply, in tokens; 0 for what is usual there", TRUSTED)] = 0
    thinking_tokens: Annotated[
        int, _about("anthropic: tokens for thinking; 0 asks for none, -1 leaves it to the model", TRUSTED)
    ] = 0
    price_input: Annotated[float, _about("price of a million input tokens", TRUSTED)] = 0.0
    price_cached: Annotated[float, _about("of those, the ones read from a cache; 0 means price_input", TRUSTED)] = 0.0
    price_output: Annotated[float, _about("price of a million output tokens", TRUSTED)] = 0.0
    timeout: Annotated[float, _about("seconds without a byte before a request is given up", TRUSTED)] = 120.0


class RoutingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which model each model mode uses: a name from [models], `builtin` (the offline rules), or `replay:FILE`."""

    fast: Annotated[str, _about("model for fast; empty means the one for smart", TRUSTED)] = ""
    smart: Annotated[str, _about("model for smart", TRUSTED)] = "builtin"
    deep: Annotated[str, _about("model for deep; empty means the one for smart", TRUSTED)] = ""
    vision: Annotated[str, _about("model that looks at images; empty means the one for smart", TRUSTED)] = ""


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What stops a run; 0 means no limit."""

    max_turns: Annotated[int, _about("rounds of the loop (model requests) in one turn", TIGHTEN)] = 50
    max_cost: Annotated[float, _about("money a session may spend", TIGHTEN)] = 0.0
    max_calls: Annotated[int, _about("tool calls in one turn", TIGHTEN)] = 200
    max_seconds: Annotated[float, _about("seconds one turn may take", TIGHTEN)] = 0.0
    input_bytes: Annotated[int, _about("largest input taken; longer text belongs in a file", TIGHTEN)] = 1_000_000
    retries: Annotated[int, _about("times a failed model request is tried again", FREE)] = 3


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The stages of a turn."""

    reasoning: Annotated[bool, _about("whether a new session shows its reasoning; /reasoning turns it")] = False
    delivery_check: Annotated[bool, _about("ask at the end of a turn whether what was asked for is delivered")] = True
    qa_review: Annotated[bool, _about("review, as an advisor, a turn that changed something")] = True
    qa_feedback: Annotated[bool, _about("tell the model, at the next turn, what the review found")] = False
    qa_modes: Annotated[tuple[WorkMode, ...], _about("the work modes in which it does")] = (
        WorkMode.BUILD,
        WorkMode.REPAIR,
    )
    record: Annotated[bool, _about("keep a recording of each session, for `quintet replay`")] = True
    keep_recordings: Annotated[int, _about("sessions whose recordings are kept, the newest ones")] = 100


class CompressionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When older messages of a conversation become a summary; the journal keeps everything."""

    max_messages: Annotated[int, _about("messages that make compression due; 0 for any number")] = 200
    max_tokens: Annotated[int, _about("tokens that make it due, at four characters a token; 0 for any number")] = (
        100_000
    )
    keep_messages: Annotated[int, _about("newest messages that stay as they are")] = 20
    by: Annotated[
        Literal["rules", "model"],
        _about("who writes a summary that is due: rules, or model (one more request); /compact goes by the rules"),
    ] = "rules"


class ToolSettings(Struct, frozen=True, forbid_unknown_fields=True):
    presentation: Annotated[
        Presentation, _about("how tools are put before a model: menu (by toolset), flat (all), search")
    ] = Presentation.MENU
    swe_phases: Annotated[
        bool, _about("keep a run to SWE phases: localization, understanding, fix, regression check, verification")
    ] = False


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What contains the commands an agent runs."""

    use: Annotated[
        Literal["auto", "bwrap", "partial", "none"],
        _about("auto (the strongest that starts here), bwrap, partial (Landlock) or none", TRUSTED),
    ] = "auto"
    file_bytes: Annotated[int, _about("largest file a command may write; 0 for any", TIGHTEN)] = 1_000_000_000


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Shell commands of yours at places of a session: they may hold something back, never allow it.

    Those of a trusted project's file run after those of yours.
    """

    session_start: Annotated[tuple[str, ...], _about("run when a session is opened or taken up", TRUSTED)] = ()
    user_prompt_submit: Annotated[
        tuple[str, ...], _about("run before a turn; may keep it from beginning", TRUSTED)
    ] = ()
    pre_tool_use: Annotated[tuple[str, ...], _about("run before a call; may deny it, or have it asked", TRUSTED)] = ()
    post_tool_use: Annotated[tuple[str, ...], _about("run after a call; may tell the model something", TRUSTED)] = ()
    pre_compact: Annotated[tuple[str, ...], _about("run before a conversation is compacted; may keep it", TRUSTED)] = ()
    stop: Annotated[tuple[str, ...], _about("run when a turn is done; may send it back once", TRUSTED)] = ()
    permission_request: Annotated[
        tuple[str, ...], _about("run before you are asked to approve a call; may deny it", TRUSTED)
    ] = ()


class ProtectSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What no call may read, and what the reading work modes may write."""

    secrets: Annotated[tuple[str, ...], _about("more file names that hold secrets, as patterns")] = ()
    not_secrets: Annotated[tuple[str, ...], _about("file names that look like secrets and are not", TRUSTED)] = ()
    specs: Annotated[tuple[str, ...], _about("what plan may write, as patterns", TRUSTED)] = (
        "specs/**",
        "docs/specs/**",
    )
    reports: Annotated[tuple[str, ...], _about("what review and research may write, as patterns", TRUSTED)] = (
        "reports/**",
    )


class CheckpointSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The project's files as they were before each turn that may write, for /rewind."""

    enabled: Annotated[bool, _about("keep them", TIGHTEN)] = True
    keep: Annotated[int, _about("turns of the project whose files are kept; 0 for all", TRUSTED)] = 200


class DoctorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as healthy."""

    free_bytes: Annotated[int, _about("bytes that have to be free on each disk that is written to")] = 100_000_000


class DisplaySettings(Struct, frozen=True, forbid_unknown_fields=True):
    color: Annotated[Literal["auto", "always", "never"], _about("auto, always or never")] = "auto"


class ObservabilitySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is told of sessions to systems outside; where to is said by the standard OTEL_ variables."""

    otel: Annotated[
        bool, _about("send turns, requests and calls as OpenTelemetry spans; needs quintet[otel]", TRUSTED)
    ] = False
    otel_content: Annotated[bool, _about("with what was said, the arguments and results of calls", TRUSTED)] = False


class BrowserSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Chromium that the browser tools drive."""

    path: Annotated[str, _about("the browser's program; empty for the first Chromium or Chrome on PATH", TRUSTED)] = ""
    timeout: Annotated[float, _about("seconds to wait for a page to begin to load")] = 30.0
    sandbox: Annotated[bool, _about("keep pages in Chromium's own sandbox; root never has it", TRUSTED)] = True
    private_network: Annotated[
        bool, _about("show pages from addresses of a private network; those on loopback always are", TRUSTED)
    ] = False


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
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
    hooks: HookSettings = HookSettings()
    observability: ObservabilitySettings = ObservabilitySettings()
    doctor: DoctorSettings = DoctorSettings()
    browser: BrowserSettings = BrowserSettings()


class SettingInfo(Struct, frozen=True):
    key: str  # dotted, as in the file
    kind: Any
    default: Any
    about: str
    reach: str


def catalogue() -> dict[str, SettingInfo]:
    """Every setting by its dotted key; a model's keys are listed under `models.NAME`."""
    infos: dict[str, SettingInfo] = {}
    for section, kind in get_type_hints(Settings).items():
        table = ModelSettings if section == "models" else kind
        prefix = "models.NAME" if section == "models" else section
        hints = get_type_hints(table, include_extras=True)
        for name, hint in hints.items():
            meta = _meta(hint)
            key = f"{prefix}.{name}"
            default = _default(table, name)
            infos[key] = SettingInfo(key, get_args(hint)[0], default, meta.description or "", meta.extra["reach"])
    return infos


def _meta(hint: Any) -> Any:
    assert get_origin(hint) is Annotated
    return get_args(hint)[1]


def _default(table: type[Struct], name: str) -> Any:
    fields = table.__struct_fields__
    defaults = table.__struct_defaults__
    offset = len(fields) - len(defaults)
    index = fields.index(name) - offset
    return defaults[index] if index >= 0 else None


def is_tighter(key: str, value: Any, than: Any) -> bool:
    """Whether setting `key` to `value` is at least as strict as `than` (an unset dial counts as its default)."""
    if key.endswith("work_mode"):
        return WorkMode(value) not in (WorkMode.BUILD, WorkMode.REPAIR)
    if key.endswith("permission_profile"):
        return PermissionProfile(value).rank <= PermissionProfile(than or PermissionProfile.RESTRICTED).rank
    if key.endswith("run_control"):
        order = list(RunControl)
        return order.index(RunControl(value)) <= order.index(RunControl(than or RunControl.MANUAL))
    return bool(value) and (not than or value <= than)  # a limit: 0 is none
