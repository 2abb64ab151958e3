"""Small JSON files in the user's configuration: trust and rules. Written atomically; what cannot be read is said."""

from __future__ import annotations

import json
import os
from typing import Any

from quintet.domain.errors import SettingsError, StoreUnwritable


def read(path: str, meanwhile: str) -> Any:
    """The file's content, None if there is none; `meanwhile` says what holds until a broken one is mended."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({error})", hint=f"Mend or delete it; {meanwhile}.") from error


def write(path: str, content: Any) -> None:
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, sort_keys=True)
        os.replace(temporary, path)
    except OSError as error:
        raise StoreUnwritable(
            f"{path}: cannot be written ({error.strerror})", hint="Set XDG_CONFIG_HOME to a folder you can write."
        ) from error
