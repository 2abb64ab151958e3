"""The providers Quintet knows: where each is, the variables people keep its key and address in, and which of its models
it proposes for fast, smart and deep.

Pure: the environment and the provider's own list of models come in as values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct, structs

from quintet.domain.base.errors import UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import did_you_mean

CHAT, MESSAGES, OTHER = "openai", "anthropic", "pydantic-ai"
MODEL_MODES = ("fast", "smart", "deep")


class LocalServer(Struct, frozen=True):
    """A server that the user runs on this machine."""

    port: int
    starts: str  # the command that starts it


class Preset(Struct, frozen=True):
    """One provider, or one kind of server on this machine."""

    name: str
    title: str
    wire: str
    base_url: str = ""  # {region} and {resource} are filled in
    keys: tuple[str, ...] = ()  # variables its key is usually in; the first is where a typed one is kept
    key_needed: bool = True
    urls: tuple[str, ...] = ()  # variables its address is usually in
    path: str = "/v1"  # of an address from such a variable that has none
    regions: tuple[str, ...] = ()  # variables its region is usually in
    server: LocalServer | None = None  # if it is one on this machine
    lists: bool = True  # whether {base_url}/models says what can be used
    patterns: tuple[tuple[str, ...], ...] = ((), (), ())  # for fast, smart and deep: the first that fits anything
    usual: tuple[str, str, str] = ("", "", "")  # where there is no list to choose from
    account: str = ""  # where keys and credit are looked after
    needs: str = ""  # what it takes beside a key
    other_names: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        return self.server is not None


class ListedModel(Struct, frozen=True):
    """A model as a provider lists it; 0 is what it does not say. Prices are for a million tokens."""

    id: str
    created: float = 0.0
    context_window: int = 0
    price_input: float = 0.0
    price_cached: float = 0.0
    price_output: float = 0.0


class ProposedModels(Struct, frozen=True):
    """The models for the three model modes."""

    fast: str
    smart: str
    deep: str

    @property
    def different(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.smart, self.fast, self.deep)))


_CLAUDE = ((r"claude-.*haiku",), (r"claude-.*sonnet",), (r"claude-.*opus",))
_NOT_IN_NAMES = regex(r"[^A-Za-z0-9]+")
_LOCAL = (
    r"coder",
    r"gpt-oss",
    r"devstral|codestral",
    r"qwen-?3|glm-?[45]|kimi",
    r"llama-?3\.[1-9]|llama-?4",
    r"qwen|mistral|gemma|phi|granite|deepseek",
    r".",
)

PRESETS = (
    Preset(
        "anthropic",
        "Anthropic",
        MESSAGES,
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        urls=("ANTHROPIC_BASE_URL",),
        patterns=_CLAUDE,
        usual=("claude-haiku-4-5", "claude-sonnet-4-5", "claude-opus-4-5"),
        account="console.anthropic.com",
        other_names=("claude",),
    ),
    Preset(
        "openai",
        "OpenAI",
        CHAT,
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        urls=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        patterns=((r"^gpt-[\d.]+-mini$", r"^gpt-4o-mini$"), (r"^gpt-[\d.]+$", r"^gpt-4o$"), (r"^gpt-[\d.]+$",)),
        usual=("gpt-5-mini", "gpt-5.1", "gpt-5.1"),
        account="platform.openai.com",
        other_names=("gpt", "chatgpt"),
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        CHAT,
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        urls=("OPENROUTER_BASE_URL",),
        patterns=tuple(tuple(rf"^anthropic/{pattern}[^:]*$" for pattern in row) for row in _CLAUDE),
        usual=("anthropic/claude-haiku-4.5", "anthropic/claude-sonnet-4.5", "anthropic/claude-opus-4.5"),
        account="openrouter.ai/settings/credits",
    ),
    Preset(
        "google",
        "Google Gemini",
        CHAT,
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        urls=("GOOGLE_GEMINI_BASE_URL",),
        path="/v1beta/openai",
        patterns=(
            (r"^gemini-[\d.]+-flash$", r"^gemini-[\d.]+-flash"),
            (r"^gemini-[\d.]+-pro$", r"^gemini-[\d.]+-pro-preview"),
            (r"^gemini-[\d.]+-pro$", r"^gemini-[\d.]+-pro-preview"),
        ),
        usual=("gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-pro"),
        account="aistudio.google.com",
        other_names=("gemini",),
    ),
    Preset(
        "mistral",
        "Mistral",
        CHAT,
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        urls=("MISTRAL_BASE_URL", "MISTRAL_API_BASE"),
        patterns=(
            (r"^mistral-small-latest$", r"^mistral-small"),
            (r"^mistral-medium-latest$", r"^devstral-medium", r"^mistral-medium"),
            (r"^mistral-large-latest$", r"^mistral-large"),
        ),
        usual=("mistral-small-latest", "mistral-medium-latest", "mistral-large-latest"),
        account="console.mistral.ai",
    ),
    Preset(
        "groq",
        "Groq",
        CHAT,
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        urls=("GROQ_BASE_URL", "GROQ_API_BASE"),
        path="/openai/v1",
        patterns=((r"gpt-oss-20b", r"8b-instant"), (r"gpt-oss-120b", r"kimi-k2", r"70b"), (r"gpt-oss-120b", r"kimi")),
        usual=("openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
        account="console.groq.com",
    ),
    Preset(
        "deepseek",
        "DeepSeek",
        CHAT,
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        urls=("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
        patterns=((r"^deepseek-chat$",), (r"^deepseek-chat$",), (r"^deepseek-reasoner$",)),
        usual=("deepseek-chat", "deepseek-chat", "deepseek-reasoner"),
        account="platform.deepseek.com",
    ),
    Preset(
        "xai",
        "xAI",
        CHAT,
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        urls=("XAI_BASE_URL", "XAI_API_BASE"),
        patterns=(
            (r"^grok-\d.*fast-non-reasoning", r"^grok-\d.*(fast|mini)"),
            (r"^grok-\d+([.-]\d)?(-\d{4}|-latest)?$",),
            (r"^grok-\d+([.-]\d)?(-\d{4}|-latest)?$",),
        ),
        usual=("grok-4-fast-non-reasoning", "grok-4", "grok-4"),
        account="console.x.ai",
        other_names=("grok", "x.ai"),
    ),
    Preset(
        "together",
        "Together AI",
        CHAT,
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY",),
        urls=("TOGETHER_BASE_URL",),
        patterns=((r"gpt-oss-20b",), (r"Qwen3-Coder", r"gpt-oss-120b"), (r"DeepSeek-V\d", r"gpt-oss-120b")),
        usual=("openai/gpt-oss-20b", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "deepseek-ai/DeepSeek-V3.1"),
        account="api.together.ai",
    ),
    Preset(
        "azure",
        "Azure OpenAI",
        CHAT,
        "https://{resource}.openai.azure.com/openai/v1",
        ("AZURE_OPENAI_API_KEY",),
        urls=("AZURE_OPENAI_ENDPOINT",),
        path="/openai/v1",
        lists=False,  # it lists what could be deployed, not what is
        account="ai.azure.com",
        needs="the name of your deployment, and your resource: --resource NAME or AZURE_OPENAI_ENDPOINT",
    ),
    Preset(
        "bedrock",
        "Amazon Bedrock",
        CHAT,
        "https://bedrock-mantle.{region}.api.aws/v1",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        regions=("AWS_REGION", "AWS_DEFAULT_REGION"),
        patterns=((r"gpt-oss-20b",), (r"qwen3-coder-480b", r"gpt-oss-120b"), (r"deepseek", r"gpt-oss-120b")),
        usual=("openai.gpt-oss-20b", "openai.gpt-oss-120b", "openai.gpt-oss-120b"),
        account="console.aws.amazon.com/bedrock",
        needs=(
            "a region: --region R or AWS_REGION, and a Bedrock API key; to use AWS credentials instead, "
            "or models without chat completions, add bedrock:MODEL with wire pydantic-ai, which needs an "
            "extra"
        ),
        other_names=("aws", "amazon"),
    ),
    Preset(
        "vertex",
        "Google Vertex AI",
        OTHER,
        key_needed=False,
        lists=False,
        usual=("google-cloud:gemini-2.5-flash", "google-cloud:gemini-2.5-pro", "google-cloud:gemini-2.5-pro"),
        account="console.cloud.google.com",
        needs=(
            "the extra quintet[providers], GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and Google's own login "
            "(gcloud auth application-default login)"
        ),
    ),
    Preset(
        "ollama",
        "Ollama",
        CHAT,
        "http://127.0.0.1:11434/v1",
        ("OLLAMA_API_KEY",),
        key_needed=False,
        urls=("OLLAMA_HOST",),
        server=LocalServer(11434, "ollama serve"),
        patterns=((), _LOCAL, ()),
    ),
    Preset(
        "lmstudio",
        "LM Studio",
        CHAT,
        "http://127.0.0.1:1234/v1",
        ("LM_STUDIO_API_KEY",),
        key_needed=False,
        urls=("LM_STUDIO_API_BASE",),
        server=LocalServer(1234, "lms server start"),
        patterns=((), _LOCAL, ()),
        other_names=("lm-studio",),
    ),
    Preset(
        "vllm",
        "vLLM",
        CHAT,
        "http://127.0.0.1:8000/v1",
        ("VLLM_API_KEY",),
        key_needed=False,
        urls=("VLLM_BASE_URL", "HOSTED_VLLM_API_BASE"),
        server=LocalServer(8000, "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"),
        patterns=((), _LOCAL, ()),
    ),
    Preset(
        "llamacpp",
        "llama.cpp",
        CHAT,
        "http://127.0.0.1:8080/v1",
        ("LLAMA_API_KEY",),
        key_needed=False,
        urls=("LLAMACPP_BASE_URL",),
        server=LocalServer(8080, "llama-server -m MODEL.gguf --jinja"),
        patterns=((), _LOCAL, ()),
        other_names=("llama.cpp", "llama-cpp", "llama-server"),
    ),
)
BY_NAME = {preset.name: preset for preset in PRESETS}
_ALIASES = {other: preset.name for preset in PRESETS for other in preset.other_names}


def own_server(address: str) -> Preset:
    """A server of the user's own, which speaks the usual protocol and is named after its host."""
    asked = Preset("", address, CHAT, key_needed=False, path="/v1", patterns=((), _LOCAL, ()))
    base_url = address_from(asked, address)
    host = host_of(base_url)
    return structs.replace(asked, name=_NOT_IN_NAMES.sub("-", host).strip("-"), title=host, base_url=base_url)


def find(name: str) -> Preset:
    """The preset of that name, or the server at that address; UsageError with the nearest one."""
    if "://" in name:
        return own_server(name.strip())
    folded = name.strip().lower()
    preset = BY_NAME.get(_ALIASES.get(folded, folded))
    if preset is None:
        known = ", ".join(BY_NAME)
        hint = f"Presets: {known}. For any other server: quintet models add NAME --base-url URL --model MODEL"
        raise UsageError(f"{name} is not a preset.{did_you_mean(folded, [*BY_NAME, *_ALIASES])}", hint=hint)
    return preset


# ── where it is, and its key


def base_url_of(
    preset: Preset, environ: Mapping[str, str], given: str = "", region: str = "", resource: str = ""
) -> str:
    """Where requests go: the address that was given, else the one in a usual variable, else the provider's own."""
    if address := given or next((environ[name] for name in preset.urls if environ.get(name, "").strip()), ""):
        return address_from(preset, address)
    place = region or next((environ[name] for name in preset.regions if environ.get(name)), "")
    for word, value in (("{region}", place), ("{resource}", resource)):
        if word in preset.base_url and not value:
            raise UsageError(f"{preset.title} needs {preset.needs}.")
        if value and not re.fullmatch(r"[A-Za-z0-9-]+", value):
            raise UsageError(f"{value}: expected letters, digits and hyphens for a {word[1:-1]}")
    return preset.base_url.replace("{region}", place).replace("{resource}", resource)


def address_from(preset: Preset, text: str) -> str:
    """An address as its usual variable has it, as a base URL: with a scheme, a port and the path of the API."""
    text = text.strip().rstrip("/")
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{text}: not an address; expected http://HOST:PORT") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"{text}: not an address; expected http://HOST:PORT")
    if preset.local and host in ("0.0.0.0", "::"):  # where a server listens, not where it is reached
        host = "::1" if ":" in host else "127.0.0.1"
    if preset.server and port is None and "://" not in text:
        port = preset.server.port
    where = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/")
    if preset.wire == MESSAGES and not re.search(r"/v\d\w*$", path):  # what Anthropic's own clients add
        path += "/v1"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{where}{f':{port}' if port else ''}{path or preset.path}{query}"


def key_variable(preset: Preset, environ: Mapping[str, str]) -> str:
    """The first usual variable that is set; empty if none is."""
    return next((name for name in preset.keys if environ.get(name, "").strip()), "")


def host_of(base_url: str) -> str:
    """The host that a base URL leads to, as a person is told it."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")


def model_table(preset: Preset, base_url: str, model: str, key_env: str = "") -> dict[str, str]:
    """What [models.NAME] holds of a preset's model."""
    table = {"wire": preset.wire, "base_url": base_url, "model": model, "api_key_env": key_env}
    return {name: value for name, value in table.items() if value or (name == "base_url" and preset.wire != OTHER)}


def direct_model(name: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    """The table of `PRESET/MODEL`, named in the place of a configured model; None if it is no such name."""
    word, slash, model = name.partition("/")
    folded = _ALIASES.get(word.lower(), word.lower())
    if not slash or not model or folded not in BY_NAME:
        return None
    preset = BY_NAME[folded]
    key = key_variable(preset, environ) or (preset.keys[0] if preset.key_needed else "")
    return model_table(preset, base_url_of(preset, environ), model, key)


# ── which of its models

_NOT_CHAT = regex(
    r"embed|rerank|whisper|tts|audio|realtime|transcri|image|dall-e|sora|veo|moderat|guard|search|ocr|bge-|minilm|clip",
    re.IGNORECASE,
)
_DATE = regex(r"[-_@:]?(20\d{6}|20\d\d-\d\d-\d\d|(?<=-)\d{4}$)")
_SIZE = regex(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)
_VERSION = regex(r"(\d+)(?:[.-](\d{1,2})(?!\d|[bB]\b))?")
_UNSETTLED = regex(r"preview|beta|exp\b|experimental|nightly", re.IGNORECASE)


def choose(preset: Preset, listed: Sequence[ListedModel]) -> ProposedModels | None:
    """A model for each model mode: the newest that fits, of the provider's own list; the usual ones without a list.

    None where there is nothing to choose from: a deployment has a name of its own.
    """
    able = [model for model in listed if not _NOT_CHAT.search(model.id)]
    fast, smart, deep = (_best(patterns, able) for patterns in preset.patterns)
    if not listed:
        fast, smart, deep = preset.usual
    smart = smart or fast or deep or (_newest(able) if able else "")
    return ProposedModels(fast or smart, smart, deep or smart) if smart else None


def _best(patterns: Sequence[str], listed: Sequence[ListedModel]) -> str:
    for pattern in patterns:
        if fits := [model for model in listed if re.search(pattern, model.id, re.IGNORECASE)]:
            return _newest(fits)
    return ""


def _newest(listed: Sequence[ListedModel]) -> str:
    return max(listed, key=_rank).id


def _rank(model: ListedModel) -> tuple[bool, tuple[int, int], float, float, int]:
    """Settled before preview, then by version, size and age; of the same, the shortest name, which stays current."""
    name = model.id.rpartition("/")[2]
    bare = _SIZE.sub("", _DATE.sub("", name))
    found = _VERSION.search(bare)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    size = max((float(number) for number in _SIZE.findall(name)), default=0.0)
    return not _UNSETTLED.search(name), version, size, model.created, -len(name)


def has_model(listed: Sequence[ListedModel], model: str) -> bool:
    """Whether a provider lists it; a server may leave `:latest` to be thought of."""
    return any(one.id in (model, f"{model}:latest") for one in listed)
