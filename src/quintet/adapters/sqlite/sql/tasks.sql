-- Every statement on tasks, by name.

-- name: insert_task
INSERT INTO tasks (
  id, work_mode, run_control, permission_profile, model_mode, surface, status, retry_count, max_retries, cost_budget,
  cost_spent, created_at, started_at, completed_at, next_action_at, checkpoint_ref, milestone, path, stamp, text,
  dependency_blockers, intent_claim
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: all_tasks
SELECT text, status, work_mode, run_control, permission_profile, model_mode, surface, retry_count, max_retries,
  cost_spent, ifnull(created_at, ''), ifnull(started_at, ''), ifnull(completed_at, ''),
  ifnull(next_action_at, ''), ifnull(checkpoint_ref, ''), ifnull(milestone, ''), path, stamp
FROM tasks ORDER BY created_at, id

-- name: task_by_id
SELECT text, status, work_mode, run_control, permission_profile, model_mode, surface, retry_count, max_retries,
  cost_spent, ifnull(created_at, ''), ifnull(started_at, ''), ifnull(completed_at, ''),
  ifnull(next_action_at, ''), ifnull(checkpoint_ref, ''), ifnull(milestone, ''), path, stamp
FROM tasks WHERE id = ?

-- name: amend_task
UPDATE tasks SET cost_budget = ?, cost_spent = ?, next_action_at = ?, checkpoint_ref = ?, path = ?, stamp = ?,
  text = ?, dependency_blockers = ?, intent_claim = ?
WHERE id = ?

-- name: move_task
UPDATE tasks SET status = ?, retry_count = ?, started_at = ?, completed_at = ? WHERE id = ? AND status = ?

-- name: insert_move
INSERT INTO task_transitions (task_id, from_status, to_status, reason, scope, timestamp) VALUES (?, ?, ?, ?, ?, ?)

-- name: moves_of
SELECT task_id, from_status, to_status, reason, timestamp, scope, id FROM task_transitions WHERE task_id = ? ORDER BY id

-- name: claim_task
-- Only from nobody, from oneself, or from the one who was seen to be gone.
INSERT INTO task_runtime (
  task_id, owner, process_pid, owner_started, lease_until, last_heartbeat_at, worktree_path, current_model,
  context_usage_percent
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10)
ON CONFLICT (task_id) DO UPDATE SET
  owner = ?2, process_pid = ?3, owner_started = ?4, last_heartbeat_at = ?6, worktree_path = ?7, current_model = ?8,
  context_usage_percent = CASE WHEN owner = ?2 THEN ifnull(?10, context_usage_percent) ELSE ?10 END,
  lease_until = ?5
WHERE owner = ?2 OR owner = ?9

-- name: release_task
DELETE FROM task_runtime WHERE task_id = ? AND owner = ?

-- name: forget_claim
DELETE FROM task_runtime WHERE task_id = ?

-- name: claims
SELECT task_id, owner, process_pid, owner_started, lease_until, last_heartbeat_at, worktree_path, current_model,
  context_usage_percent
FROM task_runtime

-- name: owner_of
SELECT owner FROM task_runtime WHERE task_id = ?
