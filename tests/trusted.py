"""Says yes to a project, with everything it brings as it is now."""

from pathlib import Path

from quintet.adapters.places import locate
from quintet.adapters.project_pieces import pieces
from quintet.adapters.trust import accept


def trust_now(root: Path | str) -> None:
    places = locate(str(root))
    accept(places, pieces(places))
