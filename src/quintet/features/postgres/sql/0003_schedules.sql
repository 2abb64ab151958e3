-- What is declared in a file can be claimed, and schedules belong to the project: any machine runs what is due.

ALTER TABLE path_claims ADD COLUMN symbol  text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE path_claims ADD COLUMN content text COLLATE "C" NOT NULL DEFAULT '';

-- Their statements are those of the file that one machine has: `owner` is the project's number.
CREATE TABLE schedules (
  owner    text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL,
  state    text COLLATE "C" NOT NULL,
  schedule text NOT NULL,
  project  integer GENERATED ALWAYS AS (owner::integer) STORED REFERENCES projects (id),
  PRIMARY KEY (owner, name)
);

-- A due time of a schedule is here once: that is why it cannot run twice.
CREATE TABLE due_runs (
  id            text COLLATE "C" PRIMARY KEY,
  schedule      text COLLATE "C" NOT NULL,
  owner         text COLLATE "C" NOT NULL,
  due_at        bigint NOT NULL,
  status        text COLLATE "C" NOT NULL,
  by_hand       integer NOT NULL DEFAULT 0,
  claimed_by    text NOT NULL DEFAULT '',
  expires_at    bigint NOT NULL DEFAULT 0,
  dispatched_at bigint NOT NULL DEFAULT 0,
  consumed_at   bigint NOT NULL DEFAULT 0,
  exit_code     integer,
  session       text NOT NULL DEFAULT '',
  result        text NOT NULL DEFAULT '',
  reason        text NOT NULL DEFAULT '',
  project       integer GENERATED ALWAYS AS (owner::integer) STORED REFERENCES projects (id),
  UNIQUE (owner, schedule, due_at, by_hand)
);
CREATE INDEX due_runs_by_status ON due_runs (owner, status, due_at);

CREATE TABLE clocks (
  owner   text COLLATE "C" PRIMARY KEY,
  seen    bigint NOT NULL,
  project integer GENERATED ALWAYS AS (owner::integer) STORED REFERENCES projects (id)
);
