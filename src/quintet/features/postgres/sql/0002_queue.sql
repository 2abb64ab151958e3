-- Tasks are brought to workers of several machines; the tables of the queue itself are procrastinate's own.

CREATE TABLE queue_schema (
  migration text COLLATE "C" PRIMARY KEY,   -- the newest of procrastinate's that is in force
  applied   timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE task_branches ADD COLUMN pushed text NOT NULL DEFAULT '';
ALTER TABLE task_branches ADD COLUMN machine text NOT NULL DEFAULT '';

-- Which tasks a task that is done was waited for by.
CREATE INDEX tasks_by_need ON tasks USING gin ((coalesce(dependency_blockers, '[]')::jsonb) jsonb_path_ops);
CREATE INDEX task_waits_by_holder ON task_waits (project, waits_for);
