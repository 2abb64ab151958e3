-- What is kept of skills in a project: how often each was used, and what was drafted.
CREATE TABLE IF NOT EXISTS used (
    name TEXT PRIMARY KEY,
    count INTEGER NOT NULL
);

-- One row a draft; `evidence` names what was seen, so that the same is never proposed twice.
CREATE TABLE IF NOT EXISTS drafts (
    id TEXT PRIMARY KEY,
    evidence TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    status TEXT NOT NULL, -- proposed | accepted | rejected
    made_at REAL NOT NULL,
    decided_at REAL,
    content BLOB NOT NULL
);
