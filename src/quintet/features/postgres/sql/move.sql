-- What a move reads and writes of the journal, by name.

-- name: unhurried
-- One side waits, with its project locked, while the other is compared.
SELECT set_config('idle_in_transaction_session_timeout', '0', false)

-- name: events
SELECT seq, session, at, type, version, data, contents FROM journal
WHERE project = :project AND seq > ?1 ORDER BY seq LIMIT ?2

-- name: add_event
WITH counted AS (UPDATE projects SET last_seq = greatest(last_seq, ?1::bigint) WHERE id = :project)
INSERT INTO journal (project, seq, session, at, type, version, data, contents)
VALUES (:project, ?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: claimed
SELECT 'session ' || id FROM sessions WHERE project = :project AND owner <> ''
UNION SELECT 'task ' || task_id FROM task_runtime WHERE project = :project
