"""Packages: their bytes depend on the contents alone, and a single file unpacks itself and runs from there."""

import io
import json
import os
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGES = ROOT / "scripts" / "packages"
EPOCH = 1_700_000_000


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The modules of scripts/packages, which import each other by name."""
    monkeypatch.syspath_prepend(str(PACKAGES))
    names = ("archives", "sbom", "build")
    modules = {name: __import__(name) for name in names}
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    return modules


def test_archives_are_the_same_whatever_the_order_and_the_clock(made: dict) -> None:
    archives = made["archives"]
    tree = {"b/c.py": archives.Entry(b"c"), "a": archives.Entry(b"a", 0o755), "l": archives.Entry(link="/usr/bin/x")}
    backwards = dict(reversed(tree.items()))
    files = {name: entry for name, entry in tree.items() if not entry.link}
    assert archives.tarred(tree, EPOCH) == archives.tarred(backwards, EPOCH)
    assert archives.zipped(files, EPOCH) == archives.zipped(dict(reversed(files.items())), EPOCH)
    package = archives.debian("Package: x\n", tree, EPOCH)
    assert package == archives.debian("Package: x\n", backwards, EPOCH)
    assert package.startswith(b"!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n")
    with tarfile.open(fileobj=io.BytesIO(archives.tarred(tree, EPOCH))) as opened:
        found = {member.name: (member.mode, member.uid, member.mtime) for member in opened}
    assert found == {
        "./a": (0o755, 0, EPOCH),
        "./b": (0o755, 0, EPOCH),
        "./b/c.py": (0o644, 0, EPOCH),
        "./l": (0o777, 0, EPOCH),
    }


def test_a_single_file_unpacks_itself_once_and_runs_from_there(made: dict, tmp_path: Path) -> None:
    archives, build = made["archives"], made["build"]
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    tree = {
        "quintet/__init__.py": archives.Entry(b""),
        "quintet/__main__.py": archives.Entry(b"import sys; print(sys.prefix, sys.argv[1:])\n"),
        "bin/rg": archives.Entry(b"#!/bin/sh\necho rg\n", 0o755),
    }
    program = tmp_path / "quintet-x"
    program.write_bytes(build.single_file({here: tree}, EPOCH))
    assert program.read_bytes() == build.single_file({here: dict(reversed(tree.items()))}, EPOCH)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [sys.executable, str(program), "one", "two words"]
    first, second = (
        subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        for _ in range(2)
    )
    (home,) = (tmp_path / "cache/quintet").iterdir()
    assert (first.stdout, first.stderr) == (f"{home} ['one', 'two words']\n", "") and second.stdout == first.stdout
    assert (home / "single-file").read_text() == f"{program}\n"
    assert subprocess.run([home / "bin/rg"], capture_output=True, text=True, timeout=60).stdout == "rg\n"


def test_a_single_file_says_which_pythons_it_is_for(made: dict, tmp_path: Path) -> None:
    program = tmp_path / "quintet-x"
    program.write_bytes(made["build"].single_file({"3.5": {}, "3.6": {}}, EPOCH))
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1 and ran.stderr.startswith("quintet: this file is for Python 3.5, 3.6, and this is")


def test_the_bill_of_materials_names_each_package_with_its_hashes(made: dict) -> None:
    requirements = (ROOT / "requirements/run.txt").read_text()
    packages = [distribution("msgspec"), distribution("h11")]
    text = made["sbom"].bill(packages, requirements, "1.2", EPOCH)
    assert text == made["sbom"].bill(reversed(packages), requirements, "1.2", EPOCH)
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert [one["purl"] for one in bill["components"]] == [
        f"pkg:pypi/{name}@{distribution(name).version}" for name in ("h11", "msgspec")
    ]
    assert bill["components"][0]["licenses"] and len(bill["components"][0]["properties"][0]["value"]) == 64
    assert bill["dependencies"][0]["dependsOn"] == [one["bom-ref"] for one in bill["components"]]


def test_the_wheel_is_the_same_when_it_is_built_again(made: dict, tmp_path: Path) -> None:
    first, second = (made["build"].hatched("wheel", tmp_path / name, EPOCH) for name in ("1", "2"))
    assert first.name == second.name and first.read_bytes() == second.read_bytes()


def test_the_debian_package_starts_the_program_it_brings(made: dict) -> None:
    archives, build = made["archives"], made["build"]
    tree = build.debian_tree({"quintet/__main__.py": archives.Entry(b""), "bin/rg": archives.Entry(b"", 0o755)})
    assert (
        "usr/lib/quintet/lib/python3.11/site-packages/quintet/__main__.py" in tree and "usr/lib/quintet/bin/rg" in tree
    )
    assert tree["usr/lib/quintet/bin/python"].link == "/usr/bin/python3.11"
    assert b"/usr/lib/quintet/bin/python -P -m quintet" in tree["usr/bin/quintet"].data


@pytest.mark.parametrize(("reason", "left"), [("remove", False), ("purge", False), ("upgrade", True)])
def test_a_removed_debian_package_takes_along_what_was_installed_beside_it(
    made: dict, tmp_path: Path, reason: str, left: bool
) -> None:
    archives, build = made["archives"], made["build"]
    package = archives.debian("Package: x\n", {}, EPOCH, build.AFTERWARDS)
    at = package.index(b"control.tar.gz") + 60
    with tarfile.open(fileobj=io.BytesIO(package[at : package.index(b"data.tar.gz")])) as opened:
        modes = {member.name: member.mode for member in opened}
        written = opened.extractfile("./postrm")
        assert written
        script = written.read().decode().replace("/usr/lib", f"{tmp_path}/usr/lib")
    assert modes == {"./control": 0o644, "./postrm": 0o755}
    part = tmp_path / "usr/lib/quintet/lib/python3.11/site-packages/mcp/__pycache__"
    part.mkdir(parents=True)
    assert subprocess.run(["sh", "-c", script, "postrm", reason], timeout=60).returncode == 0
    assert part.exists() is left and (tmp_path / "usr/lib").exists()
