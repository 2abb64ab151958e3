"""The start of the single-file program: unpacks itself once for each Python, into an environment, and runs from there.

The archive holds each file once, by its digest, and a list of paths for each version of Python. It is run by any
Python, so it says itself what it needs.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile


def main() -> None:
    archive = os.path.realpath(sys.argv[0])
    version = ".".join(str(part) for part in sys.version_info[:2])
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        if f"versions/{version}.json" not in names:
            there = sorted(name[len("versions/") : -len(".json")] for name in names if name.startswith("versions/"))
            sys.exit(f"quintet: this file is for Python {', '.join(there)}, and this is Python {version}")
        listed = opened.read(f"versions/{version}.json")
        base = getattr(sys, "_base_executable", "") or sys.executable
        key = hashlib.sha256(listed + base.encode() + archive.encode()).hexdigest()[:16]
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        home = os.path.join(caches, "quintet", f"program-{key}")
        if not os.path.isdir(home):
            unpack(opened, json.loads(listed), home, base, archive, version)
    python = os.path.join(home, "bin", "python")
    os.execv(python, [python, "-P", "-m", "quintet", *sys.argv[1:]])


def unpack(opened: zipfile.ZipFile, listed: dict, home: str, base: str, archive: str, version: str) -> None:
    """All of it under another name first: two starts at once do not see half of it."""
    os.makedirs(os.path.dirname(home), mode=0o700, exist_ok=True)
    making = tempfile.mkdtemp(prefix="program-", dir=os.path.dirname(home))
    try:
        packages = os.path.join(making, "lib", f"python{version}", "site-packages")
        for name, (digest, mode) in listed.items():
            place = os.path.join(making if name.startswith("bin/") else packages, name)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(opened.read(f"files/{digest}"))
            os.chmod(place, mode)
        os.makedirs(os.path.join(making, "bin"), exist_ok=True)
        os.symlink(base, os.path.join(making, "bin", "python"))
        with open(os.path.join(making, "pyvenv.cfg"), "w") as file:
            file.write(f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\n")
        with open(os.path.join(making, "single-file"), "w") as file:
            file.write(f"{archive}\n")
        os.rename(making, home)
    except OSError:
        shutil.rmtree(making, ignore_errors=True)
        if not os.path.isdir(home):  # another start was quicker
            raise


if __name__ == "__main__":
    main()
