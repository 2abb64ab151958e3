"""Hold skills that others made to our reading of them: each is listed, checked and read, unchanged.

scripts/check skills [--from PATH…]: fetches npm packages that carry skills with `npm pack` into a temporary folder, and
takes folders and bare git repositories that are named besides. `check --strict` has to agree with skills-ref, the
validator of the standard, but for our own fields; it is installed into the same folder. What is not supported is named
and counted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.domain.permission.trusted_content import Trust
from quintet.features.skills.check_skill import at_path, checked, pages_below
from quintet.features.skills.contents import look
from quintet.features.skills.settings import SkillSettings
from quintet.features.skills.shelf import SkillShelf
from quintet.features.skills.skill import OWN

PACKAGES = (
    *("bmad-method", "claude-flow", "openskills", "claude-skills", "claude-code-skills"),
    *("ecc-universal", "oh-my-opencode", "@tanstack/intent"),
)
VALIDATOR = "skills-ref==0.1.1"
FEWEST = 60
VARIES = re.compile(r'"[^"]*"|\([^)]*\)|[\w./-]+/[\w./-]+|(?<=its folder ).*|(?<=it has no name: )\S+')
# Asks the validator about each folder on its input; what it says only of our own fields is no objection.
ASK = """
import json, pathlib, re, sys
from skills_ref.validator import validate
own = set(json.loads(sys.argv[1]))
for line in sys.stdin:
    try:
        errors = validate(pathlib.Path(json.loads(line)))
    except Exception as error:
        errors = [f"{type(error).__name__}: {error}"]
    kept = []
    for error in errors:
        found = re.match(r"Unexpected fields in frontmatter: (.*?)\\. Only", error)
        if found and not {name.strip() for name in found[1].split(",")} - own:
            continue
        kept.append(error)
    print(json.dumps(kept), flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check skills", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="paths", nargs="*", default=[], type=Path, help="folders, or bare repositories")
    parser.add_argument("--offline", action="store_true", help="only what --from names")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quintet-skills-") as place:
        os.environ["HOME"] = os.path.join(place, "home")
        os.mkdir(os.environ["HOME"])
        sources = {} if words.offline else {name: fetched(Path(place) / "npm", name) for name in PACKAGES}
        sources |= {str(path): unpacked(path, Path(place) / "git") for path in words.paths}
        failures = check(sources, Path(place))
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def fetched(place: Path, package: str) -> Path:
    folder = place / re.sub(r"\W", "_", package)
    folder.mkdir(parents=True)
    done = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(f"{package}: not fetched ({done.stderr.strip().splitlines()[-1:]})")
        return folder
    with tarfile.open(folder / done.stdout.strip().splitlines()[-1]) as archive:
        archive.extractall(folder, filter="data")
    return folder


def unpacked(path: Path, place: Path) -> Path:
    """A folder as it is; the newest commit of a bare repository."""
    if not (path / "HEAD").is_file():
        return path
    folder = place / path.parent.name
    folder.mkdir(parents=True)
    done = subprocess.run(["git", f"--git-dir={path}", "archive", "HEAD"], capture_output=True, check=False)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def check(sources: dict[str, Path], place: Path) -> list[str]:
    failures: list[str] = []
    counts, notes = Counter[str](), Counter[str]()
    pages: dict[str, str] = {}
    for source, folder in sources.items():
        found = list(pages_below(str(folder))) if folder.is_dir() else []
        print(f"{source}: {len(found)} skills")
        pages |= dict.fromkeys(found, source)
    said = validated(list(pages), place)
    for file, source in pages.items():
        counts["skills"] += 1
        skill = at_path(file)
        strict = checked(skill, strict=True)
        looser = checked(skill)
        theirs = said.get(file)
        where = f"{source} {os.path.relpath(file, sources[source])}"
        if skill.problem:
            counts["cannot be used"] += 1
            print(f"  {where}: {skill.problem}")
        else:
            counts["read"] += 1
        ours = [one for one in strict.problems if one not in looser.problems or one == skill.problem]
        if theirs is None:
            failures.append(f"{where}: the validator did not answer")
        elif bool(theirs) != bool(ours):
            failures.append(f"{where}: strict says {ours or 'nothing'}, the validator {theirs or 'nothing'}")
        else:
            counts["strict agrees"] += 1
            counts["strict finds fault" if ours else "strict finds none"] += 1
        for note in looser.notes:
            notes[
                re.sub(r'"[^"]*"|\([^)]*\)|[\w./-]+/[\w./-]+|(?<=its folder ).*|(?<=it has no name: )\S+', "…", note)
            ] += 1
        if skill.folder and look(skill.folder).servers:
            counts["with mcp.json"] += 1
    failures += listed(sources, place, pages)
    if counts["skills"] < FEWEST and not failures:
        failures.append(f"only {counts['skills']} skills; at least {FEWEST}")
    print("notes:")
    for note, count in notes.most_common(25):
        print(f"  {count:>4}  {note}")
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    return failures


def validated(files: list[str], place: Path) -> dict[str, list[str]]:
    """What the standard's own validator says of each."""
    target = place / "validator"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), VALIDATOR]
    if subprocess.run(install, capture_output=True).returncode:
        subprocess.run(["pip", *install[3:]], check=True)
    asked = "".join(json.dumps(os.path.dirname(file)) + "\n" for file in files)
    command = [sys.executable, "-c", ASK, json.dumps(OWN)]
    around = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=around, check=True)
    return dict(zip(files, map(json.loads, done.stdout.splitlines()), strict=True))


def listed(sources: dict[str, Path], place: Path, pages: dict[str, str]) -> list[str]:
    """Installed as a user would, each in a folder of skills, they are all listed."""
    project = place / "project"
    (project / ".git").mkdir(parents=True)
    places = locate(str(project))
    failures = []
    for source in sources:
        mine = [file for file, one in pages.items() if one == source]
        tops = tuple(dict.fromkeys(os.path.dirname(os.path.dirname(file)) for file in mine))
        settings = SkillSettings(folders=tops, built_in=False)
        config.load(places)
        shelf = SkillShelf(places, settings, Trust, cached=False)
        files = {one.file for one in shelf.listed()}
        missing = [file for file in mine if file not in files]
        failures += [f"{source}: {os.path.relpath(file, sources[source])} is not listed" for file in missing]
    return failures


if __name__ == "__main__":
    sys.exit(main())
