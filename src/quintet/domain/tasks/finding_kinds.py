"""The kinds of findings about a project's state, tasks, git, disks and machine: what the doctor's own look finds."""

from __future__ import annotations

from quintet.domain.tasks.drift import DriftKind
from quintet.domain.tasks.health import FindingKind, HealthScope, Severity

I, W, E = Severity  # noqa: E741
STATE, SESSION, TASK, PROJECT, MACHINE, USER = HealthScope

DISK_FULL = FindingKind(
    "DISK_FULL",
    E,
    MACHINE,
    "A disk that Quintet writes to has less room than `doctor.free_bytes`.",
    "Free some space; doctor.free_bytes sets how much is required.",
)
GIT_UNFINISHED = FindingKind(
    "GIT_UNFINISHED",
    E,
    PROJECT,
    "A merge, rebase, cherry-pick or revert was started and not finished.",
    "Finish it, or undo it with --abort, then continue.",
)
RUNTIME_DRIFT = FindingKind(
    "RUNTIME_DRIFT",
    E,
    MACHINE,
    "Quintet was upgraded or edited while this process runs, so parts of two versions would work together.",
    "Leave and run `quintet --resume`, so that everything runs the same version.",
)
PROGRAM_MISSING = FindingKind(
    "PROGRAM_MISSING", E, MACHINE, "Git or ripgrep, which Quintet needs, is not on PATH.", "Install it."
)
TASK_PROGRAM_MISSING = FindingKind(
    "PROGRAM_MISSING",
    W,
    TASK,
    "A task's verification command names a program that is not on PATH.",
    "Install the program, or edit the task.",
)
SANDBOX_WEAK = FindingKind(
    "SANDBOX_WEAK",
    W,
    MACHINE,
    "Bubblewrap is missing or cannot start here, or `sandbox.use` chooses something weaker.",
    "Install bubblewrap, or allow it to start.",
)
PROMPT_REFUSED = FindingKind(
    "PROMPT_REFUSED",
    E,
    PROJECT,
    "A prompt in `.quintet/prompts` cannot be used, for example because it suggests turning a dial.",
    "Change the page, or delete it: until then no session can start here.",
)
PROMPT_UNKNOWN = FindingKind(
    "PROMPT_UNKNOWN",
    W,
    PROJECT,
    "A file in `.quintet/prompts` has the name of no built-in prompt.",
    "Give it the name of a built-in page, or delete it.",
)
PROMPT_OVERRIDDEN = FindingKind(
    "PROMPT_OVERRIDDEN",
    I,
    PROJECT,
    "A prompt in `.quintet/prompts` replaces a built-in one.",
    "This is not an error: delete it to use the built-in one again.",
)
SESSION_LEASE_STALE = FindingKind(
    "SESSION_LEASE_STALE",
    W,
    SESSION,
    "The process that owned a session was killed, so its lease was not released.",
    "release the lease",
    fixable=True,
)
TASK_CLAIM_STALE = FindingKind(
    "TASK_CLAIM_STALE",
    W,
    TASK,
    "The process that worked on a task was killed, so its claim was not released.",
    "release the claim; a task that was running is tried again",
    fixable=True,
)
TASK_MALFORMED = FindingKind(
    "TASK_MALFORMED",
    W,
    TASK,
    "A file in `.quintet/todo` cannot be read as a task.",
    "Fix the page; until then it is ignored.",
)
TASK_FIELD_UNKNOWN = FindingKind(
    "TASK_FIELD_UNKNOWN", I, TASK, "A task's page has a field that Quintet does not know.", "Nothing to do."
)
_DEPENDENCIES = "Edit depends_on in its file."
TASK_ORDER = {  # of tasks that are there: two of one id cannot be
    "unknown": FindingKind(
        "TASK_UNKNOWN", E, TASK, "A task depends on one that does not exist or was cancelled.", _DEPENDENCIES
    ),
    "cycle": FindingKind("TASK_CYCLE", E, TASK, "Tasks depend on each other in a circle.", _DEPENDENCIES),
}
TASK_DRIFT = {
    DriftKind.FILE_WITHOUT_ROW: FindingKind(
        "TASK_FILE_WITHOUT_ROW",
        W,
        TASK,
        "You put a page into `.quintet/todo`, or a process was killed while it added a task.",
        "add it as the task it describes, with the status of its folder",
        fixable=True,
    ),
    DriftKind.ROW_WITHOUT_FILE: FindingKind(
        "TASK_ROW_WITHOUT_FILE",
        W,
        TASK,
        "The page of a task was deleted.",
        "write the file again, as Quintet last read it",
        fixable=True,
    ),
    DriftKind.WRONG_FOLDER: FindingKind(
        "TASK_WRONG_FOLDER",
        W,
        TASK,
        "You moved the page of a task, or a process was killed while it moved a task.",
        "move the file to the folder for its task's status",
        fixable=True,
    ),
    DriftKind.EDITED_ID: FindingKind(
        "TASK_EDITED_ID",
        W,
        TASK,
        "The id in a task's page was edited.",
        "write the task's id into its file again",
        fixable=True,
    ),
    DriftKind.SECOND_FILE: FindingKind(
        "TASK_SECOND_FILE",
        W,
        TASK,
        "Two pages have the id of one task, for example after a copy.",
        "Give it another id, or delete it.",
    ),
}
_ASIDE = "Move state.db away; a new session starts with an empty one."
STORE = {
    "STORE_DAMAGED": FindingKind(
        "STORE_DAMAGED", E, STATE, "The project's database is damaged, for example after a disk error.", _ASIDE
    ),
    "STORE_NEWER": FindingKind(
        "STORE_NEWER", E, STATE, "A newer Quintet wrote the project's database.", "Upgrade Quintet."
    ),
    "STORE_UNWRITABLE": FindingKind(
        "STORE_UNWRITABLE",
        E,
        STATE,
        "The project's database or its folder cannot be written or read.",
        "Give yourself the right to write there.",
    ),
    "STORE_UNREACHABLE": FindingKind(
        "STORE_UNREACHABLE",
        E,
        STATE,
        "The shared database does not answer.",
        "Start it, or correct its URL: quintet database status",
    ),
    "STORE_OLDER": FindingKind(
        "STORE_OLDER", E, STATE, "The shared database has an older schema.", "quintet database migrate"
    ),
    "STORE_FAILED": FindingKind(
        "STORE_FAILED", E, STATE, "The project's database cannot be used.", "See the finding's message."
    ),
}
CHECK_BROKEN = FindingKind(
    "CHECK_BROKEN",
    W,
    MACHINE,
    "A check itself failed.",
    "The other findings of the doctor are valid. Report this to the author of the check.",
)
KINDS: tuple[FindingKind, ...] = (
    *STORE.values(),
    DISK_FULL,
    GIT_UNFINISHED,
    RUNTIME_DRIFT,
    PROGRAM_MISSING,
    TASK_PROGRAM_MISSING,
    SANDBOX_WEAK,
    PROMPT_REFUSED,
    PROMPT_UNKNOWN,
    PROMPT_OVERRIDDEN,
    SESSION_LEASE_STALE,
    TASK_CLAIM_STALE,
    *TASK_DRIFT.values(),
    TASK_MALFORMED,
    TASK_FIELD_UNKNOWN,
    *TASK_ORDER.values(),
    CHECK_BROKEN,
)
