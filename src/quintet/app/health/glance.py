"""A glance at a project's health, for `status`: it loads little and starts nothing."""

from __future__ import annotations

from quintet.adapters.files.paths import Places
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.tasks.health_probe import ProjectHealth
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.health import Finding
from quintet.engine.cycle.doctor_checks import DoctorChecks


def glanced(places: Places, settings: Settings) -> list[Finding]:
    """What is wrong with the project's state, tasks, disks and git, as far as a glance shows."""
    probe = ProjectHealth(places, parts=list)
    return DoctorChecks(probe, settings.doctor.free_bytes, SystemClock(), process_identity).glance()
