"""The tests pass with the fix, and fail with the code as it was."""

import os
import shutil
import subprocess
import sys


def passes(folder):
    done = subprocess.run([sys.executable, "-m", "unittest", "test_tail"], cwd=folder, capture_output=True)
    return done.returncode == 0


if not os.path.exists("work/test_tail.py"):
    sys.exit("there is no test_tail.py")
if not passes("work"):
    sys.exit("the tests do not pass")
shutil.copytree("work", "before")
with open("before/tail.py", "w", encoding="utf-8") as file:
    file.write("def last(items):\n    return items[len(items)]\n")
if passes("before"):
    sys.exit("the tests pass with the bug too")
