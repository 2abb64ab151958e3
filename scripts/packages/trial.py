"""Tries the packages in dist/ as a stranger would: on a bare Debian 12 with Python and git, each in a copy of its own.

Usage, as root: python3 scripts/packages/trial.py [WAY…] [--base FOLDER] [--with PATH]… [--set NAME=VALUE]…
Each way installs, shows the tour, opens a session at a terminal and one in a script, says how it is updated, and is
uninstalled; then everything that is left is compared with what docs/upgrade.md says is left. The image is made by its
recipe and used in a container of buildah's. Exit code: 1 if something failed or is left. Needs debootstrap, and buildah
for the image; the system is made once, in FOLDER. PATH: a file or folder of this machine that its installers need (a
list of indexes, say); the copies see it read-only.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = "python3,python3-venv,git,ca-certificates"  # python3-venv: Debian ships Python's own venv apart
HOME = "/home/stranger"
INSTALLERS = "/usr/local/lib/installers"
PATH = f"{HOME}/.local/bin:{INSTALLERS}/bin:/usr/local/bin:/usr/bin:/bin"
# What docs/upgrade.md says is left, and what is the project's own.
DOCUMENTED = (
    *(f"{HOME}/.config/quintet", f"{HOME}/.local/state/quintet", f"{HOME}/.cache/quintet", f"{HOME}/project"),
    *(f"{HOME}/.local/state/quintet-worktrees", f"{HOME}/.local/state/quintet-clones"),
)
# What the installers keep for themselves, whatever they install.
INSTALLERS_OWN = (
    *(f"{HOME}/.cache/pip", f"{HOME}/.cache/uv", f"{HOME}/.local/share/uv", f"{HOME}/.local/share/pipx"),
    *(f"{HOME}/.local/state/pipx", f"{HOME}/.cache/pipx", f"{HOME}/.local/pipx"),
    f"{HOME}/.local/share/man",
    *("/var/lib/dpkg", "/var/log", "/var/cache", "/var/lib/apt", "/etc/ld.so.cache"),
)
WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # install, uninstall; as root after `#`
    "pip": (("python3 -m venv ~/env", "~/env/bin/pip install -q {wheel}", "mkdir -p ~/.local/bin",
             "ln -s ~/env/bin/quintet ~/.local/bin/quintet"), ("rm -r ~/env ~/.local/bin/quintet",)),
    "pipx": (("pipx install {wheel}",), ("pipx uninstall quintet",)),
    "uv": (("uv tool install -q --python /usr/bin/python3 {wheel}",), ("uv tool uninstall -q quintet",)),
    "sdist": (("python3 -m venv ~/env", "~/env/bin/pip install -q {sdist}", "mkdir -p ~/.local/bin",
               "ln -s ~/env/bin/quintet ~/.local/bin/quintet"), ("rm -r ~/env ~/.local/bin/quintet",)),
    "single-file": (("mkdir -p ~/.local/bin", "cp {single} ~/.local/bin/quintet"),
                    ("rm ~/.local/bin/quintet", "rm -r ~/.cache/quintet")),
    "debian": (("# dpkg --install {deb}",), ("# quintet --version", "# dpkg --remove quintet")),  # root's run compiles
}  # fmt: skip
IMAGE = "image"
NAMES = ("/etc/resolv.conf",)
USED = (
    "quintet --version",
    "cd / && quintet tour </dev/null >/tmp/tour.txt 2>&1 || { cat /tmp/tour.txt; exit 1; }; rm /tmp/tour.txt",
    "git init -q ~/project && cd ~/project && echo 'hello = 1' >a.py",
    "cd ~/project && quintet -p 'find hello'",
    "cd ~/project && (sleep 6; printf 'find hello\\r'; sleep 12; printf '/quit\\r'; sleep 2)"
    " | timeout 60 script -qec 'quintet --plain' /dev/null",
    "cd ~/project && quintet sessions list",
    "quintet update",
)


class Here(NamedTuple):
    """What of this machine the copies have."""

    shown: tuple[str, ...]
    variables: tuple[str, ...]


def main() -> int:
    every = (*WAYS, IMAGE)
    parser = argparse.ArgumentParser(prog="trial.py", description="Try the packages on a bare Debian 12.")
    parser.add_argument("way", nargs="*", help=f"{', '.join(every)}; none: all of them")
    parser.add_argument("--base", type=Path, default=Path("/var/tmp/quintet-debian"), help="where the system is made")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable that they have")
    parser.add_argument("--with", dest="shown", action="append", default=[], metavar="PATH", help="shown read-only")
    words = parser.parse_args()
    if unknown := [way for way in words.way if way not in every]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(every)}")
    if os.geteuid() != 0:
        parser.error("mounts and another root folder need root")
    ways = words.way or every
    if set(ways) != {IMAGE} and not (words.base / "bin").exists():
        print(f"makes a Debian in {words.base}", flush=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", words.base], check=True
        )
    here = Here((*NAMES, *words.shown), tuple(words.set))
    if set(ways) != {IMAGE}:
        with_installers(words.base, here)
    wrong = [way for way in ways if not (image_tried() if way == IMAGE else tried(way, words.base, here))]
    print(f"wrong: {', '.join(wrong)}" if wrong else "all of them install, work, and leave what is documented")
    return bool(wrong)


def with_installers(base: Path, here: Here) -> None:
    """pipx and uv in an environment of their own, which is part of the system before anything is tried."""
    if not (base / "home/stranger").exists():
        subprocess.run(["chroot", base, "useradd", "--create-home", "--shell", "/bin/bash", "stranger"], check=True)
    if not (base / INSTALLERS[1:] / "bin/uv").exists():
        made = f"python3 -m venv {INSTALLERS} && {INSTALLERS}/bin/pip install -q pipx uv"
        said = inside(base, here, made, "root")
        if said.returncode:
            sys.exit(f"pipx and uv could not be installed: {said.stdout}")


def tried(way: str, base: Path, here: Here) -> bool:
    install, uninstall = WAYS[way]
    with tempfile.TemporaryDirectory(prefix="quintet-trial-", dir="/var/tmp") as made:
        place = Path(made)
        place.chmod(0o755)
        for name in ("changed", "work", "root"):
            (place / name).mkdir()
        layers = f"lowerdir={base},upperdir={place}/changed,workdir={place}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, place / "root"], check=True)
        try:
            done = all(runs(way, line, place / "root", here) for line in (*install, *USED, *uninstall))
        finally:
            subprocess.run(["umount", "--lazy", place / "root"], check=True)
        left = sorted(set(leftovers(place / "changed", base)) - set(here.shown))
    for path in left:
        print(f"{way}: left: {path}")
    print(f"{way}: {'works' if done else 'FAILED'}, {len(left)} left that is not documented", flush=True)
    return done and not left


def image_tried() -> bool:
    """The image, made by its recipe, in a container without a runtime; with both removed, buildah has what it had."""
    before, name = kept_images(), "localhost/quintet-trial"
    if not shown(IMAGE, "scripts/packages/image", run([str(ROOT / "scripts/packages/image"), name])):
        return False
    container = run(["buildah", "from", name]).stdout.strip()
    entered = ["buildah", "run", "--isolation", "chroot", container, "--", "/bin/bash", "-c"]
    done = all(shown(IMAGE, line, run([*entered, f"cd; {line}"])) for line in USED)
    run(["buildah", "rm", container])
    run(["buildah", "rmi", name])
    left = sorted(kept_images() - before)
    print(f"{IMAGE}: {'works' if done else 'FAILED'}, {len(left)} left that is not documented", flush=True)
    return done and not left


def kept_images() -> set[str]:
    return {line for kind in ("containers", "images") for line in run(["buildah", kind, "-q"]).stdout.splitlines()}


def run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )


def runs(way: str, line: str, root: Path, here: Here) -> bool:
    user = "root" if line.startswith("# ") else "stranger"
    dist = {"wheel": "*.whl", "sdist": "*.tar.gz", "single": "*-linux-x86_64", "deb": "*.deb"}
    named = {key: f"/given/{newest(pattern)}" for key, pattern in dist.items() if f"{{{key}}}" in line}
    command = line.removeprefix("# ")
    for key, path in named.items():
        command = command.replace(f"{{{key}}}", path)
    return shown(way, line, inside(root, here, command, user))


def shown(way: str, line: str, said: subprocess.CompletedProcess[str]) -> bool:
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.stdout).strip()
    last = "\n".join(f"    {one}" for one in text.splitlines()[-12 if said.returncode else -3 :])
    print(f"{way}: {'ok' if not said.returncode else f'exit {said.returncode}'}: {line}\n{last}", flush=True)
    return said.returncode == 0


def newest(pattern: str) -> str:
    found = sorted((ROOT / "dist").glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"There is no {pattern} in dist: run scripts/package first.")
    return found[-1].name


def inside(root: Path, here: Here, command: str, user: str) -> subprocess.CompletedProcess[str]:
    """Run as a user in that root folder, with mounts and processes of its own, and nothing of this environment."""
    mounts = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    for path, place in [(str(ROOT / "dist"), "/given"), *((path, path) for path in here.shown)]:
        target = shlex.quote(f"{root}{place}")
        make = f"mkdir -p {target}" if Path(path).is_dir() else f"mkdir -p $(dirname {target}) && touch {target}"
        mounts.append(
            f"{{ {make}; }} && mount --bind {shlex.quote(path)} {target} && mount -o remount,bind,ro {target}"
        )
    bare = ["env", "-i", f"HOME={HOME if user != 'root' else '/root'}", f"PATH={PATH}:/usr/sbin:/sbin"]
    bare += ["TERM=xterm-256color", "LANG=C.UTF-8", f"USER={user}", *here.variables]
    entered = shlex.join(["chroot", f"--userspec={user}:{user}", str(root), *bare, "/bin/bash", "-c", f"cd; {command}"])
    script = " && ".join([*mounts, f"exec {entered}"])
    return run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script])


def leftovers(changed: Path, base: Path) -> Iterator[str]:
    """Files that stand there now and did not before, and are neither documented nor the installers' own."""
    for folder, folders, files in os.walk(changed):
        inside_root = "/" + str(Path(folder).relative_to(changed)).removeprefix(".")
        for name in (*files, *(one for one in folders if not os.listdir(os.path.join(folder, one)))):
            path = os.path.normpath(os.path.join(inside_root, name))
            found = Path(folder, name)
            gone = not found.is_symlink() and found.is_char_device()  # how the upper layer says that it was deleted
            known = any(path == one or path.startswith(one + "/") for one in (*DOCUMENTED, *INSTALLERS_OWN))
            known |= path.startswith("/tmp/quintet-tour-")
            known |= name in folders and (
                Path(f"{base}{path}").is_dir() or any(one.startswith(path) for one in DOCUMENTED)
            )
            mounted = path in ("/given", "/etc/resolv.conf", f"{HOME}/.local/bin", "/proc", "/dev")
            if not gone and not known and not mounted and not _machines(path):
                yield path


def _machines(path: str) -> bool:
    """Whether it is made by the system for itself: compiled files of its own Python."""
    return path.startswith(("/usr/lib/python3", INSTALLERS))


if __name__ == "__main__":
    sys.exit(main())
