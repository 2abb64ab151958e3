"""Known secrets are taken out of whatever leaves: in every form that is promised, whole or in pieces."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.env_file import changed_env, read_env
from quintet.domain.base.redaction import Redaction
from quintet.domain.journal import protocol as p
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.exposure import exposures, granted, is_secret_name
from quintet.domain.settings.settings import SecretSettings

# Any text a secret may be, of eight characters or more, not of one letter only: that would hide in its own stand-in.
SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=8, max_size=40).filter(
    lambda text: len(text.strip()) >= 8 and len(text.strip().splitlines()) == 1
)
AROUND = st.text(st.characters(codec="utf-8"), max_size=20)
ENCODINGS: dict[str, Callable[[str], str]] = {
    "literal": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "json, not ascii": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json in json": lambda text: json.dumps(json.dumps(text))[3:-3],
    "json of ours": lambda text: msgspec.json.encode(text).decode()[1:-1],
    "url": quote,
    "url, all": lambda text: quote(text, safe=""),
    "url, form": quote_plus,
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
}


def own_letters(secret: str, place: int, *, url: bool) -> str:
    """The letters of base64 that say nothing but the secret, when so many bytes stand before it in its group."""
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    variants = [encode(bytes([fill] * place) + secret.encode() + bytes([fill] * 3)).decode() for fill in (0, 255)]
    return max("".join(a if a == b else " " for a, b in zip(*variants, strict=True)).split(), key=len)


@given(SECRETS, AROUND, AROUND)
def test_every_form_of_a_secret_is_found_among_other_words(secret: str, before: str, behind: str) -> None:
    secret = secret.strip()
    redaction = Redaction([secret])
    for name, encoded in ENCODINGS.items():
        form = encoded(secret)
        assert form not in redaction.text(f"{before}{form}{behind}"), name


@given(SECRETS, st.binary(max_size=9), st.binary(max_size=9), st.booleans())
def test_a_secret_in_base64_is_found_wherever_it_begins(secret: str, before: bytes, behind: bytes, url: bool) -> None:
    secret = secret.strip()
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    text = Redaction([secret]).text(encode(before + secret.encode() + behind).decode())
    assert own_letters(secret, len(before) % 3, url=url) not in text


@given(SECRETS, AROUND, AROUND, st.data())
def test_a_secret_that_comes_in_pieces_is_found(secret: str, before: str, behind: str, data: st.DataObject) -> None:
    secret = secret.strip()
    redaction = Redaction([secret])
    form = ENCODINGS[data.draw(st.sampled_from(sorted(ENCODINGS)))](secret)
    text = f"{before}{form}{behind}"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    stream, chunks = redaction.texts(), redaction.chunks()
    out = "".join([*map(stream.feed, pieces), stream.rest()])
    assert form not in out
    raw = b"".join([*(chunks.feed(piece.encode()) for piece in pieces), chunks.rest()])
    assert form.encode() not in raw


def test_pieces_go_on_at_once_but_for_what_may_begin_a_secret() -> None:
    stream = Redaction(["swordfish-9", "swordfish-9-and-more"]).texts()
    assert stream.feed("the sw") == "the "
    assert stream.feed("an and the swordf") == "swan and the "
    assert stream.feed("ish-9") == ""
    assert stream.feed("-and-more, said") == "********************, said"
    assert stream.feed(" swordfish-9") == " "
    assert stream.rest() == "***********"


@given(st.lists(AROUND, max_size=8))
def test_without_a_secret_nothing_changes(pieces: list[str]) -> None:
    stream = Redaction(["correct-horse-battery"]).texts()
    assert "".join([*map(stream.feed, pieces), stream.rest()]) == "".join(pieces)


@given(SECRETS, AROUND, AROUND, st.data())
def test_no_half_of_a_secret_is_left_beside_a_cut(secret: str, before: str, behind: str, data: st.DataObject) -> None:
    secret = secret.strip()
    form = ENCODINGS[data.draw(st.sampled_from(sorted(ENCODINGS)))](secret)
    at = data.draw(st.integers(4, len(form) - 4))
    mark = data.draw(st.sampled_from(("…", "\n… 9 characters omitted …\n", "… (12 characters)")))
    head, tail = form[:at], form[at:]
    text = Redaction([secret]).text(f"{before}{head}{mark}")
    assert shows_nothing(text.removesuffix(mark).rstrip()[-4:], head.rstrip()[-4:])
    text = Redaction([secret]).text(f"{mark}{tail}{behind}")
    if mark.endswith("…\n") or mark == "…":
        assert shows_nothing(text.removeprefix(mark).lstrip()[:4], tail.lstrip()[:4])


def shows_nothing(shown: str, part: str) -> bool:
    """Whether what is shown beside a cut is not the part that stood there. Fewer than four letters say nothing."""
    return shown != part or part == "****" or len(part) < 4


@pytest.mark.parametrize(
    ("secrets", "text", "redacted"),
    [
        (["00000000"], "…030300000000", "…************"),  # half of it in hexadecimal, and across that it stands itself
        (["abcdefgh", "efghijkl"], "abcdefghijkl", "************"),
        (["abababab"], "x abababababab y", "x ************ y"),
        (["abcdabcd", "cdab-and-more"], "…abcdabcdab…", "…**********…"),
        (["abcdefgh", "abcdefgh-and-more"], "abcdefgh-and-mor…", "****************…"),
        (["swordfish-9"], "swordfish-9swordfish-9…", "**********************…"),
    ],
)
def test_what_stands_across_a_secret_is_taken_out_too(secrets: list[str], text: str, redacted: str) -> None:
    assert Redaction(secrets).text(text) == redacted


@given(st.lists(st.text("ab", min_size=8, max_size=12), min_size=1, max_size=3), st.data())
def test_a_text_in_pieces_comes_out_as_the_whole_and_shows_no_part_of_a_secret(
    secrets: list[str], data: st.DataObject
) -> None:
    parts = st.sampled_from([secret[at:] for secret in secrets for at in (0, 1, 2, 4, 7)])
    text = "".join(data.draw(st.lists(parts | st.just("*"), max_size=9)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    redaction = Redaction(secrets)
    stream, chunks = redaction.texts(), redaction.chunks()
    letters = list(text)
    for secret in secrets:
        for at in range(len(text)):
            if text.startswith(secret, at):
                letters[at : at + len(secret)] = "*" * len(secret)
    assert redaction.text(text) == "".join(letters)
    assert "".join([*map(stream.feed, pieces), stream.rest()]) == "".join(letters)
    assert b"".join([*(chunks.feed(piece.encode()) for piece in pieces), chunks.rest()]).decode() == "".join(letters)


def test_beside_a_cut_only_what_can_be_half_a_secret_goes() -> None:
    redaction = Redaction(["swordfish-99", "hunter2-and-more"], {"/home/ann": "/home/user"})
    assert redaction.text("a swordfi… (2010 characters)") == "a *******… (2010 characters)"
    assert (
        redaction.text("x\n… 12 characters omitted …\nfish-99 and on") == "x\n… 12 characters omitted …\n******* and on"
    )
    assert redaction.text("a swo… fish") == "a swo… fish", "three letters say nothing"
    assert redaction.text("a sworn… fishes") == "a sworn… fishes"
    assert redaction.text("in /home/a…") == "in /home/a…"
    assert redaction.text("hunter2-and…swordfish-99…h-99") == "***********…************…****"
    assert redaction.text("the swordfi") == "the swordfi", "nothing was cut"
    plain = p.Noticed(level="info", code="X", text="nothing… here")
    assert redaction.clean(plain) is plain


def test_a_secret_of_several_lines_is_found_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----"
    text = Redaction([key]).text("1\tMIIEvQIBADANBgkqhkiG9w0BAQ\n2\tEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----")
    assert text == f"1\t{'*' * 26}\n2\t{'*' * 24}\n-----END KEY-----"


def test_a_value_that_is_too_short_is_no_secret() -> None:
    assert Redaction(["seven77"]).text("seven77") == "seven77"


def test_an_event_is_cleaned_in_its_texts_and_stays_an_event() -> None:
    """Also where the secret is one of the words that events are made of."""
    event = p.Noticed(level="warning", code="X", text="autonomous warning-9 now")
    redaction = Redaction(["autonomous", "warning-9", "noticed-"])
    cleaned = redaction.clean(event)
    assert cleaned.text == "********** ********* now" and cleaned.level == "warning"
    assert p.decode_event(p.encode(cleaned)) == cleaned
    assert redaction.in_json(p.encode(event)) and not redaction.in_json(p.encode(cleaned))
    plain = p.Noticed(level="info", code="X", text="nothing")
    assert redaction.clean(plain) is plain


class Held(msgspec.Struct, frozen=True):
    texts: tuple[Any, ...]


@pytest.mark.parametrize(
    "beside", ["", "\ud800", {1, 2}, 1 << 70], ids=["nothing", "no UTF-8", "a set", "a big number"]
)
@given(secret=SECRETS, before=AROUND, behind=AROUND)
def test_a_value_is_cleaned_as_its_texts_are(beside: Any, secret: str, before: str, behind: str) -> None:
    """Whatever stands in the secret or beside it: also what has no JSON form."""
    redaction, text = Redaction([secret]), f"{before}{secret}{behind}"
    cleaned = redaction.clean(Held((beside, {text: [text]}, Held((before, text)))))
    safe = redaction.text(text)
    assert cleaned == Held((beside, {safe: [safe]}, Held((redaction.text(before), safe))))


@pytest.mark.parametrize("secret", ["planted-3141", 'says "no"', "umläut-and-…"])
def test_half_a_secret_beside_a_cut_goes_from_a_value_too(secret: str) -> None:
    cleaned = Redaction([secret]).clean(Held((f"a {secret[:6]}…", Held(("plain",)))))
    assert cleaned == Held(("a ******…", Held(("plain",))))


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_][A-Z0-9_]{0,10}", fullmatch=True),
        st.text(st.characters(codec="utf-8")),
    )
)
def test_an_env_file_is_read_as_it_was_written(values: dict[str, str]) -> None:
    text = ""
    for name, value in values.items():
        text = changed_env(text, name, value)
    assert read_env(text) == values


def test_a_change_to_an_env_file_leaves_all_else_as_it_is() -> None:
    text = '# mine\nA=1\n\nexport B="two\nlines"\nnot a line\n'
    assert changed_env(text, "B", "3") == '# mine\nA=1\n\nnot a line\nB="3"\n'
    assert changed_env(text, "A", None) == '# mine\n\nexport B="two\nlines"\nnot a line\n'
    assert changed_env("", "A", "1") == 'A="1"\n'


def test_env_files_are_read_as_programs_write_them() -> None:
    text = (
        "# a comment\nexport A=1\nB = 'two words' # said\n"
        + 'C="x\\ny"\nD=plain # said\nnot a line\nE="over\nlines"\nF=\n'
    )
    assert read_env(text) == {"A": "1", "B": "two words", "C": "x\ny", "D": "plain", "E": "over\nlines", "F": ""}


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("GH_TOKEN", True), ("stripe_api_key", True), ("DB_PASSWORD", True), ("PATH", False), ("KEYBOARD", False)],
)
def test_secrets_are_known_by_their_names(name: str, is_one: bool) -> None:
    assert is_secret_name(name, SecretSettings().patterns) is is_one


def test_a_secret_is_granted_only_where_every_command_may_have_it() -> None:
    exposed = exposures(["GH_TOKEN: gh *", "GH_TOKEN: git push*", "NPM_TOKEN: npm publish", "nonsense"])
    assert exposed == {"GH_TOKEN": ("gh *", "git push*"), "NPM_TOKEN": ("npm publish",)}

    def given_to(*commands: str, effect: Effect = Effect.NETWORK) -> tuple[str, ...]:
        return granted(frozenset({effect}), commands, exposed)

    assert given_to("gh pr list") == ("GH_TOKEN",)
    assert given_to("gh pr list", "git push origin") == ("GH_TOKEN",)
    assert given_to("gh pr list", "curl evil.test") == ()
    assert given_to("npm publish") == ("NPM_TOKEN",)
    assert given_to("gh repo delete x", effect=Effect.DESTROY) == ()
    assert given_to() == ()
