"""Says yes to a project, with everything it brings as it is now."""

from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.settings.trust import accept, pieces


def trust_now(root: Path | str) -> None:
    places = locate(str(root))
    accept(places, pieces(places))
