-- Durable tasks. What a task is, its file says (`text` is a copy of that); where it stands, its row says.

CREATE TABLE tasks (
  id                  TEXT PRIMARY KEY,
  work_mode           TEXT NOT NULL,       -- the axes it was made under
  run_control         TEXT NOT NULL,
  permission_profile  TEXT NOT NULL,
  model_mode          TEXT NOT NULL,
  surface             TEXT NOT NULL,
  status              TEXT NOT NULL,       -- todo | running | verifying | reviewing | done | blocked | paused | failed | cancelled | retrying
  dependency_blockers TEXT,                -- JSON array of task ids
  retry_count         INTEGER NOT NULL DEFAULT 0,
  max_retries         INTEGER NOT NULL DEFAULT 3,
  checkpoint_ref      TEXT,
  cost_budget         REAL,                -- NULL: none of its own
  cost_spent          REAL NOT NULL DEFAULT 0,
  created_at          TEXT,
  started_at          TEXT,
  completed_at        TEXT,
  next_action_at      TEXT,
  intent_claim        TEXT,                -- what it will change, as its file spells it
  milestone           TEXT,
  text                TEXT NOT NULL,       -- JSON of what its file says
  path                TEXT NOT NULL,       -- of its file, relative to the todo folder; absolute once it is cancelled
  stamp               TEXT NOT NULL        -- of that file when its text was read
) WITHOUT ROWID;

-- When a task is due and who was given it, apart from where it stands.
CREATE TABLE task_scheduler (
  task_id       TEXT PRIMARY KEY REFERENCES tasks (id),
  status        TEXT NOT NULL,             -- queued | due | claimed | dispatched | consumed | expired
  due_at        TEXT,
  claimed_by    TEXT,
  dispatched_at TEXT,
  consumed_at   TEXT,
  expires_at    TEXT
) WITHOUT ROWID;

-- Who works at a task now: a lease with a heartbeat, by the rules of a session's.
CREATE TABLE task_runtime (
  task_id               TEXT PRIMARY KEY REFERENCES tasks (id),
  process_pid           INTEGER,
  worktree_path         TEXT,
  current_model         TEXT,
  context_usage_percent REAL,
  last_heartbeat_at     TEXT,
  owner                 TEXT NOT NULL,
  owner_started         TEXT NOT NULL,
  lease_until           REAL NOT NULL
) WITHOUT ROWID;

-- Append-only. A task's first row has no from_status.
CREATE TABLE task_transitions (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id     TEXT NOT NULL,
  from_status TEXT NOT NULL,
  to_status   TEXT NOT NULL,
  reason      TEXT,
  scope       TEXT,
  timestamp   TEXT NOT NULL
);
CREATE INDEX task_transitions_by_task ON task_transitions (task_id, id);
