"""What the forge's tools need of the machine."""

from __future__ import annotations

import os

from quintet.app.machine_parts import PartSources
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.forge.settings import ForgeSettings
from quintet.features.forge.token import MISSING, find_token


def token(around: PartSources) -> MachinePart:
    _, where = find_token(around.settings.table("forge", ForgeSettings), os.environ)
    return MachinePart("forge token", bool(where), where, "" if where else MISSING)
