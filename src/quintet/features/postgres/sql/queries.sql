-- Every statement the store runs, by the names and places that SQLite's have. `:project` is the project's number,
-- `:uptime` this machine's clock of leases, `:machine` its name.

-- name: insert_session
INSERT INTO sessions (project, id, created, updated, parent, forked_after, title, summary)
VALUES (:project, ?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: session_by_id
SELECT id, created, updated, parent, forked_after, title, summary, owner, owner_pid, owner_started,
  :uptime + (lease_until - extract(epoch FROM clock_timestamp())::float8), lease_number, machine
FROM sessions WHERE project = :project AND id = ?1

-- name: sessions_by_prefix
SELECT id FROM sessions WHERE project = :project AND substr(id, 1, length(?1)) = ?1
  AND (strpos(?1, '.') > 0 OR strpos(id, '.') = 0) ORDER BY updated DESC LIMIT 2

-- name: sessions_newest_first
SELECT id, created, updated, parent, forked_after, title, summary, owner, owner_pid, owner_started,
  :uptime + (lease_until - extract(epoch FROM clock_timestamp())::float8), lease_number, machine
FROM sessions WHERE project = :project AND strpos(id, '.') = 0 ORDER BY updated DESC, id DESC LIMIT ?1

-- name: touch_session
UPDATE sessions SET updated = ?1, summary = ?2, title = CASE WHEN title = '' THEN ?3 ELSE title END
WHERE project = :project AND id = ?4 AND (?5::text = '' OR owner = ?5 AND lease_number = ?6)

-- name: take_lease
-- Only from whoever held it when it was looked at: a heartbeat or another taker since then wins. A heartbeat moves the
-- end by seconds; what the clocks of two machines lose between two looks is far less than one.
UPDATE sessions SET owner = ?1, owner_pid = ?2, owner_started = ?3, lease_number = ?5, machine = :machine,
  lease_until = extract(epoch FROM clock_timestamp())::float8 + (?4::float8 - :uptime)
WHERE project = :project AND id = ?6 AND owner = ?7 AND lease_number = ?8 AND lease_number < ?5
  AND lease_until < extract(epoch FROM clock_timestamp())::float8 + (?9::float8 - :uptime) + 1

-- name: renew_lease
UPDATE sessions SET lease_until = extract(epoch FROM clock_timestamp())::float8 + (?1::float8 - :uptime)
WHERE project = :project AND id = ?2 AND owner = ?3 AND lease_number = ?4

-- name: holds_lease
SELECT EXISTS (SELECT 1 FROM sessions WHERE project = :project AND id = ?1 AND owner = ?2 AND lease_number = ?3)

-- name: release_lease
-- The number stays: the next one is higher.
UPDATE sessions SET owner = '', owner_pid = 0, owner_started = '', lease_until = 0, machine = ''
WHERE project = :project AND id = ?1 AND owner = ?2 AND lease_number = ?3

-- name: append_event
-- All events of a batch at once: types, JSON and contents as arrays, in their order.
WITH next AS (
  UPDATE projects SET last_seq = last_seq + cardinality(?3::text[]) WHERE id = :project
  RETURNING last_seq - cardinality(?3::text[]) AS before
)
INSERT INTO journal (project, seq, session, at, type, version, data, contents)
SELECT :project, next.before + event.number, ?1::text, ?2::text, event.type, ?4::integer, event.data, event.contents
FROM next, unnest(?3::text[], ?5::text[], ?6::text[]) WITH ORDINALITY AS event (type, data, contents, number)
RETURNING seq

-- name: content_by_digest
SELECT id FROM contents WHERE project = :project AND digest = ?1

-- name: content_by_number
SELECT data FROM contents WHERE project = :project AND id = ?1

-- name: add_content
INSERT INTO contents (project, digest, data) VALUES (:project, ?1, ?2) RETURNING id

-- name: read_journal
SELECT seq, at, version, data, contents FROM journal WHERE project = :project AND seq > ?1 ORDER BY seq LIMIT ?2

-- name: read_events
SELECT seq, at, version, data, contents FROM journal
WHERE project = :project AND session = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq

-- name: read_events_of_types
SELECT seq, at, version, data, contents FROM journal
WHERE project = :project AND session = ?1 AND seq > ?2 AND seq <= ?3
  AND type IN (SELECT json_array_elements_text(?4::json)) ORDER BY seq

-- name: read_project_events_of_types
SELECT seq, at, version, data, contents FROM journal
WHERE project = :project AND seq > ?1 AND seq <= ?2 AND at >= ?3
  AND type IN (SELECT json_array_elements_text(?4::json)) ORDER BY seq

-- name: newest_seq
SELECT max(seq) FROM journal WHERE project = :project

-- name: moment_of
SELECT max(at) FROM journal WHERE project = :project AND seq = ?1

-- name: read_events_of_types_everywhere
SELECT session, seq, at, version, data, contents FROM journal
WHERE project = :project AND type IN (SELECT json_array_elements_text(?1::json)) ORDER BY seq

-- name: read_events_of_sessions
SELECT session, seq, at, version, data, contents FROM journal
WHERE project = :project AND seq > ?1 AND type IN (SELECT json_array_elements_text(?2::json)) ORDER BY seq

-- name: rules_used
SELECT rule, max(at), count(*) FROM (
  SELECT data::json ->> 'rule' AS rule, at FROM journal WHERE project = :project AND type = 'call_decided'
) AS decided WHERE rule <> '' GROUP BY rule

-- name: event_by_seq
SELECT session, seq, at, version, data, contents FROM journal WHERE project = :project AND seq = ?1

-- name: last_seq
SELECT max(seq) FROM journal WHERE project = :project AND session = ?1

-- name: last_event_of_type
SELECT max(seq) FROM journal WHERE project = :project AND session = ?1 AND type = ?2

-- name: count_events
SELECT count(*) FROM journal WHERE project = :project AND session = ?1

-- name: accept
INSERT INTO submissions (project, id, session, after, digest)
VALUES (:project, ?1, ?2,
  (SELECT coalesce(max(seq), 0) FROM journal WHERE project = :project AND session = ?2), ?3)
ON CONFLICT (project, id) DO NOTHING

-- name: accepted
SELECT session, after, digest FROM submissions WHERE project = :project AND id = ?1

-- name: submit
INSERT INTO inbox (project, id, session, at, data) VALUES (:project, ?1, ?2, ?3, ?4)

-- name: read_inbox
SELECT id, data FROM inbox WHERE project = :project AND session = ?1 ORDER BY place

-- name: consume
DELETE FROM inbox WHERE project = :project AND id = ?1

-- name: open_question
INSERT INTO questions (project, id, session, asked, body) VALUES (:project, ?1, ?2, ?3, ?4)

-- name: close_question
UPDATE questions SET answer = ?1, answered = ?2 WHERE project = :project AND id = ?3 AND answer IS NULL

-- name: open_questions
-- A helper's is asked in its parent's session too, which is the one that people see.
SELECT id, body::json ->> 'text', session FROM questions
WHERE project = :project AND answer IS NULL AND strpos(session, '.') = 0 ORDER BY asked, id

-- name: project_cost
-- A session's summary has all it spent, its helpers' part included; a fork's has its parent's part too, so of forks
-- their own events count.
SELECT (SELECT coalesce(sum((summary::json ->> 'cost')::float8), 0) FROM sessions
        WHERE project = :project AND parent = '' AND strpos(id, '.') = 0)
  + (SELECT coalesce(sum((data::json ->> 'cost')::float8), 0) FROM journal
     WHERE project = :project
       AND session IN (SELECT id FROM sessions WHERE project = :project AND parent <> '')
       AND type IN ('model_replied', 'model_consulted', 'history_compacted', 'executor_ended'))

-- name: forks_of
SELECT id FROM sessions WHERE project = :project AND parent = ?1 LIMIT 1

-- name: helpers_of
SELECT id FROM sessions WHERE project = :project AND substr(id, 1, length(?1) + 1) = ?1 || '.'

-- name: contents_of_session
SELECT DISTINCT place.value::bigint
FROM journal, json_array_elements_text(journal.contents::json) WITH ORDINALITY AS place (value, number)
WHERE project = :project AND session = ?1 AND journal.contents IS NOT NULL AND mod(place.number, 2) = 0

-- name: purge_contents
-- Of those that a purged session referred to, what no other one does.
DELETE FROM contents WHERE project = :project
  AND id IN (SELECT value::bigint FROM json_array_elements_text(?1::json) AS value)
  AND id NOT IN (
    SELECT place.value::bigint
    FROM journal, json_array_elements_text(journal.contents::json) WITH ORDINALITY AS place (value, number)
    WHERE project = :project AND journal.contents IS NOT NULL AND mod(place.number, 2) = 0)

-- name: purge_journal
WITH words_too AS (
  DELETE FROM words WHERE project = :project
    AND seq IN (SELECT seq FROM journal WHERE project = :project AND session = ?1))
DELETE FROM journal WHERE project = :project AND session = ?1

-- name: purge_inbox
DELETE FROM inbox WHERE project = :project AND session = ?1

-- name: purge_submissions
DELETE FROM submissions WHERE project = :project AND session = ?1

-- name: purge_questions
DELETE FROM questions WHERE project = :project AND session = ?1

-- name: purge_session
DELETE FROM sessions WHERE project = :project AND id = ?1

-- name: any_task
SELECT EXISTS (SELECT 1 FROM tasks WHERE project = :project)
