-- Every statement on tasks, by name.

-- name: insert_task
INSERT INTO tasks (
  id, work_mode, run_control, permission_profile, model_mode, surface, status, retry_count, max_retries, cost_budget,
  cost_spent, created_at, started_at, completed_at, next_action_at, checkpoint_ref, milestone, path, stamp, text,
  dependency_blockers, intent_claim
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

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
WHERE id = ? AND status = ?

-- name: move_task
UPDATE tasks SET status = ?, retry_count = ?, started_at = ?, completed_at = ? WHERE id = ? AND status = ?

-- name: insert_move
INSERT INTO task_transitions (task_id, from_status, to_status, reason, scope, timestamp) VALUES (?, ?, ?, ?, ?, ?)

-- name: moves_of
SELECT task_id, from_status, to_status, reason, timestamp, scope, id FROM task_transitions WHERE task_id = ? ORDER BY id

-- name: claim_task
-- By whoever `number_for` gave a number.
INSERT INTO task_runtime (
  task_id, owner, process_pid, owner_started, lease_until, last_heartbeat_at, worktree_path, current_model,
  context_usage_percent, fence
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (task_id) DO UPDATE SET
  owner = ?2, process_pid = ?3, owner_started = ?4, last_heartbeat_at = ?6, worktree_path = ?7, current_model = ?8,
  context_usage_percent = CASE WHEN owner = ?2 THEN ifnull(?9, context_usage_percent) ELSE ?9 END,
  lease_until = ?5, fence = ?10

-- name: number_task
UPDATE tasks SET fence = ? WHERE id = ?

-- name: newest_number
SELECT fence FROM tasks WHERE id = ?

-- name: holder_of
SELECT owner, fence FROM task_runtime WHERE task_id = ?

-- name: forget_path_claims
DELETE FROM path_claims WHERE task_id = ?

-- name: forget_task_waits
DELETE FROM task_waits WHERE task_id = ?

-- name: release_task
DELETE FROM task_runtime WHERE task_id = ? AND owner = ?

-- name: forget_claim
DELETE FROM task_runtime WHERE task_id = ?

-- name: claims
SELECT task_id, owner, process_pid, owner_started, lease_until, last_heartbeat_at, worktree_path, current_model,
  context_usage_percent, fence
FROM task_runtime

-- name: in_worktrees
SELECT task_id FROM task_branches WHERE state <> 'kept' AND base <> ''
