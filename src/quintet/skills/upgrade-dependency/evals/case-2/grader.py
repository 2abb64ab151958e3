"""The pin and the code are of version 2, and the program gives what it gave."""

import re
import sys

sys.path.insert(0, "work")
import brew
import teapot

with open("work/requirements.txt", encoding="utf-8") as file:
    if not re.search(r"teapot\W+2", file.read()):
        sys.exit("requirements.txt does not name version 2")
if teapot.VERSION != "2.0":
    sys.exit("teapot.py is not version 2")
if brew.party() != [(0, True), (1, True), (2, True)]:
    sys.exit("brew.party() gives something else")
