-- Workers: a number for each taking of a task, what they will change, who waits for whom, and where their work lies.

ALTER TABLE tasks ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;         -- the newest number that was given
ALTER TABLE task_runtime ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;  -- the holder's

-- A process that does tasks. Its row stays when it has ended: what it cost counts for the day.
CREATE TABLE workers (
  id            TEXT PRIMARY KEY,
  run           TEXT NOT NULL,             -- of the command that started it
  process_pid   INTEGER NOT NULL,
  owner_started TEXT NOT NULL,
  lease_until   REAL NOT NULL,
  began         TEXT NOT NULL,
  heartbeat     TEXT NOT NULL,
  state         TEXT NOT NULL,             -- idle | working | integrating | stopping | ended
  task          TEXT NOT NULL,
  done          INTEGER NOT NULL,          -- tasks
  cost          REAL NOT NULL,
  said          TEXT NOT NULL
) WITHOUT ROWID;

-- What a task that is at work has claimed. It goes with the claim on the task.
CREATE TABLE path_claims (
  task_id    TEXT NOT NULL REFERENCES tasks (id),
  path       TEXT NOT NULL,
  first_line INTEGER NOT NULL,             -- 0: all of it
  last_line  INTEGER NOT NULL,
  PRIMARY KEY (task_id, path, first_line, last_line)
) WITHOUT ROWID;

CREATE TABLE task_waits (
  task_id   TEXT NOT NULL REFERENCES tasks (id),
  waits_for TEXT NOT NULL,
  path      TEXT NOT NULL,                 -- what both want
  since     TEXT NOT NULL,
  PRIMARY KEY (task_id, waits_for)
) WITHOUT ROWID;

-- Where the work of a task lies until it is integrated.
CREATE TABLE task_branches (
  task_id  TEXT PRIMARY KEY REFERENCES tasks (id),
  branch   TEXT NOT NULL,
  worktree TEXT NOT NULL,
  target   TEXT NOT NULL,
  base     TEXT NOT NULL,                  -- the commit that it began from
  state    TEXT NOT NULL,                  -- working | later | kept
  said     TEXT NOT NULL
) WITHOUT ROWID;
