"""The strongest attacks on the sandbox once more, by a user without rights, who lays mounts by other rights."""

import os
import subprocess
import tempfile

import pytest

from tests.attacks.hatchery import somebody
from tests.places import ROOT, TEMPORARY

AGAIN = {
    "test_links.py": "never_bound_through and execute and bwrap",
    "test_sandbox_reach.py": "bwrap and execute and planted_git_file or not_for_programs or around_a_wall and bwrap",
    "test_installed_inside.py": "walls_are_not_put_up",
}


@pytest.mark.system("bwrap")
@pytest.mark.skipif(os.getuid() != 0, reason="this user is the one")
@pytest.mark.parametrize("file", AGAIN)
def test_the_same_holds_for_a_user_without_rights(file: str) -> None:
    user = somebody()
    if isinstance(user, str):
        pytest.skip(user)
    with tempfile.TemporaryDirectory(prefix="quintet-as-user-", dir=TEMPORARY) as folder:
        os.chown(folder, user.uid, user.uid)
        words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"--basetemp={folder}/pytest", "-k")
        done = subprocess.run(
            (*user.python, *words, AGAIN[file], f"tests/attacks/{file}"),
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "TMPDIR": folder,
                "PYTHONDONTWRITEBYTECODE": "1",
                **user.env,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
