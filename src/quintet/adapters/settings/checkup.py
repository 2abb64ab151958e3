"""What a check of the doctor's looks at."""

from __future__ import annotations

from msgspec import Struct

from quintet.adapters.files.paths import Places
from quintet.adapters.settings.layers import LoadedSettings
from quintet.domain.settings.settings import Settings


class Checkup(Struct, frozen=True):
    places: Places
    loaded: LoadedSettings
    thorough: bool = False  # whether it may read all that is stored, and ask servers on this machine

    @property
    def settings(self) -> Settings:
        return self.loaded.settings
