-- Sessions, their inbox, their journal, and the questions they wait on.

CREATE TABLE sessions (
  id            TEXT PRIMARY KEY,
  created       TEXT NOT NULL,
  updated       TEXT NOT NULL,
  parent        TEXT NOT NULL DEFAULT '',   -- the session this one was forked from
  forked_after  INTEGER NOT NULL DEFAULT 0, -- the parent's last event that belongs to this one too
  title         TEXT NOT NULL DEFAULT '',
  summary       TEXT NOT NULL,              -- what `status` shows, as of the last event
  owner         TEXT NOT NULL DEFAULT '',   -- lease: who, which process, until when
  owner_pid     INTEGER NOT NULL DEFAULT 0,
  owner_started TEXT NOT NULL DEFAULT '',
  lease_until   REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Append-only. One number names an event in the whole project.
CREATE TABLE journal (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT NOT NULL,
  at      TEXT NOT NULL,
  type    TEXT NOT NULL,
  version INTEGER NOT NULL,
  data    TEXT NOT NULL
);
CREATE INDEX journal_by_session ON journal (session, seq);

-- Submissions not yet consumed; consuming deletes the row in the transaction that writes the resulting events.
CREATE TABLE inbox (
  place   INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL UNIQUE,
  session TEXT NOT NULL,
  at      TEXT NOT NULL,
  data    TEXT NOT NULL
);
CREATE INDEX inbox_by_session ON inbox (session, place);

CREATE TABLE questions (
  id       TEXT PRIMARY KEY,
  session  TEXT NOT NULL,
  asked    TEXT NOT NULL,
  body     TEXT NOT NULL,
  answer   TEXT,                            -- NULL while open; the first answer wins
  answered TEXT
) WITHOUT ROWID;
