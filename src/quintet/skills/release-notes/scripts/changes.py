"""The commits between two points in groups: `changes.py [FROM] [TO]`. Without FROM, since the newest tag before TO."""

import re
import subprocess
import sys

FIRST = re.compile(r"(?P<type>[a-z]+)(?:\((?P<scope>[^()]+)\))?(?P<breaking>!)?: (?P<summary>.+)")
GROUPS = {"breaking": "Breaking changes", "feat": "Features", "fix": "Fixes", "other": "Other"}


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False)


def changes(begin, end):
    if not begin:
        begin = git("describe", "--tags", "--abbrev=0", end).stdout.strip()
    wanted = f"{begin}..{end}" if begin else end
    done = git("log", "--reverse", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", wanted, "--")
    if done.returncode:
        sys.exit(f"git log {wanted}: {done.stderr.strip()}")
    groups = {name: [] for name in GROUPS}
    for record in filter(str.strip, done.stdout.split("\x1e")):
        short, subject, body = record.strip("\n").split("\x1f")
        found = FIRST.fullmatch(subject)
        kind = found["type"] if found and found["type"] in ("feat", "fix") else "other"
        if (found and found["breaking"]) or "BREAKING CHANGE:" in body:
            kind = "breaking"
        scope = f"{found['scope']}: " if found and found["scope"] else ""
        groups[kind].append(f"- {scope}{found['summary'] if found else subject} ({short})")
    return begin, groups


def main(words):
    begin, groups = changes(words[0] if words else "", words[1] if words[1:] else "HEAD")
    print(f"# Since {begin or 'the beginning'}")
    for name, title in GROUPS.items():
        if groups[name]:
            print(f"\n## {title}\n")
            print("\n".join(groups[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
