"""What each value of a dial means, in a few words: for surfaces that show the values to choose from."""

from __future__ import annotations

from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode

NAMES = {"mode": "Mode", "control": "Control", "permission-profile": "Profile", "model-mode": "Model mode"}
MEANINGS: dict[str, str] = {
    WorkMode.CHAT: "Talk and read; each change needs approval",
    WorkMode.PLAN: "An input becomes a plan of tasks that you accept",
    WorkMode.BUILD: "Change files, run tests, as the profile allows",
    WorkMode.REVIEW: "Review changes and write a report; nothing is changed",
    WorkMode.REPAIR: "Fix the problems that the doctor finds",
    WorkMode.RESEARCH: "Research a question and write a report; nothing is changed",
    RunControl.MANUAL: "You approve each step",
    RunControl.ASSISTED: "It works through one input, then you decide",
    RunControl.AUTONOMOUS: "It continues until the work is delivered or a limit ends it",
    PermissionProfile.RESTRICTED: "Reading only, without approval",
    PermissionProfile.NORMAL: "Edits and commands in the sandbox",
    PermissionProfile.TRUSTED: "Also builds, installs and commits",
    PermissionProfile.UNRESTRICTED: "Everything except what always needs approval",
    ModelMode.FAST: "The fast model",
    ModelMode.SMART: "The usual model",
    ModelMode.DEEP: "The strongest model",
}
