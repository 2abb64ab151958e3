-- The words of the journal. The texts stay in the journal.

-- name: begin_index
INSERT INTO indexed (project) VALUES (:project) ON CONFLICT (project) DO NOTHING

-- name: indexed
-- One process at a time indexes; no writer waits for it.
SELECT seq FROM indexed WHERE project = :project FOR UPDATE

-- name: set_indexed
UPDATE indexed SET seq = ?1 WHERE project = :project

-- name: add
INSERT INTO words (project, seq, words) VALUES (:project, ?1, ?2::tsvector) ON CONFLICT (project, seq) DO NOTHING

-- name: count
SELECT count(*) FROM words WHERE project = :project AND words @@ ?1::tsquery

-- name: newest
SELECT seq FROM words WHERE project = :project AND words @@ ?1::tsquery ORDER BY seq DESC LIMIT ?2
