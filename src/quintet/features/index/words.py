"""Words of code: an identifier whole and in its parts, as they are stored and as they are asked for.

`RetryPolicy` and `retry_policy` are both found by retry, by policy and by their whole names. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from quintet.domain.base.wording import SMALL_WORDS, word_set

IDENTIFIER = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]{1,63}")
_ASKED = re.compile(r"[^\W\d]\w*|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
MOST_WORDS = 20_000  # of one file
OFTEN = 4  # times that a word is repeated
LONGEST = 40  # characters: what is longer is no word that somebody asks for
_QUESTION_WORDS = """
    about after all also and any are can could did does doing done for from get gets give goes had has have how if in
    into is it its make makes may me might must my need needs new not of off on one only or other our please put should
    show so some tell than that the their them then there these they this those to too under up use used uses using want
    was we were what when where whether which while who why will with without would you your
    code file files find handled happen happens implemented project located
"""
QUESTION_WORDS = word_set(_QUESTION_WORDS) | SMALL_WORDS
_ENDINGS = (
    *(("ies", "y"), ("ied", "y"), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", "")),
    *(("er", ""), ("ers", ""), ("ion", "e"), ("ions", "e"), ("ation", "e"), ("ation", "")),
)


def parts(identifier: str) -> list[str]:
    """The parts of an identifier, in lower case: none where it is one word."""
    found = [part.lower() for part in _PART.findall(identifier)]
    return found if len(found) > 1 else []


def spread(identifiers: Iterable[bytes], known: dict[bytes, str]) -> str:
    """Identifiers with their parts as a text of words; `known` remembers what was made before."""
    made = []
    for one in identifiers:
        text = known.get(one)
        if text is None:
            name = one[:LONGEST].decode("utf-8", "replace")
            text = known[one] = " ".join(dict.fromkeys((name.lower(), *(p for p in parts(name) if len(p) > 1))))
        made.append(text)
    return " ".join(made)


def mark(name: bytes) -> int:
    """Four bytes that stand for an identifier."""
    return crc32(name)


def asked(question: str) -> list[str]:
    """The words of a question that are worth looking for, in lower case and without their parts."""
    words = dict.fromkeys(_ASKED.findall(question))
    told = [word for word in words if len(word) > 1 and word.lower() not in QUESTION_WORDS]
    return told or [word for word in words if len(word) > 1]


def stems(word: str) -> list[str]:
    """A word as code may write it: without the ending of its plural or its verb's form."""
    found = [word]
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            found.append(word[: len(word) - len(ending)] + instead)
    return list(dict.fromkeys(found))


def as_term(word: str) -> str:
    """A word for FTS5, quoted."""
    return '"' + word.replace('"', '""') + '"'
