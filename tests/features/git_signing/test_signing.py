"""Which program and key sign a commit, and what a signed commit is."""

import hashlib

import pytest

from quintet.domain.base.errors import ToolFailed
from quintet.features.git_signing.signing import armored, checked, planned, signed

ROOT, HOME = "/home/u/project", "/home/u"
RAW = b"tree 123\nparent abc\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nsubject\n\nbody\n"


def test_the_program_is_the_users_and_the_key_may_be_the_repositorys() -> None:
    own = (("gpg.program", "/usr/bin/gpg2"), ("user.signingkey", "MINE"))
    theirs = (("gpg.program", "./evil"), ("gpg.openpgp.program", "./evil"), ("user.signingkey", "WORK"))
    plan = planned(own, theirs, ROOT, HOME)
    assert (plan.program, plan.words) == ("/usr/bin/gpg2", ("--status-fd=2", "-bsau", "WORK"))
    assert planned((("user.email", "a@b"), ("user.name", "A")), (), ROOT, HOME).words[-1] == "A <a@b>"
    ssh = planned(
        (("gpg.format", "ssh"), ("user.signingkey", "~/.ssh/id.pub")), (("gpg.ssh.program", "x"),), ROOT, HOME
    )
    assert (ssh.program, ssh.words[-1]) == ("ssh-keygen", "/home/u/.ssh/id.pub")
    literal = planned((("gpg.format", "ssh"), ("user.signingkey", "key::ssh-ed25519 AAAA")), (), ROOT, HOME)
    assert (literal.words[-1], literal.literal) == ("{key}", "ssh-ed25519 AAAA")


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({}, "has no signing key"),
        ({"user.signingkey": "--homedir=/x"}, "has no signing key"),
        ({"gpg.format": "x509", "user.signingkey": "k"}, "x509"),
        ({"gpg.format": "ssh", "user.signingkey": "/home/u/project/key.pub"}, "is in the project"),
        ({"gpg.format": "ssh", "user.signingkey": "~/project/../project/key"}, "is in the project"),
    ],
)
def test_what_is_no_key_of_the_users_signs_nothing(own: dict[str, str], why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        planned((), tuple(own.items()), ROOT, HOME)


def test_a_commit_is_checked_before_it_is_signed() -> None:
    commit = hashlib.sha1(b"commit %d\0%b" % (len(RAW), RAW)).hexdigest()
    checked(RAW, commit, "abc")
    with pytest.raises(ToolFailed, match="a different commit"):
        checked(RAW + b"x", commit, "abc")
    with pytest.raises(ToolFailed, match="moved HEAD"):
        checked(RAW, commit, "def")


def test_the_signature_stands_at_the_end_of_the_head() -> None:
    said = b"noise\n-----BEGIN SSH SIGNATURE-----\nAA\nBB\n-----END SSH SIGNATURE-----\n"
    assert armored(b"nothing") == b""
    whole = signed(RAW, armored(said), "a" * 40)
    head, _, text = whole.partition(b"\n\n")
    assert text == b"subject\n\nbody\n"
    assert head.endswith(b"\ngpgsig -----BEGIN SSH SIGNATURE-----\n AA\n BB\n -----END SSH SIGNATURE-----")
    assert b"\ngpgsig-sha256 " in signed(RAW, armored(said), "a" * 64)
