"""Read the agents' files that others publish, and print the table of docs/compatibility/agents.md.

scripts/check agents [--add NAME=FOLDER …]: fetches packages from npm and PyPI into a temporary folder, reads every
agent below each, and prints collection, version, files, loaded, noted. A file that is not loaded is named with its
cause. `--add` takes a collection that is already here, such as a clone. Fails if under 98 % of the files load.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from quintet.adapters.agents.catalogue import below_path
from quintet.surfaces.tables import table

NPM = ("bmad-method@6.0.4", "bmad-method@6.0.0-alpha.22", "claude-flow", "agentic-flow", "oh-my-claude-sisyphus")
NPM += ("get-shit-done-cc",)
PYPI = ("superclaude",)
LEAST = 0.98


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check agents", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--add", action="append", default=[], metavar="NAME=FOLDER", help="one more collection")
    added = [one.partition("=") for one in parser.parse_args().add]
    rows: list[tuple[str, str, str, str, str]] = []
    causes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quintet-agents-") as place:
        for number, (fetch, package) in enumerate([*((npm, one) for one in NPM), *((pypi, one) for one in PYPI)]):
            folder = Path(place) / str(number)
            folder.mkdir()
            rows.append((package.partition("@")[0], fetch(package, folder), *read(folder, causes)))
        rows += [(name, version(Path(folder)), *read(Path(folder), causes)) for name, _, folder in added]
    print(
        "\n".join(
            [*table(rows, heading=("COLLECTION", "VERSION", "FILES", "LOADED", "NOTED"), right=(2, 3, 4)), *causes]
        )
    )
    files, loaded = (sum(int(row[column]) for row in rows) for column in (2, 3))
    print(f"{loaded} of {files} loaded ({loaded / max(files, 1):.1%})")
    return 0 if loaded >= LEAST * files else 1


def npm(package: str, folder: Path) -> str:
    words = ["npm", "pack", package, "--silent"]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return str(json.loads((folder / "package/package.json").read_text("utf-8"))["version"])


def pypi(package: str, folder: Path) -> str:
    words = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--only-binary=:all:", "-d", str(folder)]
    subprocess.run([*words, package], check=True)
    (archive,) = folder.glob("*.whl")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return archive.name.split("-")[1]


def version(folder: Path) -> str:
    words = ["git", "-C", str(folder), "log", "-1", "--format=%cs %h"]
    said = subprocess.run(words, capture_output=True, text=True)
    return said.stdout.strip() or "as it is"


def read(folder: Path, causes: list[str]) -> tuple[str, str, str]:
    """How many agents' files a folder has, how many load, and how many of those with a note."""
    files: set[str] = set()
    loaded: set[str] = set()
    noted: set[str] = set()
    for found in below_path(str(folder)):
        wrong = [problem for problem in found.problems if not problem.noted]
        loaded |= {agent.source for agent in found.package.agents} if found.package else set()
        files |= loaded | {problem.file for problem in wrong}
        noted |= {problem.file for problem in found.problems if problem.noted}
        causes += [
            str(problem).removeprefix(f"{folder.resolve()}/") for problem in wrong if INVALID not in problem.file
        ]
    files = {file for file in files if INVALID not in file}
    return str(len(files)), str(len(loaded & files)), str(len(noted & loaded & files))


INVALID = "/invalid/"  # fixtures that are wrong on purpose; scripts/check bmad holds us to those


if __name__ == "__main__":
    sys.exit(main())
