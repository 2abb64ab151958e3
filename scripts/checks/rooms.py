"""Counts how the sources are housed: full rooms, long files, late imports, names used twice, large values, the walk.

Usage: scripts/check rooms. Each count stands beside its limit; exit code 1 if one is over it. The same rules are held
by tests/test_architecture.py, which names the exceptions; this shows how near to each the tree is.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.test_architecture import (  # noqa: E402
    FILES,
    LATE_IMPORTS,
    MANY_FIELDS,
    MOST_FIELDS,
    MOST_IN_A_ROOM,
    MOST_LINES,
    SRC,
    fields,
    place,
    source,
)

MOST_AT_THE_ROOT = 8
MOST_LATE_IMPORTS = 120
MOST_ON_THE_WAY = 24
WALK = re.compile(r"^\| `([\w/]+\.py)` \|", re.M)


def main() -> int:
    rows = [
        ("files", len(FILES), None, ""),
        ("lines", sum(map(_lines, FILES)), None, ""),
        _fullest_room(),
        ("files at the root", sum(path.parent == SRC for path in FILES), MOST_AT_THE_ROOT, ""),
        _longest_file(),
        ("imports inside functions", sum(source(path).late_imports for path in FILES), MOST_LATE_IMPORTS, ""),
        ("files with such imports", len({*map(place, filter(_imports_late, FILES))}), len(LATE_IMPORTS), ""),
        _public_names_twice(),
        _largest_value(),
        _files_on_the_way(),
    ]
    over = 0
    for what, count, most, which in rows:
        wrong = most is not None and count > most
        over += wrong
        limit = "" if most is None else f"≤ {most}"
        print(f"{what:<42} {count:>7,}  {limit:<7} {'OVER' if wrong else '':<4} {which}".rstrip())
    return 1 if over else 0


Row = tuple[str, int, int | None, str]


def _lines(path: Path) -> int:
    return len(source(path).text.splitlines())


def _imports_late(path: Path) -> bool:
    return source(path).late_imports > 0


def _fullest_room() -> Row:
    counts = Counter(path.parent for path in FILES if path.name != "__init__.py")
    most = max(counts.values())
    rooms = sorted(str(room.relative_to(SRC)) for room, count in counts.items() if count == most)
    return "files in the fullest room", most, MOST_IN_A_ROOM, ", ".join(rooms)


def _longest_file() -> Row:
    longest = max(FILES, key=_lines)
    return "lines of the longest file", _lines(longest), MOST_LINES, place(longest)


def _public_names_twice() -> Row:
    counts = Counter(name for path in FILES for name in source(path).public_classes)
    twice = [name for name, count in counts.items() if count > 1]
    return "public class names used twice", len(twice), 0, ", ".join(twice)


def _largest_value() -> Row:
    """Of those that are neither a wire format nor a table of settings; the architecture test names those."""
    counts = {
        node.name: fields(node)
        for path in FILES
        for node in ast.parse(source(path).text).body
        if isinstance(node, ast.ClassDef) and node.name not in MANY_FIELDS
    }
    most = max(counts.values())
    return "fields of the largest value", most, MOST_FIELDS, ", ".join(name for name in counts if counts[name] == most)


def _files_on_the_way() -> Row:
    """From the prompt to a shell command, as docs/architecture.md lists them; tests/test_docs.py looks for each."""
    page = (ROOT / "docs/architecture.md").read_text()
    walk = page.partition("## The walk of a prompt\n")[2].partition("And back:")[0]
    return "files from a prompt to a shell command", len(set(WALK.findall(walk))), MOST_ON_THE_WAY, ""


if __name__ == "__main__":
    sys.exit(main())
