-- Every statement on tasks, by the names and places that SQLite's have.

-- name: insert_task
INSERT INTO tasks (
  project, id, work_mode, run_control, permission_profile, model_mode, surface, status, retry_count, max_retries,
  cost_budget, cost_spent, created_at, started_at, completed_at, next_action_at, checkpoint_ref, milestone, path, stamp,
  text, dependency_blockers, intent_claim
) VALUES (
  :project, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22
) ON CONFLICT (project, id) DO NOTHING

-- name: all_tasks
SELECT text, status, work_mode, run_control, permission_profile, model_mode, surface, retry_count, max_retries,
  cost_spent, coalesce(created_at, ''), coalesce(started_at, ''), coalesce(completed_at, ''),
  coalesce(next_action_at, ''), coalesce(checkpoint_ref, ''), coalesce(milestone, ''), path, stamp
FROM tasks WHERE project = :project ORDER BY created_at, id

-- name: task_by_id
SELECT text, status, work_mode, run_control, permission_profile, model_mode, surface, retry_count, max_retries,
  cost_spent, coalesce(created_at, ''), coalesce(started_at, ''), coalesce(completed_at, ''),
  coalesce(next_action_at, ''), coalesce(checkpoint_ref, ''), coalesce(milestone, ''), path, stamp
FROM tasks WHERE project = :project AND id = ?1

-- name: amend_task
UPDATE tasks SET cost_budget = ?1, cost_spent = ?2, next_action_at = ?3, checkpoint_ref = ?4, path = ?5, stamp = ?6,
  text = ?7, dependency_blockers = ?8, intent_claim = ?9
WHERE project = :project AND id = ?10 AND status = ?11

-- name: move_task
UPDATE tasks SET status = ?1, retry_count = ?2, started_at = ?3, completed_at = ?4
WHERE project = :project AND id = ?5 AND status = ?6

-- name: insert_move
INSERT INTO task_transitions (project, task_id, from_status, to_status, reason, scope, timestamp)
VALUES (:project, ?1, ?2, ?3, ?4, ?5, ?6) RETURNING id

-- name: moves_of
SELECT task_id, from_status, to_status, reason, timestamp, scope, id FROM task_transitions
WHERE project = :project AND task_id = ?1 ORDER BY id

-- name: claim_task
-- By whoever `number_for` gave a number.
INSERT INTO task_runtime AS held (
  project, task_id, owner, process_pid, owner_started, lease_until, last_heartbeat_at, worktree_path, current_model,
  context_usage_percent, fence, machine
) VALUES (
  :project, ?1, ?2, ?3, ?4, extract(epoch FROM clock_timestamp())::float8 + (?5::float8 - :uptime), ?6, ?7, ?8,
  ?9::float8, ?10, :machine
)
ON CONFLICT (project, task_id) DO UPDATE SET
  owner = excluded.owner, process_pid = excluded.process_pid, owner_started = excluded.owner_started,
  last_heartbeat_at = excluded.last_heartbeat_at, worktree_path = excluded.worktree_path,
  current_model = excluded.current_model, machine = excluded.machine, lease_until = excluded.lease_until,
  fence = excluded.fence,
  context_usage_percent = CASE WHEN held.owner = excluded.owner
    THEN coalesce(excluded.context_usage_percent, held.context_usage_percent) ELSE excluded.context_usage_percent END

-- name: number_task
UPDATE tasks SET fence = ?1 WHERE project = :project AND id = ?2

-- name: newest_number
SELECT fence FROM tasks WHERE project = :project AND id = ?1

-- name: holder_of
SELECT owner, fence FROM task_runtime WHERE project = :project AND task_id = ?1

-- name: forget_path_claims
DELETE FROM path_claims WHERE project = :project AND task_id = ?1

-- name: forget_task_waits
DELETE FROM task_waits WHERE project = :project AND task_id = ?1

-- name: release_task
DELETE FROM task_runtime WHERE project = :project AND task_id = ?1 AND owner = ?2

-- name: forget_claim
DELETE FROM task_runtime WHERE project = :project AND task_id = ?1

-- name: claims
SELECT task_id, owner, process_pid, owner_started,
  :uptime + (lease_until - extract(epoch FROM clock_timestamp())::float8),
  last_heartbeat_at, worktree_path, current_model, context_usage_percent, fence, machine
FROM task_runtime WHERE project = :project

-- name: in_worktrees
SELECT task_id FROM task_branches WHERE project = :project AND state <> 'kept' AND base <> ''
