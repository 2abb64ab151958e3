"""Builds Quintet's packages: wheel, sdist, bill of materials, a single-file program and a Debian package.

The time of everything is SOURCE_DATE_EPOCH, or that of the commit. Packages that Quintet needs are those of
requirements/run.txt, by their hashes, for the Pythons and the platform that are named below.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from archives import SHEBANG, Entry, Tree, debian, read_tree, zipped
from sbom import bill, packages_in

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
REQUIREMENTS = ROOT / "requirements" / "run.txt"
KINDS = ("wheel", "sdist", "sbom", "single-file", "debian")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
DEBIAN_PYTHON = "3.11"  # of Debian 12
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_5_x86_64")
BUILDS_ONLY = ("editables", "hatchling", "pathspec", "pluggy", "trove_classifiers")  # not to run it
CONTROL = """\
Package: quintet
Version: {version}
Architecture: amd64
Maintainer: The maintainers of Quintet <maintainers@quintet.invalid>
Installed-Size: {size}
Depends: python3 (>= 3.11), python3 (<< 3.12), git
Recommends: bubblewrap, passt | slirp4netns
Section: devel
Priority: optional
Description: coding agent that you control with five dials
 Work mode, run control, permission profile, model mode and surface decide what
 the agent does, and only you change them. Commands run in a sandbox, and every
 decision is recorded.
"""
# Compiled files of a run as root, and optional parts, are no files of the package.
AFTERWARDS = """\
#!/bin/sh
set -e
case "$1" in remove | purge) rm -rf /usr/lib/quintet ;; esac
"""
STARTER = '#!/bin/sh\nexec /usr/lib/quintet/bin/python -P -m quintet "$@"\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/package", description="Build Quintet's packages.")
    parser.add_argument("kind", nargs="*", help=f"{', '.join(KINDS)}; none: all of them")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where they are put; default: dist")
    parser.add_argument("--python", nargs="+", default=list(PYTHONS), help="the Pythons of the single-file program")
    parser.add_argument("--check", action="store_true", help="build twice and compare the bytes")
    words = parser.parse_args()
    if unknown := [kind for kind in words.kind if kind not in KINDS]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(KINDS)}")
    kinds = words.kind or list(KINDS)
    with tempfile.TemporaryDirectory(prefix="quintet-packages-") as place:
        made = build(kinds, words.python, Path(place) / "1")
        again = build(kinds, words.python, Path(place) / "2") if words.check else made
    words.into.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (words.into / name).write_bytes(data)
        if name.endswith("linux-x86_64"):
            (words.into / name).chmod(0o755)
        same = " same bytes twice" if words.check and again[name] == data else ""
        print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>11,}  {words.into / name}{same}")
    if differ := [name for name in made if again[name] != made[name]]:
        print(f"built twice, these differ: {', '.join(differ)}", file=sys.stderr)
        return 1
    return 0


def build(kinds: list[str], pythons: list[str], place: Path) -> dict[str, bytes]:
    """The packages by the names of their files."""
    epoch, version = moment(), version_here()
    place.mkdir()
    made: dict[str, bytes] = {}
    wheel, sdist = (hatched(kind, place, epoch) for kind in ("wheel", "sdist"))
    for kind, path in (("wheel", wheel), ("sdist", sdist)):
        if kind in kinds:
            made[path.name] = path.read_bytes()
    needed = set(pythons if "single-file" in kinds else ())
    if {"debian", "sbom"} & set(kinds):
        needed.add(DEBIAN_PYTHON)
    trees = {python: installed(place / python, python, wheel) for python in sorted(needed)}
    if "sbom" in kinds:
        listed = [one for one in packages_in(place / DEBIAN_PYTHON) if _runs(one.metadata["Name"].replace("-", "_"))]
        made[f"quintet-{version}.cdx.json"] = bill(listed, REQUIREMENTS.read_text(), version, epoch).encode()
    if "single-file" in kinds:
        chosen = {python: trees[python] for python in pythons}
        made[f"quintet-{version}-linux-x86_64"] = single_file(chosen, epoch)
    if "debian" in kinds:
        tree = debian_tree(trees[DEBIAN_PYTHON])
        size = sum(len(entry.data) for entry in tree.values()) // 1024
        made[f"quintet_{version}_amd64.deb"] = debian(
            CONTROL.format(version=version, size=size), tree, epoch, AFTERWARDS
        )
    return made


def moment() -> int:
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    said = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return int(said.stdout) if said.returncode == 0 else 1577836800


def version_here() -> str:
    text = (ROOT / "src/quintet/__init__.py").read_text()
    return text.split('__version__ = "')[1].split('"')[0]


def hatched(kind: str, place: Path, epoch: int) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(place)]
    subprocess.run(words, cwd=ROOT, env=environment, check=True, capture_output=True)
    (path,) = place.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


def installed(place: Path, python: str, wheel: Path) -> Tree:
    """The files of Quintet and of what it needs, for one Python: packages, and programs in bin/."""
    abi = f"cp{python.replace('.', '')}"
    words = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile"]
    words += ["--quiet", "--target", str(place), "--require-hashes", "-r", str(REQUIREMENTS)]
    words += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", python]
    for chosen in (*PLATFORMS, "any"):
        words += ["--platform", chosen]
    for chosen in (abi, "abi3", "none"):
        words += ["--abi", chosen]
    subprocess.run(words, check=True)
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(place)
    tree = read_tree(place)
    return {name: _same_everywhere(name, entry) for name, entry in tree.items() if _runs(name)}


def _runs(name: str) -> bool:
    top = name.split("/")[0]
    return name == "bin/rg" if top == "bin" else not top.startswith(BUILDS_ONLY)


def _same_everywhere(name: str, entry: Entry) -> Entry:
    """Without the folder that the installer was given: it is another one each time."""
    if name.endswith("/RECORD"):
        lines = [line for line in entry.data.splitlines() if not line.startswith((b"../", b"bin/"))]
        return Entry(b"\n".join(sorted(lines)) + b"\n", entry.mode)
    return entry


def single_file(trees: dict[str, Tree], epoch: int) -> bytes:
    made: Tree = {"__main__.py": Entry((HERE / "launch.py").read_bytes())}
    for python, tree in trees.items():
        listed = {}
        for name, entry in sorted(tree.items()):
            digest = hashlib.sha256(entry.data).hexdigest()
            made[f"files/{digest}"] = Entry(entry.data)
            listed[name] = [digest, entry.mode]
        made[f"versions/{python}.json"] = Entry(json.dumps(listed).encode())
    return zipped(made, epoch, SHEBANG)


def debian_tree(tree: Tree) -> Tree:
    home = "usr/lib/quintet"
    packages = f"{home}/lib/python{DEBIAN_PYTHON}/site-packages"
    made = {f"{home if name.startswith('bin/') else packages}/{name}": entry for name, entry in tree.items()}
    made[f"{home}/bin/python"] = Entry(link=f"/usr/bin/python{DEBIAN_PYTHON}")
    made[f"{home}/pyvenv.cfg"] = Entry(b"home = /usr/bin\ninclude-system-site-packages = false\n")
    made["usr/bin/quintet"] = Entry(STARTER.encode(), 0o755)
    made["usr/share/doc/quintet/copyright"] = Entry((ROOT / "LICENSE").read_bytes())
    return made


if __name__ == "__main__":
    sys.exit(main())
