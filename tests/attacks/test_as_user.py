"""The strongest attacks on the sandbox once more, by a user without rights, who lays mounts by other rights."""

import os
import subprocess
import tempfile

import pytest

from tests.attacks.hatchery import somebody
from tests.places import ROOT, TEMPORARY

AGAIN = {
    "test_links": "never_bound_through and execute and bwrap",
    "test_sandbox_reach": "bwrap and execute and planted_git_file or not_for_programs or around_a_wall and bwrap",
    "test_installed_inside": "walls_are_not_put_up",
}


@pytest.mark.system("bwrap")
@pytest.mark.skipif(os.getuid() != 0, reason="this user is the one")
def test_the_same_holds_for_a_user_without_rights() -> None:
    user = somebody()
    if isinstance(user, str):
        pytest.skip(user)
    with tempfile.TemporaryDirectory(prefix="quintet-as-user-", dir=TEMPORARY) as folder:
        os.chown(folder, user.uid, user.uid)
        chosen = " or ".join(f"{file} and ({names})" for file, names in AGAIN.items())
        words = ("-m", "pytest", "-rA", f"--basetemp={folder}/pytest", "-k", chosen)
        done = subprocess.run(
            (*user.python, *words, *(f"tests/attacks/{file}.py" for file in AGAIN)),
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
    assert "SKIPPED" not in done.stdout
    assert [file for file in AGAIN if f"PASSED tests/attacks/{file}.py" not in done.stdout] == []
