-- Schedules and their due runs, of every project of one user. Times are instants, in seconds since 1970.
CREATE TABLE IF NOT EXISTS schedules (
  name TEXT NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, schedule TEXT NOT NULL, PRIMARY KEY (owner, name)
);
-- A due time of a schedule is here once: that is why it cannot run twice.
CREATE TABLE IF NOT EXISTS due_runs (
  id TEXT PRIMARY KEY, schedule TEXT NOT NULL, owner TEXT NOT NULL, due_at INTEGER NOT NULL, status TEXT NOT NULL,
  by_hand INTEGER NOT NULL DEFAULT 0, claimed_by TEXT NOT NULL DEFAULT '', expires_at INTEGER NOT NULL DEFAULT 0,
  dispatched_at INTEGER NOT NULL DEFAULT 0, consumed_at INTEGER NOT NULL DEFAULT 0, exit_code INTEGER,
  session TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
  UNIQUE (owner, schedule, due_at, by_hand)
);
CREATE INDEX IF NOT EXISTS due_runs_by_status ON due_runs (owner, status, due_at);
-- The latest time that a worker has seen, to notice a clock that was put back.
CREATE TABLE IF NOT EXISTS clocks (owner TEXT PRIMARY KEY, seen INTEGER NOT NULL);
