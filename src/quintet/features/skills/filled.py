"""The words of a skill with the words that it is given: $ARGUMENTS, $1 to $9, and where its files lie.

Pure. What is put in is put in once and as it is: it is never looked through for more to fill in, nor run by anything.
"""

from __future__ import annotations

import re
import shlex

from quintet.domain.base.lazy_regex import regex

_PLACES = regex(r"\$(ARGUMENTS\[(\d{1,2})\]|ARGUMENTS|[1-9])(?![\w])|\$\{(?:CLAUDE_|QUINTET_)?SKILL_(?:ROOT|DIR)\}")
_SPOKEN = regex(r"(?m)^!`([^`\n]+)`\s*$")


def words_of(text: str) -> list[str]:
    """As a shell would part them; a text with a lone quote by its spaces."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def filled(body: str, arguments: str, folder: str = "", *, numbered: bool = True) -> str:
    """The body with its places filled in; arguments that no place takes stand at its end. Where words are not
    `numbered`, $1 is what it says: a price, or a column of awk's."""
    words = words_of(arguments)
    taken = False

    def put(found: re.Match[str]) -> str:
        nonlocal taken
        if found[1] is None:
            return folder or found[0]
        if found[1].isdigit() and not numbered:
            return found[0]
        taken = True
        if found[1] == "ARGUMENTS":
            return arguments
        number = int(found[2]) if found[2] else int(found[1]) - 1
        return words[number] if number < len(words) else ""

    text = _PLACES.sub(put, body)
    if arguments.strip() and not taken:
        text = f"{text.rstrip()}\n\nArguments: {arguments}"
    return text


def shell_lines(body: str) -> tuple[str, ...]:
    """Lines that another agent would run before the model sees the page; here the model is told to run them itself."""
    return tuple(_SPOKEN.findall(body))
