"""Where a project names a dependency, and with which version: `find_pins.py NAME [FOLDER]`. One line a place."""

import os
import re
import sys

FILES = re.compile(
    r"pyproject\.toml|setup\.(py|cfg)|(.*-)?requirements.*\.(txt|in)|Pipfile(\.lock)?|poetry\.lock|uv\.lock|environment\.ya?ml"
    r"|package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|deno\.jsonc?|Cargo\.(toml|lock)|go\.(mod|sum)"
    r"|Gemfile(\.lock)?|composer\.(json|lock)|build\.gradle(\.kts)?|libs\.versions\.toml|pom\.xml|mix\.(exs|lock)"
    r"|Dockerfile.*|.*\.ya?ml|tox\.ini|constraints.*\.txt"
)
SKIPPED = {".git", "node_modules", ".venv", "venv", "vendor", "dist", "build", "target", ".tox", "__pycache__"}
MOST_BYTES = 5_000_000


def places(name, top):
    # `-`, `_` and `.` are the same letter in the names of many package managers.
    parts = [re.escape(part) for part in re.split(r"[-_.]", name)]
    wanted = re.compile(r"(?<![\w.@/-])[\"']?" + r"[-_.]".join(parts) + r"[\"']?(?![\w-])(?!/\w)", re.I)
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(one for one in folders if one not in SKIPPED)
        for file in sorted(names):
            path = os.path.join(folder, file)
            listed = os.path.basename(folder) == "requirements" and file.endswith((".txt", ".in"))
            if not (listed or FILES.fullmatch(file)) or os.path.islink(path) or os.path.getsize(path) > MOST_BYTES:
                continue
            with open(path, encoding="utf-8", errors="replace") as opened:
                lines = opened.read().splitlines()
            for number, line in enumerate(lines, 1):
                if wanted.search(line.split(" #")[0]):
                    yield os.path.relpath(path, top), number, version_near(lines, number - 1, wanted)


def version_near(lines, at, wanted):
    """On the line after the name, or on one of the two lines below, as lock files have it."""
    rest = wanted.split(lines[at], maxsplit=1)[-1]
    for text in (rest, *lines[at + 1 : at + 3]):
        found = re.search(r"(?<![\w.])v?(\d+(?:\.\d+)*(?:[-.+]?[A-Za-z]+[\w.]*)?)", text)
        if found:
            return found[1]
    return "-"


def main(words):
    if not words:
        print("usage: find_pins.py NAME [FOLDER]", file=sys.stderr)
        return 2
    found = list(places(words[0], words[1] if words[1:] else "."))
    for path, number, version in found:
        print(f"{path}:{number}: {version}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
