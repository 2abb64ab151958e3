"""Checks commit messages, a file each: `check_message.py FILE…`. Prints what is wrong, a line each; exit code 1 then."""

import re
import sys

TYPES = "feat fix docs style refactor perf test build ci chore revert".split()
FIRST = re.compile(r"(?P<type>[A-Za-z]+)(?:\((?P<scope>[^()]+)\))?(?P<breaking>!)?: (?P<summary>.+)")
MOST_FIRST, MOST_OTHER = 72, 100


def problems(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or not lines[0].strip():
        return ["the message is empty"]
    found = []
    first = FIRST.fullmatch(lines[0])
    if first is None:
        return [f"the first line is not `type(scope): summary`: {lines[0][:80]}"]
    if first["type"] not in TYPES:
        found.append(f"type {first['type']}: not one of {', '.join(TYPES)}")
    if len(lines[0]) > MOST_FIRST:
        found.append(f"the first line has {len(lines[0])} characters; at most {MOST_FIRST}")
    if first["summary"].endswith("."):
        found.append("the summary ends with a period")
    if first["summary"][:1].isspace():
        found.append("more than one space before the summary")
    if re.match(r"(added|fixed|changed|removed|updated|adds|fixes|changes|removes|updates)\b", first["summary"], re.I):
        found.append("the summary is not in the imperative: add, fix, change …")
    if len(lines) > 1 and lines[1].strip():
        found.append("the second line must be empty")
    found += [
        f"line {n} has more than {MOST_OTHER} characters"
        for n, line in enumerate(lines[1:], 2)
        if len(line) > MOST_OTHER and "://" not in line
    ]
    if first["breaking"] and not any(line.startswith("BREAKING CHANGE: ") for line in lines):
        found.append("it breaks users (!), and no paragraph begins with `BREAKING CHANGE: `")
    return found


def main(paths):
    wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for problem in problems(file.read()):
                wrong += 1
                print(f"{path}: {problem}")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
