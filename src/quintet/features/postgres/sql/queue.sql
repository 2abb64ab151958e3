-- What brings tasks to workers, by name. A task that is on its way is not brought again.

-- name: freed
-- The tasks that may begin now that something has become of one: itself, those that need it, those that waited for it.
SELECT id FROM tasks AS one
WHERE project = :project AND status IN ('todo', 'retrying', 'verifying') AND (
  id = ?1
  OR coalesce(dependency_blockers, '[]')::jsonb @> to_jsonb(?1::text)
  OR id IN (SELECT task_id FROM task_waits WHERE project = :project AND waits_for = ?1)
)
AND NOT EXISTS (
  SELECT FROM jsonb_array_elements_text(coalesce(one.dependency_blockers, '[]')::jsonb) AS needed (id)
  LEFT JOIN tasks AS other ON other.project = :project AND other.id = needed.id
  WHERE other.status IS DISTINCT FROM 'done'
)
AND NOT EXISTS (SELECT FROM task_runtime WHERE project = :project AND task_id = one.id)
ORDER BY created_at, id

-- name: on_their_way
SELECT queueing_lock FROM procrastinate_jobs
WHERE queue_name = 'quintet-' || :project AND status = 'todo' AND queueing_lock = ANY(?1)

-- name: migration
SELECT coalesce(max(migration), '') FROM queue_schema

-- name: set_migration
INSERT INTO queue_schema (migration) VALUES (?1)
