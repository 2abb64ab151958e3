"""The timer: units as systemd reads them, or the line for cron."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from quintet.domain.base.errors import QuintetError
from quintet.features.schedule.install import TimerHost, cron_line, installed, uninstalled, units

ODD = '/home/a b/50%/$x"y/python'


def host(folder: Path, said: list[str], *, systemd: bool = True, problem: str = "") -> TimerHost:
    def systemctl(*words: str) -> str:
        said.append(" ".join(words))
        return problem

    environment = {"PATH": "/usr/bin:/o dd", "XDG_STATE_HOME": "/s"}
    return TimerHost(systemd, str(folder / "units"), ODD, environment, systemctl)


def test_the_units_are_written_switched_on_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    one = host(tmp_path, said)
    assert installed(one, as_json=True) == 0
    written = json.loads(capsys.readouterr().out)["files"]
    assert [os.path.basename(path) for path in written] == ["quintet-schedule.service", "quintet-schedule.timer"]
    assert said == ["daemon-reload", "enable --now quintet-schedule.timer"]
    assert installed(one, as_json=False) == 0  # again
    assert uninstalled(one, as_json=False) == 0
    assert os.listdir(one.folder) == [] and said[-2:] == ["disable --now quintet-schedule.timer", "daemon-reload"]
    assert uninstalled(one, as_json=False) == 0
    assert "There is no timer" in capsys.readouterr().out


def test_odd_paths_are_quoted_for_systemd(tmp_path: Path) -> None:
    service = units(host(tmp_path, []))["quintet-schedule.service"]
    assert 'ExecStart="/home/a b/50%%/$$x\\"y/python" "-P" "-m" "quintet" "schedule" "work" "--once"\n' in service
    assert 'Environment="PATH=/usr/bin:/o dd"\n' in service and "Type=oneshot" in service


def test_what_systemctl_says_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(QuintetError, match="no bus") as raised:
        installed(host(tmp_path, [], problem="no bus"), as_json=False)
    assert "systemctl --user daemon-reload" in (raised.value.hint or "")


def test_the_line_for_cron_runs_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    one = host(tmp_path, said, systemd=False)
    assert installed(one, as_json=False) == 0
    assert cron_line(one) in capsys.readouterr().out and said == [] and not os.path.exists(one.folder)
    assert installed(one, as_json=True) == 0
    line = json.loads(capsys.readouterr().out)["cron"]
    assert line.startswith("* * * * * ") and "%" not in line.replace("\\%", "")
    command = line.removeprefix("* * * * * ").replace("\\%", "%").removesuffix(" >/dev/null 2>&1")
    assert shlex.split(command)[2:] == [ODD, "-P", "-m", "quintet", "schedule", "work", "--once"]
    shown = subprocess.run(["sh", "-c", command.replace(shlex.quote(ODD), "/usr/bin/env #")], capture_output=True)
    assert b"XDG_STATE_HOME=/s" in shown.stdout
