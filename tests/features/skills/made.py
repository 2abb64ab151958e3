"""Skills written for a test."""

import os
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import trust
from quintet.features.skills.shelf import SkillShelf
from quintet.features.skills.wiring import make_shelf


def write_skill(folder: Path, name: str, fields: str = "", body: str = "Do it.", **files: str) -> Path:
    """`files`: paths below the skill's folder, with __ for / and a dot before the last _."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    about = "" if "description:" in fields else f"description: What {name} is for.\n"
    (place / "SKILL.md").write_text(f"---\nname: {name}\n{about}{fields}---\n{body}\n")
    for path, text in files.items():
        stem, _, ending = path.replace("__", "/").rpartition("_")
        whole = place / f"{stem}.{ending}"
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text)
    return place


def home_skills(kind: str = ".agents/skills") -> Path:
    return Path(os.environ["HOME"]) / kind


def trust_now(root: Path) -> None:
    places = locate(str(root))
    trust.accept(places, trust.pieces(places))


def shelf_of(root: Path, **settings: object) -> SkillShelf:
    places = locate(str(root))
    return make_shelf(places, config.load(places, {f"skills.{key}": value for key, value in settings.items()}))
