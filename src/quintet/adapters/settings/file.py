"""Port `SettingsBook`: every setting with its source, and changes to the user's own file.

A change leaves every comment and line of the file where it is. It is checked with all layers before anything is
written, and written in one step, under a lock.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec

from quintet.adapters.files import private_files
from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings import layers
from quintet.domain.base.errors import SettingsError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.ports.prompt import SettingChoice
from quintet.domain.settings.tables import SettingInfo
from quintet.features.registry import offered, tables


class UserSettings:
    def __init__(self, places: Places, flags: Mapping[str, Any] | None = None) -> None:
        self._places = places
        self._flags = flags
        self.path = places.user_settings

    def rows(self) -> list[SettingChoice]:
        loaded = layers.load(self._places, self._flags)
        known, here = tables().catalogue(), offered(loaded.settings)
        own = {leaf.key for leaf in layers.from_text(layers.read_text(self.path), self.path)}
        return [
            SettingChoice(
                key=key,
                value=layers.written(key, value),
                unset=value is None,
                source=source,
                about=_info(known, key).about,
                choices=here.get(key) or tuple(_choices(_info(known, key))),
                offered=key in here,
                own=key in own,
            )
            for key, value, source in layers.shown(loaded)
        ]

    def change(self, key: str, text: str) -> None:
        """Set a setting in the user's file to what `text` says, as TOML or as a bare word."""
        known = tables().catalogue()
        info = known.get(tables().pattern(key))
        if info is None:
            raise SettingsError(f"{key} is not a setting.{did_you_mean(key, known)}")
        value = _value(key, text, info, self.path)
        with private_files.locked(self.path):
            document = self._document()
            table = document
            *sections, name = key.split(".")
            for section in sections:
                table = table.setdefault(section, {})
            table[name] = value
            self._write(document.as_string())

    def unset(self, key: str) -> None:
        with private_files.locked(self.path):
            document = self._document()
            tables = [document]
            *sections, name = key.split(".")
            for section in sections:
                if section not in tables[-1]:
                    return
                tables.append(tables[-1][section])
            if name in tables[-1]:
                del tables[-1][name]
                self._write(document.as_string())

    def rewrite(self, change: Callable[[Any], None]) -> None:
        """Change several settings in one step: all of them, or none."""
        with private_files.locked(self.path):
            document = self._document()
            change(document)
            self._write(document.as_string())

    def _document(self) -> Any:
        import tomlkit  # only to change a setting

        text = layers.read_text(self.path)
        layers.from_text(text, self.path)  # what is wrong with it is said as it always is
        return tomlkit.parse(text)

    def _write(self, text: str) -> None:
        layers.load(self._places, user_text=text)  # raises for what no session could be opened with
        path = real_path(self.path)  # it may be a link into somebody's dotfiles
        temporary = f"{path}.{os.getpid()}"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, os.stat(path).st_mode & 0o777)
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise SettingsError(f"{self.path}: cannot be written ({error.strerror})") from error


def _info(known: dict[str, SettingInfo], key: str) -> SettingInfo:
    return known[tables().pattern(key)]


def _choices(info: SettingInfo) -> list[str]:
    return ["true", "false"] if info.kind is bool else layers.choices_of(info.kind)


def _value(key: str, text: str, info: SettingInfo, path: str) -> Any:
    """What somebody wrote for a setting: a bare word where a text is wanted, else as in a TOML file."""
    text = text.strip()
    kinds = get_args(info.kind) or (info.kind,)
    raw: Any = text
    if text[:1] in ('"', "'", "[") or not (str in kinds or layers.choices_of(info.kind)):
        try:
            found = tomllib.loads(f"value = {text}")
            if len(found) > 1:
                raise SettingsError(f"{key}: it contains more than one value")
            raw = found["value"]
        except (tomllib.TOMLDecodeError, KeyError):
            raw = text
        except ValueError:  # Python reads no number of thousands of digits
            raise SettingsError(f"{key}: the number is too long") from None
        except RecursionError:
            raise SettingsError(f"{key}: nested too deeply") from None
    checked = layers.checked(layers.Leaf(key, raw, path, path, textual=isinstance(raw, str)), info)
    value: Any = msgspec.to_builtins(checked)
    return list(value) if isinstance(value, tuple) else value
