"""Where a base URL leads, and through which proxy the environment wants it reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from quintet.domain.base.errors import ModelUnreachable


class BaseAddress(NamedTuple):
    """Where a base URL leads; `setting` is what hints call the model it belongs to."""

    host: str
    port: int
    tls: bool
    path: str  # without a slash at its end
    query: str
    setting: str

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place_of(base_url: str, setting: str) -> BaseAddress:
    try:
        parts = urlsplit(base_url.strip())
        tls = {"http": False, "https": True}[parts.scheme]
        host = parts.hostname or ""
        if not host.replace(".", "").isdigit():  # a number needs no codec
            host = host.encode("idna").decode()
        port = parts.port or (443 if tls else 80)
        if not host or any(letter <= " " for letter in host):
            raise ValueError("no host")
    except (ValueError, KeyError) as error:
        problem = f"{setting}.base_url is not an http:// or https:// address"
        raise lasting(ModelUnreachable(problem, hint="correct it in your settings")) from error
    path, query = (quote(text, safe="/%:@!$&'()*+,;=~?") for text in (parts.path, parts.query))
    return BaseAddress(host, port, tls, path.rstrip("/"), f"?{query}" if query else "", setting)


def proxy_for(place: BaseAddress, environ: Mapping[str, str]) -> SplitResult | None:
    """The proxy the environment names for a place. The lower-case variable wins, as with curl."""
    name = "https_proxy" if place.tls else "http_proxy"
    url = environ.get(name) or environ.get(name.upper())
    host = place.host.lower()
    if not url or host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127."):
        return None
    for entry in (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(","):
        suffix = entry.strip().removeprefix("*").lstrip(".")
        if entry.strip() == "*" or suffix == place.authority or (suffix and f".{host}".endswith(f".{suffix}")):
            return None
    return urlsplit(url if "://" in url else f"http://{url}")


def lasting(error: ModelUnreachable) -> ModelUnreachable:
    """The same error as one that trying again will not cure."""
    error.retryable = False
    return error
