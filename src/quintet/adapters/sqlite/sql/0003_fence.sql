-- A lease has a number that rises with every taking; a write that does not carry the newest one is refused.
ALTER TABLE sessions ADD COLUMN lease_number INTEGER NOT NULL DEFAULT 0;

-- `owner_started` is the identity of the process from here on, and `lease_until` is on the machine's own clock; nobody
-- is at work while a schema changes, so what an older Quintet left there has lapsed.
UPDATE sessions SET lease_until = 0;
UPDATE task_runtime SET lease_until = 0;

-- Every submission that was accepted, so that one that is sent again with the same id is the same one.
CREATE TABLE submissions (
  id      TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  after   INTEGER NOT NULL,                 -- the session's last event before it
  digest  TEXT NOT NULL                     -- of what was said
) WITHOUT ROWID;
