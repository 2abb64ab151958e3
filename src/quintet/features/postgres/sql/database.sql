-- What concerns the database and the project as a whole, by name.

-- name: limits
-- And what is acknowledged is on disk, also where the server would rather not wait for it.
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
    ELSE current_setting('synchronous_commit') END, false),
  set_config('statement_timeout', '30s', false), set_config('lock_timeout', '10s', false),
  set_config('idle_in_transaction_session_timeout', '60s', false)

-- name: has_schema
SELECT to_regclass('quintet_schema') IS NOT NULL

-- name: version
SELECT coalesce(max(version), 0) FROM quintet_schema

-- name: set_version
INSERT INTO quintet_schema (version, program) VALUES (?1, ?2)

-- name: migrating
-- One at a time, whoever calls.
SELECT pg_advisory_xact_lock(hashtextextended('quintet schema', 0))

-- name: project
SELECT id FROM projects WHERE name = ?1

-- name: add_project
INSERT INTO projects (name) VALUES (?1) ON CONFLICT (name) DO NOTHING

-- name: lock_project
SELECT id FROM projects WHERE id = :project FOR UPDATE

-- name: told
SELECT pg_notify('quintet', :project::text)

-- name: clock
SELECT extract(epoch FROM clock_timestamp())::float8

-- name: wrote
INSERT INTO writes (project, writer, number) VALUES (:project, ?1, ?2)
ON CONFLICT (project, writer) DO UPDATE SET number = excluded.number, at = now()

-- name: written
SELECT number FROM writes WHERE project = :project AND writer = ?1

-- name: forget_writer
DELETE FROM writes WHERE project = :project AND writer = ?1

-- name: forget_writers
DELETE FROM writes WHERE project = :project AND at < now() - interval '2 days'

-- name: newest
SELECT last_seq, (SELECT max(place) FROM inbox WHERE project = :project) FROM projects WHERE id = :project

-- name: live_owners
SELECT projects.name, sessions.id, sessions.machine, sessions.owner_pid FROM sessions
JOIN projects ON projects.id = sessions.project
WHERE owner <> '' AND lease_until > extract(epoch FROM clock_timestamp())::float8

-- name: counts
SELECT projects.name,
  (SELECT count(*) FROM sessions WHERE project = projects.id),
  (SELECT count(*) FROM journal WHERE project = projects.id),
  (SELECT count(*) FROM tasks WHERE project = projects.id),
  (SELECT count(*) FROM inbox WHERE project = projects.id),
  (SELECT count(*) FROM questions WHERE project = projects.id AND answer IS NULL)
FROM projects ORDER BY projects.name

-- name: server
SELECT current_setting('server_version'), current_database(), current_user, pg_database_size(current_database())
