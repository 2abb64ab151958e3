"""One more commit, of greet.py alone, with a conventional first line."""

import re
import subprocess
import sys


def git(*words):
    return subprocess.run(["git", "-C", "work", *words], capture_output=True, text=True, check=True).stdout.strip()


if git("rev-list", "--count", "HEAD") != "2":
    sys.exit("there is not one new commit")
if git("show", "--name-only", "--format=", "HEAD").split() != ["greet.py"]:
    sys.exit("the commit has other files than greet.py")
first = git("log", "-1", "--format=%s")
if not re.fullmatch(r"(feat|fix|refactor|chore|style|perf)(\([^()]+\))?: .{1,60}[^.]", first):
    sys.exit(f"not a conventional first line: {first}")
