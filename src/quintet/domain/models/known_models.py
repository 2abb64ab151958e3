"""The table of known models. A row's names are matched from their beginning, the longest first; dots are dashes.

`name*` stands for a family: what is sure of every model of it, and never a price. `open` models are served by anyone,
so their prices hold at their makers' own `hosts` alone.
"""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.models.prices import Prices

ADAPTIVE, BUDGET, LEVEL = "adaptive", "budget", "level"
EFFORTS = ("low", "medium", "high")
NONE: tuple[str, ...] = ()


class KnownModel(Struct, frozen=True):
    names: str = ""  # one or more, with blanks between
    family: str = ""  # who makes it
    window: int = 0  # tokens it can read
    output_limit: int = 0
    prices: Prices | None = None
    vision: bool | None = None
    efforts: tuple[str, ...] | None = None
    thinking: str = ""
    open: bool = False  # its weights are: anyone may serve it
    hosts: tuple[str, ...] = ()  # where its prices hold, if open


def _claude(names: str, price: float, cached: float, output: float, **more: object) -> KnownModel:
    facts = {"window": 1_000_000, "output_limit": 128_000, "efforts": EFFORTS, "thinking": ADAPTIVE, **more}
    long = {name: facts.pop(name) for name in ("long_above", "long_input", "long_output") if name in facts}
    prices = Prices(price, cached, price * 1.25, output, **long)  # type: ignore[arg-type]
    return KnownModel(names, "Anthropic", prices=prices, vision=True, **facts)  # type: ignore[arg-type]


def _older_claude(names: str, price: float, output: float, limit: int, efforts: tuple[str, ...] = NONE) -> KnownModel:
    return _claude(
        names, price, price / 10, output, window=200_000, output_limit=limit, efforts=efforts, thinking=BUDGET
    )


def _gpt(names: str, price: float, cached: float, output: float, **more: object) -> KnownModel:
    """Without a discount for what is cached, `cached` is the price itself; newer ones price what is put there."""
    facts = {"window": 272_000, "output_limit": 128_000, "vision": True, "efforts": EFFORTS, **more}
    write = price * float(facts.pop("writes", 1.0))  # type: ignore[arg-type]
    prices = Prices(price, cached, write, output, int(facts.pop("long_above", 0)))  # type: ignore[call-overload]
    return KnownModel(names, "OpenAI", prices=prices, **facts)  # type: ignore[arg-type]


def _gemini(names: str, price: float, output: float, thinking: str, long_above: int = 0) -> KnownModel:
    prices = Prices(price, price / 10, price, output, long_above)
    efforts = EFFORTS if thinking else NONE
    return KnownModel(names, "Google", 1_048_576, 65_536, prices, True, efforts, thinking)


def _grok(names: str, window: int, price: float, cached: float, output: float) -> KnownModel:
    return KnownModel(names, "xAI", window, window, Prices(price, cached, price, output, 200_000, 2.0, 2.0), True)


def _open(
    names: str,
    family: str,
    window: int,
    price: tuple[float, float, float] | None = None,
    *,
    vision: bool | None = False,
    efforts: tuple[str, ...] | None = None,
    hosts: tuple[str, ...] = (),
) -> KnownModel:
    prices = Prices(price[0], price[1], price[0], price[2]) if price else None
    return KnownModel(names, family, window, 0, prices, vision, efforts, open=True, hosts=hosts)


_MISTRAL = ("api.mistral.ai",)
_DEEPSEEK = ("api.deepseek.com",)
_MOONSHOT = ("api.moonshot.ai", "api.moonshot.cn")
_ZAI = ("api.z.ai", "open.bigmodel.cn")
_GROQ = ("api.groq.com",)
_MINIMAX = ("api.minimax.io", "api.minimaxi.com")
_QWEN = (".aliyuncs.com",)
_FAR = {"window": 922_000, "long_above": 272_000, "writes": 1.25}

ROWS = (
    # Anthropic
    KnownModel("claude-*", "Anthropic", 200_000, vision=True, thinking=ADAPTIVE),
    _claude("claude-fable-5-1 claude-mythos-5-1", 10.0, 0.25, 50.0),
    _claude("claude-fable-5 claude-mythos-5 claude-mythos", 10.0, 1.0, 50.0),
    _claude("claude-opus-5-5", 4.0, 0.2, 20.0),
    _claude("claude-opus-5 claude-opus-4-8 claude-opus-4-7", 5.0, 0.5, 25.0),
    _claude("claude-opus-4-6", 5.0, 0.5, 25.0, thinking=BUDGET),
    _claude("claude-sonnet-5-5", 2.0, 0.1, 10.0),
    _claude("claude-sonnet-5", 2.0, 0.2, 10.0),
    _claude("claude-sonnet-4-6", 3.0, 0.3, 15.0, thinking=BUDGET),
    _claude("claude-haiku-5-5", 0.1, 0.01, 0.5, long_above=100_000, long_input=5.0, long_output=5.0),
    _older_claude("claude-opus-4-5", 5.0, 25.0, 64_000, EFFORTS),
    _older_claude("claude-opus-4-1 claude-opus-4", 15.0, 75.0, 32_000),
    _older_claude("claude-sonnet-4-5 claude-sonnet-4 claude-3-7-sonnet", 3.0, 15.0, 64_000),
    _older_claude("claude-haiku-4-5", 1.0, 5.0, 64_000),
    _older_claude("claude-3-5-sonnet", 3.0, 15.0, 8192),
    _older_claude("claude-3-5-haiku", 0.8, 4.0, 8192),
    _older_claude("claude-3-opus", 15.0, 75.0, 4096),
    _older_claude("claude-3-haiku", 0.25, 1.25, 4096),
    # OpenAI
    KnownModel("gpt-4* gpt-5* gpt-6* gpt-7*", "OpenAI", 128_000),
    _gpt("gpt-6-astra", 10.0, 1.0, 50.0, **_FAR),
    _gpt("gpt-6-1-sol", 2.0, 0.1, 10.0, **_FAR),
    _gpt("gpt-6-1-terra", 1.0, 0.05, 5.0, **_FAR),
    _gpt("gpt-6-sol", 2.0, 0.2, 10.0, **_FAR),
    _gpt("gpt-6-luna", 0.1, 0.01, 0.5, **_FAR),
    _gpt("gpt-5-6 gpt-5-6-sol", 4.0, 0.4, 20.0, **_FAR),
    _gpt("gpt-5-6-terra", 2.0, 0.2, 12.0, **_FAR),
    _gpt("gpt-5-6-luna", 0.2, 0.02, 1.2, **_FAR),
    _gpt("gpt-5-5", 5.0, 0.5, 30.0, window=922_000, long_above=272_000),
    _gpt("gpt-5-5-pro gpt-5-4-pro", 30.0, 30.0, 180.0, window=922_000, long_above=272_000),
    _gpt("gpt-5-4", 2.5, 0.25, 15.0, window=922_000, long_above=272_000),
    _gpt("gpt-5-4-mini", 0.75, 0.075, 4.5),
    _gpt("gpt-5-4-nano", 0.2, 0.02, 1.25),
    _gpt("gpt-5-3-codex gpt-5-2-codex gpt-5-2", 1.75, 0.175, 14.0),
    _gpt("gpt-5-3-chat gpt-5-2-chat", 1.75, 0.175, 14.0, window=128_000, output_limit=16_384, efforts=None),
    _gpt("gpt-5-2-pro", 21.0, 21.0, 168.0),
    _gpt("gpt-5 gpt-5-1 gpt-5-codex gpt-5-1-codex gpt-5-1-codex-max", 1.25, 0.125, 10.0),
    _gpt("gpt-5-chat gpt-5-1-chat", 1.25, 0.125, 10.0, window=128_000, output_limit=16_384, efforts=None),
    _gpt("gpt-5-mini gpt-5-1-mini gpt-5-1-codex-mini", 0.25, 0.025, 2.0),
    _gpt("gpt-5-nano", 0.05, 0.005, 0.4),
    _gpt("gpt-5-pro", 15.0, 15.0, 120.0, output_limit=272_000),
    _gpt("gpt-4-1", 2.0, 0.5, 8.0, window=1_047_576, output_limit=32_768, efforts=NONE),
    _gpt("gpt-4-1-mini", 0.4, 0.1, 1.6, window=1_047_576, output_limit=32_768, efforts=NONE),
    _gpt("gpt-4-1-nano", 0.1, 0.025, 0.4, window=1_047_576, output_limit=32_768, efforts=NONE),
    _gpt("gpt-4o", 2.5, 1.25, 10.0, window=128_000, output_limit=16_384, efforts=NONE),
    _gpt("gpt-4o-mini", 0.15, 0.075, 0.6, window=128_000, output_limit=16_384, efforts=NONE),
    _gpt("gpt-4-turbo", 10.0, 10.0, 30.0, window=128_000, output_limit=4096, efforts=NONE),
    _gpt("o4-mini", 1.1, 0.275, 4.4, window=200_000, output_limit=100_000),
    _gpt("o3", 2.0, 0.5, 8.0, window=200_000, output_limit=100_000),
    _gpt("o3-mini", 1.1, 0.55, 4.4, window=200_000, output_limit=100_000, vision=False),
    _gpt("o3-pro", 20.0, 20.0, 80.0, window=200_000, output_limit=100_000),
    _gpt("o1", 15.0, 7.5, 60.0, window=200_000, output_limit=100_000),
    # Google
    KnownModel("gemini-*", "Google", 1_048_576, vision=True),
    _gemini("gemini-3-1-pro gemini-3-pro", 2.0, 12.0, LEVEL, 200_000),
    _gemini("gemini-3-6-flash gemini-3-7-flash gemini-3-8-flash gemini-flash-latest", 0.75, 3.75, LEVEL),
    _gemini("gemini-3-5-flash", 1.5, 9.0, LEVEL),
    _gemini("gemini-3-flash", 0.5, 3.0, LEVEL),
    _gemini("gemini-3-5-flash-lite gemini-flash-lite-latest", 0.3, 2.5, LEVEL),
    _gemini("gemini-3-1-flash-lite", 0.25, 1.5, LEVEL),
    _gemini("gemini-2-5-pro", 1.25, 10.0, BUDGET, 200_000),
    _gemini("gemini-2-5-flash", 0.3, 2.5, BUDGET),
    _gemini("gemini-2-5-flash-lite", 0.1, 0.4, BUDGET),
    _open("gemma-4* gemma4*", "Google", 262_144, vision=True),
    _open("gemma-3* gemma3*", "Google", 131_072, vision=True),
    # xAI
    KnownModel("grok-*", "xAI", 131_072),
    _grok("grok-4-3 grok-4-20 grok-4-20-reasoning grok-4-20-non-reasoning", 1_000_000, 1.25, 0.2, 2.5),
    _grok("grok-4-5", 500_000, 2.0, 0.3, 6.0),
    _grok("grok-4-6 grok-4-7", 500_000, 2.0, 0.5, 6.0),
    _grok("grok-code-fast grok-code-fast-1", 256_000, 1.0, 0.2, 2.0),
    # Mistral: some of its models are open, and all are sold by others
    _open("mistral-large-4", "Mistral", 1_048_576, (0.68, 0.068, 2.09), vision=True, hosts=_MISTRAL),
    _open("mistral-large mistral-large-3", "Mistral", 262_144, (0.5, 0.05, 1.5), vision=True, hosts=_MISTRAL),
    _open(
        "mistral-medium mistral-medium-3 mistral-medium-3-5 magistral-medium",
        "Mistral",
        262_144,
        (1.5, 0.15, 7.5),
        vision=True,
        hosts=_MISTRAL,
    ),
    _open(
        "mistral-small-latest mistral-small-2603 magistral-small",
        "Mistral",
        262_144,
        (0.15, 0.015, 0.6),
        vision=True,
        hosts=_MISTRAL,
    ),
    _open("codestral mistral-code", "Mistral", 128_000, (0.3, 0.03, 0.9), hosts=_MISTRAL),
    _open("devstral devstral-medium", "Mistral", 256_000, (0.4, 0.04, 2.0), hosts=_MISTRAL),
    _open("devstral-small", "Mistral", 256_000, (0.1, 0.01, 0.3), hosts=_MISTRAL),
    _open("ministral-3b*", "Mistral", 131_072, (0.1, 0.01, 0.1), vision=True, hosts=_MISTRAL),
    _open("ministral-8b*", "Mistral", 262_144, (0.15, 0.015, 0.15), vision=True, hosts=_MISTRAL),
    _open("pixtral*", "Mistral", 128_000, vision=True),
    _open("mistral* mixtral* open-mistral*", "Mistral", 32_000, vision=None),
    # DeepSeek
    _open("deepseek-v4-pro", "DeepSeek", 1_000_000, (1.32, 0.044, 3.96), hosts=_DEEPSEEK),
    _open("deepseek-v4-flash deepseek-flash", "DeepSeek", 1_000_000, (0.3, 0.006, 1.2), vision=True, hosts=_DEEPSEEK),
    _open("deepseek-chat deepseek-reasoner deepseek-v3-2", "DeepSeek", 131_072, (0.28, 0.028, 0.42), hosts=_DEEPSEEK),
    _open("deepseek-*", "DeepSeek", 65_536, vision=None),
    # Moonshot, Z.ai, MiniMax
    _open("kimi-k3", "Moonshot", 1_048_576, (3.0, 0.3, 15.0), vision=True, hosts=_MOONSHOT),
    _open("kimi-k2-7-code", "Moonshot", 262_144, (0.95, 0.19, 4.0), vision=True, hosts=_MOONSHOT),
    _open("kimi-k2-6", "Moonshot", 262_144, (0.95, 0.16, 4.0), vision=True, hosts=_MOONSHOT),
    _open("kimi-k2-5", "Moonshot", 262_144, (0.6, 0.1, 3.0), vision=True, hosts=_MOONSHOT),
    _open("kimi-k2*", "Moonshot", 131_072, vision=None),
    _open("glm-5-2 glm-5-3", "Z.ai", 1_000_000, (1.4, 0.26, 4.4), hosts=_ZAI),
    _open("glm-5-1", "Z.ai", 200_000, (1.4, 0.26, 4.4), hosts=_ZAI),
    _open("glm-5-3-flash", "Z.ai", 1_000_000, (0.15, 0.03, 0.5), vision=True, hosts=_ZAI),
    _open("glm-5", "Z.ai", 200_000, (1.0, 0.2, 3.2), hosts=_ZAI),
    _open("glm-4-6 glm-4-7", "Z.ai", 200_000, (0.6, 0.11, 2.2), hosts=_ZAI),
    _open("glm-*", "Z.ai", 128_000, vision=None),
    _open("minimax-m3", "MiniMax", 1_000_000, (0.3, 0.06, 1.2), vision=True, hosts=_MINIMAX),
    _open("minimax-m2 minimax-m2-1 minimax-m2-5", "MiniMax", 200_000, (0.3, 0.03, 1.2), hosts=_MINIMAX),
    # Open weights of others
    _open("gpt-oss-120b", "OpenAI", 131_072, (0.15, 0.075, 0.6), efforts=EFFORTS, hosts=_GROQ),
    _open("gpt-oss-20b", "OpenAI", 131_072, (0.075, 0.0375, 0.3), efforts=EFFORTS, hosts=_GROQ),
    _open("gpt-oss*", "OpenAI", 131_072, efforts=EFFORTS),
    _open("qwen3-8-max", "Alibaba", 991_808, (2.0, 0.25, 6.0), vision=True, hosts=_QWEN),
    _open("qwen3-8-flash", "Alibaba", 991_808, (0.15, 0.016, 0.47), vision=True, hosts=_QWEN),
    _open("qwen3-7-max", "Alibaba", 991_808, (2.5, 0.5, 7.5), hosts=_QWEN),
    _open("qwen3-coder*", "Alibaba", 262_144, efforts=NONE),
    _open("qwen3-vl* qwen2-5vl* qwen2-5-vl* qwen2-vl*", "Alibaba", 131_072, vision=True),
    _open("qwen2-5-coder*", "Alibaba", 32_768, efforts=NONE),
    _open("qwen*", "Alibaba", 32_768, vision=None),
    _open("llama-4* llama4*", "Meta", 131_072, vision=True, efforts=NONE),
    _open("llama3-2-vision* llama-3-2-11b* llama-3-2-90b*", "Meta", 131_072, vision=True, efforts=NONE),
    _open("llama-3-1* llama3-1* llama-3-3* llama3-3* llama3-2 llama-3-2*", "Meta", 131_072, efforts=NONE),
    _open("llama-3* llama3* codellama*", "Meta", 8192, efforts=NONE),
    _open("llava* minicpm-v* moondream*", "others", 4096, vision=True, efforts=NONE),
    _open("phi-4* phi4* starcoder* granite-code*", "others", 16_384, efforts=NONE),
)
