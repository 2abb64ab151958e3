"""`quintet secrets`: names and places, never a value; kept in a file of one's own or in a keyring."""

import os
import stat
from pathlib import Path

import pytest

from tests.surfaces.program import Program

VALUE = "a-value-nobody-sees"
# A keyring as the library wants one, in a file.
KEYRING = """\
import json, os
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

class FileKeyring(KeyringBackend):
    priority = 9
    path = os.path.join(os.environ["HOME"], "ring.json")

    def _all(self):
        return json.load(open(self.path)) if os.path.exists(self.path) else {}

    def _keep(self, all):
        with open(self.path, "w") as file:
            json.dump(all, file)

    def get_password(self, service, username):
        return self._all().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        self._keep({**self._all(), f"{service}/{username}": password})

    def delete_password(self, service, username):
        if f"{service}/{username}" not in self._all():
            raise PasswordDeleteError
        self._keep({key: value for key, value in self._all().items() if key != f"{service}/{username}"})
"""


def test_a_secret_is_set_listed_and_removed_and_its_value_never_shown(quintet: Program, tmp_path: Path) -> None:
    done = quintet.run("secrets", "set", "DEPLOY_TOKEN", "--file", stdin=f"{VALUE}\n").clean(0)
    kept = tmp_path / "config/quintet/.env"
    assert done.out == f"DEPLOY_TOKEN is stored in {kept}\n"
    assert kept.read_text() == f'DEPLOY_TOKEN="{VALUE}"\n' and stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    expose = {"EXTRA_KEY": "short"}
    listed = quintet.run("secrets", "list", **expose).clean(0)
    assert [line.split() for line in listed.out.splitlines()] == [
        ["NAME", "FROM", "HIDDEN", "EXPOSED", "TO"],
        ["DEPLOY_TOKEN", str(kept), "yes", "no", "command"],
        ["EXTRA_KEY", "environment", "too", "short", "no", "command"],
    ]
    assert quintet.run("secrets", "--json").clean(0).json() == [
        {"name": "DEPLOY_TOKEN", "source": str(kept), "exposed": [], "redacted": True}
    ]
    called = quintet.run("tools", "call", "list_secrets").clean(0)
    assert f"DEPLOY_TOKEN  from {kept}  exposed to no command" in called.out
    assert all(VALUE not in text for text in (listed.out, called.out, done.out))
    assert "DEPLOY_TOKEN was removed" in quintet.run("secrets", "remove", "DEPLOY_TOKEN").clean(0).out
    assert "no secrets found" in quintet.run("secrets", "list").clean(0).out


def test_what_is_kept_is_kept_back_and_given_where_the_user_says(quintet: Program, tmp_path: Path) -> None:
    quintet.run("secrets", "set", "DEPLOY_TOKEN", "--file", stdin=VALUE).clean(0)
    (tmp_path / "config/quintet/settings.toml").write_text('[secrets]\nexpose = ["DEPLOY_TOKEN: printenv *"]\n')
    args = '{"command": "printenv DEPLOY_TOKEN"}'
    done = quintet.run("tools", "call", "bash", "--args", args).clean(0)
    assert done.out.startswith("*" * len(VALUE)) and VALUE not in done.out
    told = quintet.run("permit", "--tool", "bash", "--args", args, "--json").clean(0).json()
    assert told["grant"]["secrets"] == ["DEPLOY_TOKEN"]
    assert "printenv *" in quintet.run("secrets").clean(0).out


def test_a_file_of_secrets_is_changed_and_nothing_in_it_is_lost(quintet: Program, tmp_path: Path) -> None:
    kept = tmp_path / "config/quintet/.env"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("# of the shop\nSHOP_KEY=old-and-long-enough\n")
    quintet.run("secrets", "set", "DEPLOY_TOKEN", "--file", stdin=VALUE).clean(0)
    assert kept.read_text() == f'# of the shop\nSHOP_KEY=old-and-long-enough\nDEPLOY_TOKEN="{VALUE}"\n'
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
    odd = b"SHOP_KEY=caf\xe9-and-long-enough\n"  # of an editor that does not write UTF-8
    kept.write_bytes(odd)
    quintet.run("secrets", "set", "DEPLOY_TOKEN", "--file", stdin=VALUE).clean(0)
    assert kept.read_bytes() == odd + f'DEPLOY_TOKEN="{VALUE}"\n'.encode()
    assert len(quintet.run("secrets", "list", "--json").clean(0).json()) == 2
    kept.unlink()
    kept.mkdir()
    for words in (("set", "DEPLOY_TOKEN", "--file"), ("remove", "SHOP_KEY")):
        assert f"{kept}: cannot be read (Is a directory)" in quintet.run("secrets", *words, stdin=VALUE).clean(2).err


def test_a_keyring_keeps_them_where_there_is_one(quintet: Program, tmp_path: Path) -> None:
    pytest.importorskip("keyring", reason="needs the extra quintet[keyring]")
    (tmp_path / "ring").mkdir()
    (tmp_path / "ring/ours.py").write_text(KEYRING)
    ring = {"PYTHON_KEYRING_BACKEND": "ours.FileKeyring", "PYTHONPATH": str(tmp_path / "ring")}
    quintet.run("secrets", "set", "SHOP_KEY", "--file", stdin="old-and-in-a-file", **ring).clean(0)
    assert (
        quintet.run("secrets", "set", "SHOP_KEY", stdin=VALUE, **ring).clean(0).out == "SHOP_KEY is stored in keyring\n"
    )
    assert (tmp_path / "config/quintet/.env").read_text() == "", "it is in one place only"
    (listed,) = quintet.run("secrets", "list", "--json", **ring).clean(0).json()
    assert (listed["name"], listed["source"]) == ("SHOP_KEY", "keyring")
    done = quintet.run("tools", "call", "bash", "--args", f'{{"command": "echo {VALUE}"}}', **ring)
    assert VALUE not in done.out
    assert quintet.run("secrets", "remove", "SHOP_KEY", **ring).clean(0).out == "SHOP_KEY was removed from keyring\n"
    assert VALUE not in (tmp_path / "home/ring.json").read_text()


def test_without_a_keyring_one_that_is_asked_for_is_refused_with_the_way_out(quintet: Program) -> None:
    done = quintet.run(
        "secrets", "set", "X_KEY", "--keyring", stdin=VALUE, PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring"
    )
    assert done.clean(2).err.endswith("--file keeps it in a file that only you may read\n")


@pytest.mark.parametrize(
    ("arguments", "typed", "words"),
    [
        (("set", "BAD-NAME"), VALUE, "not a variable name"),
        (("set", "X_KEY"), "", "a value of 1 to"),
        (("remove", "X_KEY"), "", "no secret X_KEY is stored here"),
        (("steal", "X_KEY"), "", "not one of list, set, remove"),
    ],
)
def test_what_cannot_be_done_is_said(quintet: Program, arguments: tuple[str, ...], typed: str, words: str) -> None:
    done = quintet.run("secrets", *arguments, stdin=typed)
    assert done.code in (1, 2) and words in done.err
