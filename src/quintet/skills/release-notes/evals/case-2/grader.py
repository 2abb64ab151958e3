"""The notes name what users notice, above the old ones, which are as they were."""

import sys

with open("work/CHANGELOG.md", encoding="utf-8") as file:
    text = file.read()
new, old, rest = text.partition("## 1\n")
if not old or rest.strip() != "- The first.":
    sys.exit("the notes of version 1 were changed")
for wanted in ("flag", "one", "name"):
    if wanted not in new:
        sys.exit(f"nothing about: {wanted}")
if "old news" in new:
    sys.exit("a change from before the tag is among the new ones")
