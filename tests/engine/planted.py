"""A repository whose working tree holds five planted defects, and a model that reports the ones its tools show it."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from quintet.domain.turn.messages import Request, Role

SHOP = """\
import os


def total(prices: list[float]) -> float:
    return sum(prices[1:])


def backup(name: str) -> None:
    os.system("cp shop.db " + name)


def discount(price: float, percent: float) -> float:
    return price - price * percent


def load(path: str) -> str:
    try:
        return open(path).read()
    except Exception:
        return ""
"""
LOGIN = """\
def allowed(password: str) -> bool:
    return password == "hunter2"
"""
# file, the line's own words, severity
DEFECTS = (
    ("tally/shop.py", "    return sum(prices[1:])", "high"),
    ("tally/shop.py", '    os.system("cp shop.db " + name)', "high"),
    ("tally/shop.py", "    return price - price * percent", "medium"),
    ("tally/shop.py", "    except Exception:", "low"),
    ("tally/login.py", '    return password == "hunter2"', "high"),
)
BEFORE = "def total(prices: list[float]) -> float:\n    return sum(prices)\n"


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def commit(root: Path, message: str) -> None:
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", message)


def plant(root: Path) -> None:
    """Four defects in a tracked file, one in a file that git does not know yet."""
    (root / "tally/shop.py").write_text(BEFORE)
    commit(root, "A shop")
    (root / "tally/shop.py").write_text(SHOP)
    (root / "tally/login.py").write_text(LOGIN)


def line_of(file: str, words: str) -> int:
    text = {"tally/shop.py": SHOP, "tally/login.py": LOGIN}[file]
    return text.splitlines().index(words) + 1


def findings(shown: str) -> list[dict[str, Any]]:
    """A finding for each defect whose line is in what was shown."""
    return [
        {
            "severity": severity,
            "file": file,
            "line": line_of(file, words),
            "title": f"defect: {words.strip()}",
            "detail": "It is wrong.",
            "evidence": words,
        }
        for file, words, severity in DEFECTS
        if words.strip() in shown
    ]


def reports(request: Request, **more: Any) -> str:
    """What a reviewer answers that reports what its tools showed, and nothing else."""
    shown = "\n".join(message.text for message in request.messages if message.role is Role.TOOL)
    return json.dumps({"summary": "Not yet.", "findings": findings(shown), "not_looked_at": ["speed"], **more})


def fingerprint(root: Path) -> str:
    """Every byte of the project, its repository included, and what git says of it."""
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        whole.update(str(path.relative_to(root)).encode())
        whole.update(path.read_bytes() if path.is_file() else b"")
    return whole.hexdigest() + git(root, "--no-optional-locks", "status", "--porcelain")
