"""Names of files as protection reads them: as the most forgiving file system takes them, and those that hold secrets.

Folding leaves out case, ignorable letters, trailing dots and streams, and knows the short names of Windows. Names of
secrets are by custom: where programs keep passwords, tokens and private keys. They are patterns of lower-case names,
and paths of two parts where the name alone says too little. Only data files are among them: `credentials.py` and
`secrets.ts` are code. What is shown to be copied (`*.example`) is no secret.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache


def folded_path(path: str) -> list[str]:
    return [folded(part) for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


@lru_cache(4096)
def folded(part: str) -> str:
    """A name as the most forgiving file system takes it: some leave letters, dots or what follows a colon out."""
    if not part.isascii():
        part = unicodedata.normalize("NFKC", part)
        part = "".join(sign for sign in part if unicodedata.category(sign) not in ("Cf", "Mn"))
    return part.casefold().partition(":")[0].rstrip(". ") or part


def short_names(patterns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The beginning of a short name of Windows → the names in these patterns that it may be short for."""
    found: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(part for pattern in patterns for part in pattern.strip("/").split("/")):
        stem = name.lstrip(".").partition(".")[0][:6]
        found[stem] = (*found.get(stem, ()), name)
    return found


def long_names(name: str, short: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What a folded name may stand for: itself, and if it is a short one (`QUINTE~1`) every name that begins so."""
    stem, tilde, number = name.partition("~")
    return (name, *short.get(stem, ())) if tilde and number[:1].isdigit() else (name,)


_DATA = ("json", "yml", "yaml", "toml", "ini", "cfg", "xml", "csv", "txt", "properties")
_ENVIRONMENTS = (".env", ".env.*", ".env-*", ".env_*", ".env~", "*.env", "*.env.local", "*.env.bak", ".envrc*")
_KEYS: tuple[str, ...] = ("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.p8")
_KEYS += ("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*")
_PASSWORDS = (".netrc", "_netrc", ".git-credentials", ".htpasswd", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf")
_REGISTRIES = (".npmrc", ".pypirc", ".dockercfg", ".dockerconfigjson")
_CLOUDS: tuple[str, ...] = ("kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json")
_CLOUDS += ("service-account*.json", "service_account*.json", "serviceaccount*.json", "client_secret*.json")
_NAMED = (".credentials", *(f"*credentials.{end}" for end in _DATA))
_NAMED += tuple(f"{word}.{end}" for word in ("secrets", ".secrets", "secret", ".secret") for end in _DATA)

# What programs keep below a home, with a token or a password in it; shells and clients remember what was typed.
_AT_HOME: tuple[str, ...] = (".vault-token", ".claude.json", ".claude.json.*", ".s3cfg", ".boto", ".databrickscfg")
_AT_HOME += ("rclone.conf", "*.tfrc.json", ".terraformrc", ".*_history", ".histfile", ".viminfo", "*.keyring")

SECRET_NAMES = (*_AT_HOME, *_ENVIRONMENTS, *_KEYS, *_PASSWORDS, *_REGISTRIES, *_CLOUDS, *_NAMED)
SECRET_FOLDERS: tuple[str, ...] = (".ssh", ".aws", ".gnupg", ".azure", ".gcloud", ".password-store", ".oci")
SECRET_FOLDERS += (".cloudflared", ".mozilla", ".thunderbird", ".electrum")
# A project may keep a .docker or .kube of its own, with nothing secret in it but this.
SECRET_PATHS = (
    ".docker/config.json",
    ".kube/config",
    ".config/gcloud",
    ".config/op",
    ".config/doctl",
    ".config/google-chrome",
    ".config/chromium",
    ".fly/config.yml",
    "huggingface/token",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".netlify/config.json",
    "gh/hosts.yml",
    ".cargo/credentials",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
)
READABLE = (
    *("*.example", "*.sample", "*.template", "*.dist", "*.pub"),
    *("example.env", "sample.env", "template.env", "*.example.*", "*.sample.*", "*.template.*"),
    *("process.env", "import.meta.env"),  # words of code, and no files
)
