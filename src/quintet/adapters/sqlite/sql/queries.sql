-- Every statement the store runs, by name.

-- name: insert_session
INSERT INTO sessions (id, created, updated, parent, forked_after, title, summary) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: session_by_id
SELECT id, created, updated, parent, forked_after, title, summary, owner, owner_pid, owner_started, lease_until,
  lease_number
FROM sessions WHERE id = ?

-- name: sessions_by_prefix
SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1 AND (instr(?1, '.') > 0 OR instr(id, '.') = 0)
ORDER BY updated DESC LIMIT 2

-- name: sessions_newest_first
SELECT id, created, updated, parent, forked_after, title, summary, owner, owner_pid, owner_started, lease_until,
  lease_number
FROM sessions WHERE instr(id, '.') = 0 ORDER BY updated DESC, id DESC LIMIT ?

-- name: touch_session
UPDATE sessions SET updated = ?1, summary = ?2, title = CASE WHEN title = '' THEN ?3 ELSE title END
WHERE id = ?4 AND (?5 = '' OR owner = ?5 AND lease_number = ?6)

-- name: take_lease
-- Only from whoever held it when it was looked at: a heartbeat or another taker since then wins.
UPDATE sessions SET owner = ?1, owner_pid = ?2, owner_started = ?3, lease_until = ?4, lease_number = ?5
WHERE id = ?6 AND owner = ?7 AND lease_number = ?8 AND lease_until = ?9 AND lease_number < ?5

-- name: renew_lease
UPDATE sessions SET lease_until = ?1 WHERE id = ?2 AND owner = ?3 AND lease_number = ?4

-- name: holds_lease
SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND owner = ? AND lease_number = ?)

-- name: release_lease
-- The number stays: the next one is higher.
UPDATE sessions SET owner = '', owner_pid = 0, owner_started = '', lease_until = 0
WHERE id = ? AND owner = ? AND lease_number = ?

-- name: append_event
INSERT INTO journal (session, at, type, version, data, contents) VALUES (?, ?, ?, ?, ?, ?)

-- name: content_by_digest
SELECT id FROM contents WHERE digest = ?

-- name: content_by_number
SELECT data FROM contents WHERE id = ?

-- name: add_content
INSERT INTO contents (digest, data) VALUES (?, ?)

-- name: read_journal
SELECT seq, at, version, data, contents FROM journal WHERE seq > ? ORDER BY seq LIMIT ?

-- name: read_events
SELECT seq, at, version, data, contents FROM journal WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq

-- name: read_events_of_types
SELECT seq, at, version, data, contents FROM journal
WHERE session = ? AND seq > ? AND seq <= ? AND type IN (SELECT value FROM json_each(?)) ORDER BY seq

-- name: read_project_events_of_types
SELECT seq, at, version, data, contents FROM journal
WHERE seq > ? AND seq <= ? AND at >= ? AND type IN (SELECT value FROM json_each(?)) ORDER BY seq

-- name: newest_seq
SELECT max(seq) FROM journal

-- name: moment_of
SELECT max(at) FROM journal WHERE seq = ?

-- name: read_events_of_types_everywhere
SELECT session, seq, at, version, data, contents FROM journal
WHERE type IN (SELECT value FROM json_each(?)) ORDER BY seq

-- name: read_events_of_sessions
SELECT session, seq, at, version, data, contents FROM journal
WHERE seq > ? AND type IN (SELECT value FROM json_each(?)) ORDER BY seq

-- name: rules_used
SELECT json_extract(data, '$.rule'), max(at), count(*) FROM journal
WHERE type = 'call_decided' AND json_extract(data, '$.rule') <> '' GROUP BY 1

-- name: event_by_seq
SELECT session, seq, at, version, data, contents FROM journal WHERE seq = ?

-- name: last_seq
SELECT max(seq) FROM journal WHERE session = ?

-- name: last_event_of_type
SELECT max(seq) FROM journal WHERE session = ? AND type = ?

-- name: count_events
SELECT count(*) FROM journal WHERE session = ?

-- name: accept
INSERT INTO submissions (id, session, after, digest)
VALUES (?1, ?2, (SELECT ifnull(max(seq), 0) FROM journal WHERE session = ?2), ?3) ON CONFLICT (id) DO NOTHING

-- name: accepted
SELECT session, after, digest FROM submissions WHERE id = ?

-- name: submit
INSERT INTO inbox (id, session, at, data) VALUES (?, ?, ?, ?)

-- name: read_inbox
SELECT id, data FROM inbox WHERE session = ? ORDER BY place

-- name: consume
DELETE FROM inbox WHERE id = ?

-- name: open_question
INSERT INTO questions (id, session, asked, body) VALUES (?, ?, ?, ?)

-- name: close_question
UPDATE questions SET answer = ?, answered = ? WHERE id = ? AND answer IS NULL

-- name: open_questions
-- A helper's is asked in its parent's session too, which is the one that people see.
SELECT id, json_extract(body, '$.text'), session FROM questions WHERE answer IS NULL AND instr(session, '.') = 0
ORDER BY asked, id

-- name: project_cost
-- A session's summary has all it spent, its helpers' part included; a fork's has its parent's part too, so of forks
-- their own events count.
SELECT (SELECT total(json_extract(summary, '$.cost')) FROM sessions WHERE parent = '' AND instr(id, '.') = 0)
  + (SELECT total(json_extract(data, '$.cost')) FROM journal WHERE session IN (SELECT id FROM sessions WHERE parent <> '')
     AND type IN ('model_replied', 'model_consulted', 'history_compacted', 'executor_ended'))

-- name: forks_of
SELECT id FROM sessions WHERE parent = ? LIMIT 1

-- name: helpers_of
SELECT id FROM sessions WHERE substr(id, 1, length(?1) + 1) = ?1 || '.'

-- name: contents_of_session
SELECT DISTINCT value FROM journal, json_each(journal.contents)
WHERE session = ? AND journal.contents IS NOT NULL AND key % 2 = 1

-- name: purge_contents
-- Of those that a purged session referred to, what no other one does.
DELETE FROM contents WHERE id IN (SELECT value FROM json_each(?)) AND id NOT IN (
  SELECT value FROM journal, json_each(journal.contents) WHERE journal.contents IS NOT NULL AND key % 2 = 1)

-- name: purge_journal
DELETE FROM journal WHERE session = ?

-- name: purge_inbox
DELETE FROM inbox WHERE session = ?

-- name: purge_submissions
DELETE FROM submissions WHERE session = ?

-- name: purge_questions
DELETE FROM questions WHERE session = ?

-- name: purge_session
DELETE FROM sessions WHERE id = ?

-- name: any_task
SELECT EXISTS (SELECT 1 FROM tasks)
